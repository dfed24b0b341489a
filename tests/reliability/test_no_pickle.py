"""No file that corml reads can run anything: no unpickling, no evaluation of text, anywhere in the package."""

import ast
import pickle
from pathlib import Path

import pytest

import corml
from corml.errors import ModelFileError

MODULES = {"pickle", "_pickle", "cPickle", "joblib", "dill", "cloudpickle", "marshal", "shelve", "pickletools"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {"torch.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "pd.read_pickle", "pandas.read_pickle"}


def dangers(source):
    """What a source file does that could run foreign code, as (line, what)."""
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            yield from ((line, name.name) for name in node.names if name.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield line, node.module
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in BUILTINS | CALLS or called.endswith(".read_pickle"):
                yield line, called
            yield from (
                (line, "allow_pickle")
                for word in node.keywords
                if word.arg == "allow_pickle" and not is_false(word.value)
            )


def is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


def test_no_source_file_can_run_what_it_reads():
    found = {path.name: list(dangers(path.read_text("utf-8"))) for path in Path(corml.__file__).parent.rglob("*.py")}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import joblib.memory as m",
        "from dill import loads",
        "def f():\n    from cloudpickle import load",
        "torch.load(x)",
        "eval('1')",
        "exec(text)",
        "yaml.load(f)",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=wish)",
        "polars.from_pandas(pd.read_pickle(f))",
    ],
)
def test_the_search_finds_what_it_looks_for(source):
    assert len(list(dangers(source))) == 1


@pytest.mark.parametrize(
    "source", ["np.load(f, allow_pickle=False)", "re.compile(x)", "model.eval()", "from corml import load"]
)
def test_the_search_lets_the_harmless_pass(source):
    assert not list(dangers(source))


class Bomb:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def test_a_pickle_bomb_named_like_a_model_does_not_go_off(tmp_path):
    mark, path = tmp_path / "it went off", tmp_path / "m.corml"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    pickle.loads(path.read_bytes())  # a bomb it is
    mark.unlink()

    with pytest.raises(ModelFileError, match="is not a corml model file"):
        corml.read_model(path)
    assert not mark.exists()
