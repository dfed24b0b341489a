"""Fuzzing that follows what the code covers (python -m attack.fuzz TARGET [RUNS] [options of libFuzzer]).

Starts from the corpus, which stays as it is: what covers more is written into a temporary folder, and
`python -m attack.fuzz TARGET --keep FOLDER` then adds it to the corpus. Needs atheris, which `make fuzz` installs.
"""

import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from attack import targets

PACKAGES = {  # whose branches are followed; compiled functions cannot be
    "data_reader": ("corml.data",),
    "model_loader": (
        "corml.persistence",
        "corml.models",
        "corml._runtime.settings",
        "corml.data.attributes",
    ),
    "request_decoder": (
        "corml.service",
        "corml.recommend.query",
        "corml.recommend.conditions",
        "corml.recommend.options",
        "corml.models.cited",
    ),
}
LONGEST = {"data_reader": 4096, "model_loader": 12_000, "request_decoder": 1000}  # bytes of an input
SECONDS = 5
MEGABYTES = 2048


def main() -> None:
    """Fuzz one target; the process ends with the exit code of libFuzzer: 0 if nothing was found."""
    target, *rest = [word for word in sys.argv[1:] if word not in ("--keep", "--again")]
    if "--again" in sys.argv:
        _fuzz(target, rest)
    runs = rest.pop(0) if rest and rest[0].isdigit() else "1000000"
    new, corpus = (Path(tempfile.mkdtemp(prefix=f"{what}-{target}-")) for what in ("fuzz", "corpus"))
    for name, data in targets.corpus(target).items():
        (corpus / name).write_bytes(data)
    words = [
        f"-max_len={LONGEST[target]}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1",
        f"-artifact_prefix={new}/found-",
    ]  # fmt: skip
    if "--keep" in sys.argv:  # libFuzzer ends its process, so it merges in another one
        merge = [sys.executable, "-m", "attack.fuzz", target, "--again", *words, "-merge=1", str(corpus), *rest]
        subprocess.run(merge, check=True)
        targets.keep(target, {one.name: one.read_bytes() for one in corpus.iterdir()})
        return
    print(f"new inputs go to {new}", flush=True)
    _fuzz(target, [*words, f"-runs={runs}", *rest, str(new), str(corpus)])


def _fuzz(target: str, words: list[str]) -> NoReturn:
    """Call libFuzzer, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["corml"], exclude=_others(PACKAGES[target])):
        followed = importlib.reload(targets)
    os.environ["CORML_THREADS"] = "1"
    atheris.Setup([_itself(target), *words], followed.TARGETS[target], **_mutator(target))
    atheris.Fuzz()
    raise SystemExit


def _itself(target: str) -> str:
    """A script that runs this file: libFuzzer starts itself again to merge."""
    path = Path(tempfile.mkdtemp()) / "again.sh"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attack.fuzz {target} --again "$@"\n')
    path.chmod(0o755)
    return str(path)


def _others(packages: tuple[str, ...]) -> list[str]:
    """All modules that are outside these packages."""
    import corml

    names = [one.name for one in pkgutil.walk_packages(corml.__path__, "corml.")]
    for name in [name for name in sys.modules if name == "corml" or name.startswith("corml.")]:
        del sys.modules[name]
    return ["corml", *(name for name in names if not any(f"{name}.".startswith(f"{package}.") for package in packages))]


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
