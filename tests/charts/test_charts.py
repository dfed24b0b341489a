"""Charts: well formed, deterministic, text as text, readable by everyone, no external resources."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from corml.errors import UsageError
from corml.evaluation.charts import STYLE, Axis, Bars, Chart, Dots, Line, bars, dots, histogram, lines
from corml.evaluation.charts._axes import Scale, decades, nice_ticks
from corml.evaluation.charts._drawing import clip, width_of

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["CoRML", "a <b> & $x^2$", "千と千尋", *map("model {}".format, range(6))]


def drawings():
    rng = np.random.default_rng(0)
    share, value = Axis("share", "percent"), Axis("NDCG@10")
    return {
        "dots": dots([Dots("it", [(0.3, (0.28, 0.32)) for _ in NAMES])], NAMES, x=value, title="dots"),
        "several dots": dots([Dots(name, [(0.3, None), None]) for name in NAMES], ["one", "two"], x=value, title="s"),
        "bars": bars(
            [Bars(n, [0.2, None, 0.0]) for n in NAMES], list("abc"), x=share, title="b", reference=(0.3, "ref")
        ),
        "points": lines(
            [Line(name, [(0.4, 0.3 + 0.001 * at)]) for at, name in enumerate(NAMES)],
            x=Axis("x"),
            y=Axis("y"),
            title="points",
            named=True,
        ),
        "curves": lines(
            [Line(name, [(n, 0.8**n) for n in range(1, 60)]) for name in NAMES],
            x=Axis("step", "count"),
            y=Axis("residual", "power", log=True),
            title="curves",
            reference=(1e-4, "tolerance"),
        ),
        "histogram": histogram(
            rng.zipf(1.7, 500).clip(max=400), x=Axis("items", "count", log=True), y=Axis("users", "count"), title="h"
        ),
    }


@pytest.fixture(scope="module")
def drawn():
    return drawings()


KINDS = ["dots", "several dots", "bars", "points", "curves", "histogram"]
WITH_NAMES = KINDS[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_is_a_described_svg_without_external_resources(drawn, kind):
    chart, text = drawn[kind], drawn[kind].svg()
    root = ElementTree.fromstring(text)
    assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
    assert root.get("viewBox") == f"0 0 460 {chart.height:g}"
    assert root.find(f"{SVG}title").text == chart.title
    assert len(root.find(f"{SVG}desc").text) > 25
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<(script|metadata|image|a|foreignObject)\b|\bhref|\bon\w+=|url\(|@import", text)


@pytest.mark.parametrize("kind", WITH_NAMES)
def test_names_are_shown_as_text(drawn, kind):
    texts = {"".join(text.itertext()) for text in ElementTree.fromstring(drawn[kind].svg()).iter(f"{SVG}text")}
    assert set(NAMES) <= texts
    assert all(name in drawn[kind].description for name in NAMES)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_lies_within_the_drawing(drawn, kind):
    for element in ElementTree.fromstring(drawn[kind].svg(style=False)).iter():
        for names, most in ((("x", "x1", "x2"), drawn[kind].width + 1), (("y", "y1", "y2"), drawn[kind].height)):
            assert all(-1 <= float(element.get(name, 0)) <= most for name in names)
        if element.tag == f"{SVG}text":
            assert element.get("text-anchor") != "start" or float(element.get("x")) < drawn[kind].width - 10


def test_the_same_numbers_give_the_same_bytes(drawn):
    assert drawings() == drawn


def test_a_saved_chart_contains_its_style_and_one_in_a_page_does_not(drawn):
    assert STYLE in drawn["bars"].svg()
    assert "<style" not in drawn["bars"].svg(style=False)
    assert "prefers-color-scheme: dark" in STYLE
    selectors = [name.strip() for rule in re.findall(r"([^{}]+)\{[^{}]*\}", STYLE) for name in rule.split(",")]
    assert all(name.startswith(".corml-chart") for name in selectors)  # none applies to the page around


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_every_colour_has_enough_contrast(scheme):
    blocks = re.findall(r"\{([^{}]*--paper[^{}]*)\}", STYLE)
    colours = dict(re.findall(r"--(\w+): (#\w{6})", blocks[scheme]))
    for at in range(7):
        assert contrast(colours[f"c{at}"], colours["paper"]) >= 3  # of marks, as WCAG asks for
    for name in ("ink", "soft"):
        assert contrast(colours[name], colours["paper"]) >= 4.5  # of text


def test_series_differ_by_shape_as_well_as_by_colour(drawn):
    marks = re.findall(r'<path d="M[\d.]+ [\d.]+([^"]*)" class="edge (f\d)"', drawn["points"].body)
    assert len(set(marks)) == len(NAMES) == 9  # two more than there are colours
    assert len({shape for shape, _ in marks}) == 7


def test_a_series_keeps_its_own_colour():
    chart = lines([Line("a", [(0, 0)], colour=4), Line("b", [(1, 1)])], x=Axis("x"), y=Axis("y"), named=True)
    assert 'class="edge f4"' in chart.body
    assert 'class="edge f0"' not in chart.body


def test_bars_are_as_long_as_their_values():
    chart = bars([Bars("a", [0.25, 0.5])], ["one", "two"], x=Axis("share", "percent"))
    short, long = (float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', chart.body))
    assert long == pytest.approx(2 * short, rel=0.01)
    assert ">–</text>" in bars([Bars("a", [None])], ["one"], x=Axis("share")).body


def test_dots_lie_inside_their_intervals():
    chart = dots([Dots("a", [(0.25, (0.2, 0.3))])], ["r"], x=Axis("x"))
    low, high = map(float, re.search(r'<line x1="([\d.]+)"[^>]*x2="([\d.]+)"[^>]*class="span', chart.body).groups())
    middle = float(re.search(r'<path d="M([\d.]+)', chart.body)[1])
    assert middle == pytest.approx((low + high) / 2, abs=0.02)


def test_names_next_to_points_do_not_overlap():
    chart = lines([Line(f"model {n}", [(0.3, 0.3)]) for n in range(4)], x=Axis("x"), y=Axis("y"), named=True)
    boxes = [
        (float(x) - (width_of(words) if anchor == "end" else 0), float(y), width_of(words))
        for x, y, anchor, words in re.findall(
            r'<text x="([\d.]+)" y="([\d.]+)" class="name[^"]*" text-anchor="(\w+)"[^>]*>([^<]*)', chart.body
        )
    ]
    assert len(boxes) == 4
    for at, (x, y, wide) in enumerate(boxes):
        for other_x, other_y, other_wide in boxes[at + 1 :]:
            assert abs(y - other_y) >= 13 or x + wide <= other_x or other_x + other_wide <= x


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0.13, 0.26, [0.1, 0.15, 0.2, 0.25, 0.3]), (0, 37, [0, 10, 20, 30, 40])],
)
def test_ticks_are_round_numbers_around_the_values(low, high, ticks):
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_powers_of_ten_are_few_enough_to_read():
    assert decades(1, 1000) == [1, 10, 100, 1000]
    assert len(decades(1e-12, 1)) <= 7


def test_ticks_have_equally_many_digits():
    assert Axis("x").wording([0.1, 0.15, 0.2]) == ["0.10", "0.15", "0.20"]
    assert Axis("x", "percent").wording([0, 0.5, 1]) == ["0 %", "50 %", "100 %"]
    assert Axis("x", "count", log=True).wording([1, 1000]) == ["1", "1,000"]
    assert Axis("x", "power", log=True).wording([0.001, 1]) == ["10⁻³", "10⁰"]


@pytest.mark.parametrize(
    ("value", "form", "written"),
    [
        (0.25, "percent", "25 %"),
        (0.025, "percent", "2.5 %"),
        (0.0025, "percent", "0.25 %"),
        (0, "percent", "0 %"),
        (1234, "count", "1,234"),
        (0.25, "number", "0.250"),
    ],
)
def test_a_value_is_written_as_its_axis_writes_it(value, form, written):
    assert Axis("x", form).written(value) == written


def test_a_scale_holds_all_values_in_their_order():
    scale, ticks = Axis("x").fitted([0.13, 0.26], 10, 110)
    assert (scale(ticks[0]), scale(ticks[-1])) == (10, 110)
    assert scale(0.13) < scale(0.2) < scale(0.26)
    assert Scale(1, 100, 0, 100, log=True)(10) == pytest.approx(50)
    assert Scale(1, 100, 0, 100)(1e9) == 100


def test_long_names_are_cut_and_end_in_dots():
    assert clip("short", 200) == "short"
    cut = clip("x" * 500, 200)
    assert cut.endswith("…")
    assert width_of(cut) <= 200


@pytest.mark.parametrize(
    "chart",
    [
        dots([Dots("a", [(0.0, (0.0, 0.0))])], ["r"], x=Axis("x")),
        dots([Dots("a", [(math.nan, None)])], ["r"], x=Axis("x")),
        bars([Bars("a", [0.0])], ["g"], x=Axis("x", "percent")),
        bars([Bars("a", [math.nan])], ["g"], x=Axis("x")),
        lines([Line("a", [(0.5, 0.0)])], x=Axis("x"), y=Axis("y"), named=True),
        lines([Line("a", [(1, 0.0)])], x=Axis("x"), y=Axis("y", log=True)),
        lines([], x=Axis("x"), y=Axis("y")),
        histogram([1], x=Axis("x", "count", log=True), y=Axis("y", "count")),
        histogram([5, 5, 5], x=Axis("x", "count", log=True), y=Axis("y", "count")),
        histogram([], x=Axis("x"), y=Axis("y", "count")),
        histogram([0.5], x=Axis("x"), y=Axis("y", "count")),
    ],
    ids=range(11),
)
def test_extreme_values_can_be_drawn(chart):
    assert not re.search(r"\bnan\b|\binf\b", chart.body)
    assert ElementTree.fromstring(chart.svg()) is not None


def test_every_value_of_a_histogram_is_in_a_column():
    values = [1, 1, 2, 3, 5, 8, 13, 400]
    for axis in (Axis("x", "count", log=True), Axis("x")):
        chart = histogram(values, x=axis, y=Axis("y", "count"))
        counts = [int(n) for n in re.findall(r": (\d+)</title></rect>", chart.body)]
        assert sum(counts) == len(values)


def test_a_chart_is_saved_as_svg_and_shown_in_a_notebook(tmp_path, drawn):
    drawn["dots"].save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text("utf-8") == drawn["dots"]._repr_svg_() + "\n"
    assert "dots" in repr(drawn["dots"])
    with pytest.raises(UsageError, match=r"written as \.svg"):
        Chart("t", "d", "", 10).save(tmp_path / "x.png")
