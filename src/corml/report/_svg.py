"""A figure made fit for a page: unique ids, a generic font, no addresses and no style rules for the page."""

import re

__all__ = ["tidy"]


def tidy(markup: str, key: str, wide: int, high: int) -> str:
    """Take one svg element out of a file; `key` makes its ids its own among the figures of a page."""
    markup = markup[markup.index("<svg") :]
    for element in ("metadata", "style"):  # addresses, and rules that would reach into the page around the figure
        markup = re.sub(rf"<{element}\b.*?</{element}>\s*", "", markup, flags=re.DOTALL)
    markup = re.sub(r'\bid="', f'id="{key}-', markup)
    markup = re.sub(r'(?:xlink:)?href="#', f'href="#{key}-', markup).replace("url(#", f"url(#{key}-")
    markup = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1system-ui, sans-serif", markup)
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} stroke-linejoin="round" stroke-linecap="butt">'
    return re.sub(r"<svg[^>]*>", opening, markup, count=1).strip()
