"""The command line inside a case: whatever it is given, it ends with an exit code of its own and printable lines."""

import contextlib
import io
import re

from attack.arena import Unsound

EXITS = {0, 2, 3, 4, 5, 75}
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a terminal would obey


def corml(*words: str) -> int:
    """Run a command here; an exit code that is not documented, or an answer that a terminal obeys, is unsound."""
    from corml.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
    said = out.getvalue() + err.getvalue()
    if code not in EXITS or "Traceback" in said or "a mistake in corml" in said:
        raise Unsound(f"corml {' '.join(words)} ends with {code}: {said[-1500:]}")
    if RAW.search(said):
        raise Unsound(f"corml {' '.join(words)} prints raw controls: {RAW.search(said)!a}")
    return code
