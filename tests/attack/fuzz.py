"""Fuzzing that follows what the code covers (python -m attack.fuzz TARGET [RUNS] [options of libFuzzer]).

Starts from the corpus that is kept beside this file and adds nothing to it: what covers more is written into a folder
aside, and `python -m attack.fuzz TARGET --keep FOLDER` adds to the corpus what of it covers more. Needs atheris, which
`make fuzz` installs.
"""

import os
import pkgutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOMS = {  # whose branches are followed; compiled functions cannot be
    "data_reader": ("corml.data", "corml.data.ids"),
    "model_loader": (
        "corml.persistence",
        "corml.models",
        "corml._runtime.settings",
        "corml.data.attributes",
        "corml.data.ids",
    ),
    "request_decoder": (
        "corml.service",
        "corml.recommend.requests",
        "corml.recommend.filters",
        "corml.recommend.rules",
        "corml.models.cited",
    ),
}
LONGEST = {"data_reader": 4096, "model_loader": 12_000, "request_decoder": 1000}  # bytes of an input
SECONDS = 5
MEGABYTES = 2048


def main() -> None:
    """Fuzz one target; the process ends with the exit code of libFuzzer: 0 if nothing was found."""
    import atheris

    keep, again = "--keep" in sys.argv, "--again" in sys.argv
    target, *rest = [word for word in sys.argv[1:] if word not in ("--keep", "--again")]
    runs = rest.pop(0) if rest and rest[0].isdigit() else "1000000"
    with atheris.instrument_imports(include=["corml"], exclude=_others(ROOMS[target])):
        from attack import targets
    corpus = Path(__file__).parent / "corpus" / target
    aside = tempfile.mkdtemp(prefix=f"fuzz-{target}-")
    words = [
        f"-max_len={LONGEST[target]}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1",
        f"-artifact_prefix={aside}/found-",
    ]  # fmt: skip
    words += ["-merge=1", str(corpus), *rest] if keep else [f"-runs={runs}", *rest, aside, str(corpus)]
    words = rest if again else words
    atheris.Setup([_itself(target, aside), *words], targets.TARGETS[target], **_mutator(target))
    os.environ["CORML_THREADS"] = "1"
    print(f"new inputs go to {aside}", flush=True)
    atheris.Fuzz()


def _itself(target: str, folder: str) -> str:
    """A program that goes on with this one: libFuzzer starts itself again to merge."""
    path = Path(folder) / "again.sh"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attack.fuzz {target} --again "$@"\n')
    path.chmod(0o755)
    return str(path)


def _others(rooms: tuple[str, ...]) -> list[str]:
    """All modules that are not in these rooms."""
    import corml

    names = [one.name for one in pkgutil.walk_packages(corml.__path__, "corml.")]
    for name in [name for name in sys.modules if name == "corml" or name.startswith("corml.")]:
        del sys.modules[name]
    return ["corml", *(name for name in names if not any(f"{name}.".startswith(f"{room}.") for room in rooms))]


def _mutator(target: str) -> dict[str, Any]:
    """Damage to facts and arrays of a model file, beside what libFuzzer does to bytes."""
    if target != "model_loader":
        return {}
    import atheris
    import numpy as np

    from attack.model_files import damaged
    from attack.targets import rehashed

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        if rng.random() < 0.5:
            try:
                with np.errstate(all="ignore"):
                    made = damaged(rng, rehashed(data), rehashed(data))
            except Exception:  # no file of which a part could be changed
                made = b""
            if 0 < len(made) <= longest:
                return made
        return atheris.Mutate(data, longest)

    return {"custom_mutator": mutate}


if __name__ == "__main__":
    main()
