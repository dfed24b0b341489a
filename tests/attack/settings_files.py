"""Settings files of `corml fit`, damaged as text and as values."""

from pathlib import Path

import numpy as np

import corml
from attack import mutate, program
from attack.model_files import check_lists
from corml import models
from corml._runtime.settings import declared
from support import random_interactions

FULL, SHORT = 600, 10
TEXTS = ["", "\\u001b[31m", "x" * 500, *"none auto 1e999 nan sparse dense pairs 10..20 4GB -1".split()]
NUMBERS = "0 1 2 5 -1 0.5 0.1 0.001 2147483648 1e30 1e300 -0.0 1e12 1e-300 nan inf -inf".split()


def prepare(folder: Path) -> Path:
    """Small data."""
    random_interactions(3, users=20, items=10).to_frame().write_csv(folder / "pairs.csv")
    return folder / "pairs.csv"


def warm(valid: Path, folder: Path) -> None:
    for name in models.names():
        (folder / "w.toml").write_text(f'[model]\nname = "{name}"\n' + ("epochs = 1\n" if _epochs(name) else ""))
        code = program.corml("fit", str(valid), "--settings", str(folder / "w.toml"), "--out", str(folder / "w.corml"))
        assert code == 0, name


def _epochs(name: str) -> bool:
    return "epochs" in declared(models.get(name))


def case(valid: Path, rng: np.random.Generator, folder: Path) -> int:
    """One file, with which a model is planned or fitted."""
    name = mutate.choose(rng, models.names())
    settings = declared(models.get(name))
    lines = ["[model]", f'name = "{name}"'] + (["epochs = 1"] if _epochs(name) else [])
    for key in rng.permutation(sorted(settings))[: int(rng.integers(0, 4))]:
        lines.append(f"{key} = {_value(rng)}")
    if rng.random() < 0.3:
        lines += [
            "[data]",
            f"{mutate.choose(rng, ['at_least', 'k_core', 'separator', 'source', 'items', 'x'])} = {_value(rng)}",
        ]
    if rng.random() < 0.3:
        lines += ["[split]", f"{mutate.choose(rng, ['how', 'seed', 'shares', 'x'])} = {_value(rng)}"]
    text = "\n".join(lines).encode()
    path = folder / "s.toml"
    path.write_bytes(mutate.raw(rng, text, most=2) if rng.random() < 0.4 else text)
    words = ["fit", str(valid), "--settings", str(path)]
    if rng.random() < 0.2:
        program.corml(*words, "--plan")
    if program.corml(*words, "--out", str(folder / "m.corml")) == 0:
        model = corml.read_model(folder / "m.corml")
        check_lists(model.recommend(list(model.users_.labels[:2]), k=5))
    return 0


def _value(rng: np.random.Generator) -> str:
    kind = int(rng.integers(6))
    if kind <= 2:
        return str(mutate.choose(rng, NUMBERS))
    if kind == 3:
        return '"' + mutate.choose(rng, TEXTS) + '"'
    return mutate.choose(
        rng, ["true", "false", "[]", "[1, 2]", "{a = 1}", "[0.8, 0.1, 0.1]", "1979-05-27", "[[1]]", '""']
    )
