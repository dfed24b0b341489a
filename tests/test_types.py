"""A type checker finds a choice or an option that does not exist, before anything runs."""

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

ROOT = Path(__file__).parents[1]
WRONG = {
    'corml.CoRML(solver="lbfgs")': "solver",
    'model.recommend(["a"], seen="alow")': "seen",
    'corml.split(data, "random")': "split",
    "corml.tune(corml.CoRML, data, trialz=3)": "tune",
}
RIGHT = """\
import corml

data = corml.Interactions.from_pairs(["a"], ["x"])
model = corml.CoRML(solver="sparse").fit(corml.split(data, "ratio", seed=1).train)
lists: corml.Recommendations = model.recommend(["a"], seen="allow", k=3)
tuned = corml.tune(corml.CoRML, data, trials=3)
"""


@pytest.mark.thorough
def test_mypy_accepts_right_calls_and_refuses_wrong_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    script = tmp_path / "script.py"
    script.write_text(RIGHT + "\n".join(WRONG) + "\n")
    words = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), str(script)]
    out, _, _ = api.run(words)
    first = len(RIGHT.splitlines()) + 1
    lines = {int(line.split(":")[1]) for line in out.splitlines() if "script.py" in line and "error:" in line}
    assert lines == set(range(first, first + len(WRONG))), out
