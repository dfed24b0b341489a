"""Words that cannot drift: the code in README and docs runs, prints what they say, and everything has its mention.

In the pages, a fenced block is what its first line says:

    python              run, in order, in one namespace per page
    python FILE         a plug-in file that the page puts into its package
    csv FILE, toml FILE a file the page works with
    bash                lines that begin with `corml` are run and must succeed
    text                what the block before it prints, to the last digit; … stands for any word

A comment `<!-- not run: why -->` above a block makes it an illustration.
"""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import re
import shlex
import signal
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import corml
from corml import data as datasets
from corml import models, plugins
from corml._runtime.parallel import blas
from corml._runtime.settings import declared
from corml.cli._main import app, main
from corml.evaluation import metrics
from corml.models.corml.estimator import CoRML

SEARCHES = ["docs/tuning.md"]  # pages with a search, which goes another way where a library rounds a score otherwise
ROOT = Path(__file__).resolve().parents[1]
HOMES = (ROOT, ROOT / "src/corml")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
HEAVY = ("scale", "export")  # tests/scale, tests/out_of_core and tests/export run their commands too
RUN = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in """quickstart notebook command-line models seen items lists update weights
      report solver reproduce compare tuning service deploy model-file""".split()
    ),
    *(pytest.param(f"docs/{name}.md", marks=pytest.mark.slow) for name in HEAVY),
]

_BLOCK = re.compile(r"(?P<skip><!-- not run: [^>]+-->\n+)?^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^)\s]+)\)")
_CODE = re.compile(r"`(?P<text>[^`\n]+)`")
_FILE = re.compile(r"[\w-]+(?:/[\w.-]+)*\.(?:py|json|svg)")


@dataclass(frozen=True)
class Block:
    kind: str
    file: str
    body: str
    line: int
    skipped: bool


def blocks(text):
    for match in _BLOCK.finditer(text):
        kind, _, file = match["info"].strip().partition(" ")
        yield Block(kind, file, match["body"], text.count("\n", 0, match.start("info")) + 1, bool(match["skip"]))


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder to work in, one thread (small work gains nothing from more), and no trace left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORML_THREADS", "1")
    before = signal.getsignal(signal.SIGTERM)
    with blas(1):
        yield tmp_path
    signal.signal(signal.SIGTERM, before)
    plugins.names.cache_clear()
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]


@pytest.mark.parametrize("page", RUN)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, workplace, monkeypatch):
    names, printed = {"__name__": "page"}, ""
    for block in blocks((ROOT / page).read_text("utf-8")):
        where = f"{page}, line {block.line}"
        if block.skipped:
            continue
        if block.file and block.kind in ("csv", "python", "toml"):
            write(block, workplace, monkeypatch)
        elif block.kind == "text" and (page not in SEARCHES or are_pinned("numpy", "scipy", "optuna")):
            agree(block.body, printed, where)
        elif block.kind in ("python", "bash", "console"):
            printed = run(block, names, where)


def are_pinned(*packages):
    """Whether their versions are those of requirements.lock, and so of the figures that pages show."""
    pins = (ROOT / "requirements.lock").read_text("utf-8").split()
    return all(f"{name}=={importlib.metadata.version(name)}" in pins for name in packages)


def write(block, folder, monkeypatch):
    """Create a file of the page; one that belongs into a package is found there from now on."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.body, "utf-8")
    if block.file.startswith("src/corml/"):
        room = importlib.import_module(".".join(Path(block.file).parent.parts[1:]))
        monkeypatch.setattr(room, "__path__", [*room.__path__, str(path.parent)])
        plugins.names.cache_clear()


def run(block, names, where):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if block.kind == "python":
            exec(compile(block.body, where, "exec"), names)
            return out.getvalue()
        for line in block.body.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] == ["corml"]:
                with pytest.raises(SystemExit) as end:
                    main(words[1:])
                assert not end.value.code, f"{where}: `{line}` ended with {end.value.code}"
    return out.getvalue()


def agree(shown, printed, where):
    """Word for word and digit for digit, whatever the spacing."""
    expected, actual = words(shown), words(printed)
    assert len(expected) == len(actual), f"{where} shows\n{shown}\nbut this is printed:\n{printed}"
    for word, other in zip(expected, actual, strict=True):
        assert word in ("…", other), f"{where} shows {word!r} where {other!r} is printed:\n{printed}"


def words(text):
    return [word for word in re.split(r"[\s│─]+", text) if word]


def test_words_agree_only_to_the_last_digit():
    agree("score 0.0322,  of … things", "score 0.0322, of 12 things", "here")
    for shown, printed in (
        ("0.0322", "0.0323"),
        ("0.03", "0.0322"),
        ("a 1", "b 1"),
        ("(h 1", "(g 1"),
        ("one", "one two"),
        ("318", "319"),
    ):
        with pytest.raises(AssertionError):
            agree(shown, printed, "here")


def test_the_model_of_the_page_keeps_the_contract_of_all_models(workplace, monkeypatch):
    page = (ROOT / "docs/add-a-model.md").read_text("utf-8")
    (block,) = [block for block in blocks(page) if block.file.startswith("src/corml/models/linear/")]
    write(block, workplace, monkeypatch)
    name = Path(block.file).stem.replace("_", "-")
    assert name in models.names()
    contract = load_file(ROOT / "tests/contracts/test_models.py")
    fitted = models.make(name).fit(contract.random_interactions(11, 70, 30))
    checks = {key: check for key, check in vars(contract).items() if key.startswith("test_")}
    assert len(checks) > 5
    offered = {"name": name, "fitted": fitted, "tmp_path": workplace}
    for check in checks.values():
        wanted = inspect.signature(check).parameters
        if wanted.keys() <= offered.keys():  # the others are not about one model
            check(**{argument: offered[argument] for argument in wanted})


def load_file(path):
    spec = importlib.util.spec_from_file_location("contract_of_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- everything has its mention --------------------------------------------------------------------------------------


def mentioned(name, page):
    text = page if isinstance(page, str) else page.read_text("utf-8")
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def commands():
    import typer

    click = typer.main.get_command(app())
    for name, command in click.commands.items():
        yield from (f"{name} {sub}" for sub in command.commands) if hasattr(command, "commands") else [name]


def test_every_command_is_explained_and_shown():
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    shells = [block.body for block in blocks(page) if block.kind == "bash"]
    for command in commands():
        assert f"\n### corml {command}\n" in page, command
        assert any(re.search(rf"^corml {command}\b", body, re.M) for body in shells), command


def test_every_model_stands_with_its_paper_and_whether_it_serves_new_users():
    rows = (ROOT / "docs/models.md").read_text("utf-8").splitlines()
    for name in models.names():
        (row,) = [row for row in rows if row.startswith(f"| `{name}` |")]
        _, paper, _, new_users, extra = (cell.strip() for cell in row.strip("|").split("|"))
        assert models.get(name).CITATION[-4:] in paper, name  # the year
        assert new_users == ("yes" if getattr(models.make(name), "_folds_in", True) else "no"), name
        assert extra == ("`neural`" if "learning_rate" in declared(models.get(name)) else ""), name
        assert mentioned(name, ROOT / "docs/command-line.md"), name


def test_every_metric_stands_with_its_formula_and_direction():
    page = (ROOT / "docs/metrics.md").read_text("utf-8")
    for entry in metrics.describe():
        section = page.partition(f"\n### {entry.name}\n")[2].partition("\n##")[0]
        assert entry.formula in section, entry.name
        assert entry.better in section, entry.name
        assert section, entry.name


def test_every_split_data_set_and_public_name_is_explained():
    splits, data = ((ROOT / f"docs/{name}.md").read_text("utf-8") for name in ("splits", "data"))
    for name in plugins.names("corml.splits"):
        assert f"\n## {name.replace('_', '-')}\n" in splits, name
    for name in datasets.known():
        assert mentioned(f"`{name}`", data), name
        assert datasets.get(name).licence in data, name
    for name in corml.__all__:
        assert mentioned(f"`{name}`", ROOT / "docs/index.md"), name


def test_every_hyperparameter_of_corml_stands_with_its_symbol_and_default():
    rows = (ROOT / "docs/notation.md").read_text("utf-8").splitlines()
    for spec in declared(CoRML).values():
        (row,) = [row for row in rows if row.startswith("|") and f"| `{spec.name}` |" in row]
        default = f"{spec.default:g}" if isinstance(spec.default, float) else str(spec.default).lower()
        assert f"| {default} |" in row or f"| {spec.default} |" in row, spec.name
        assert spec.symbol in row, spec.name


def test_departures_name_the_defaults():
    page = (ROOT / "docs/models.md").read_text("utf-8")
    section = page.partition("\n## Departures from the papers\n")[2].partition("\n## ")[0]
    common, *entries = re.split(r"^- ", section, flags=re.M)
    named = {re.match(r"`([\w-]+)`:", entry)[1]: entry for entry in entries}
    assert set(named) == set(models.names()) - {"corml", "corml-dial", "popularity"}
    for name, entry in named.items():
        defaults = declared(models.get(name))
        text = entry + common * ("learning_rate" in defaults)
        for setting, value in re.findall(r"`(\w+)=([\d.]+)`", text):
            assert defaults[setting].default == float(value), f"{name}: {setting} is not {value} by default"


def test_every_exit_code_is_explained():
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    codes = {kind.exit_code for kind in vars(corml.errors).values() if hasattr(kind, "exit_code")}
    for code in (codes - {1}) | {0, corml.errors.INTERRUPTED}:
        assert f"\n| {code} |" in page


# --- pages as such ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_that_a_page_names_exist(page):
    text = page.read_text("utf-8")
    for link in _LINK.finditer(text):
        to, _, anchor = link["to"].partition("#")
        if not to.startswith(("http://", "https://")):
            target = (page.parent / to).resolve() if to else page
            assert target.exists(), f"{page.name} links to {to}, which does not exist"
            assert ROOT in target.parents
            assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{page.name} links to {link['to']}"
    own = [Path(block.file) for block in blocks(text) if block.file]  # that the page itself makes
    names = [match["text"].rstrip("/") for match in _CODE.finditer(_BLOCK.sub("", text))]
    for name in filter(is_path, [] if page.name == "CHANGELOG.md" else names):
        assert is_there(name) or any(path.name == Path(name).name for path in own), f"{page.name} names {name}"
    paths = re.findall(r"(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|mnt|work|Users)\b\S*", text)
    assert not paths, "a path on one machine"


def anchors(text):
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def is_path(name):
    """A source, result or picture by its ending, or anything that begins with a folder of the repository."""
    head, slash, _ = name.partition("/")
    in_folder = head and slash and any((home / head).is_dir() for home in HOMES) and not re.search(r"[\s(*…]", name)
    return bool(in_folder or _FILE.fullmatch(name))


def is_there(name):
    """A path from the root or inside the package; a bare file name may be anywhere in it."""
    if "/" in name:
        return any((home / name).exists() for home in HOMES)
    return any(next(home.rglob(name), None) for home in (ROOT / "src", ROOT / "benchmarks", ROOT / "docs"))


def test_only_paths_are_taken_for_paths():
    assert all(map(is_path, ("models/corml/fit.py", "fit.py", "src/corml", "docs/images/x.svg", "results/linear")))
    assert not any(map(is_path, ("valid/test", "ratings.csv", "@FILE", "R / D", "corml fit", "docs", "/metrics")))
    assert is_there("models/corml/fit.py")
    assert is_there("svd.py")
    assert not is_there("models/no_such_file.py")
    assert not is_there("no_such_file.py")


def test_functions_stand_in_the_files_that_the_method_names():
    page = (
        (ROOT / "docs/method.md").read_text("utf-8").partition("\n## Equation by equation\n")[2].partition("\n## ")[0]
    )
    rows = [line.strip("|").split("|")[-2:] for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    for functions, files in rows:
        sources = [(ROOT / "src/corml" / match["text"]).read_text("utf-8") for match in _CODE.finditer(files)]
        for name in (match["text"].rpartition(".")[2] for match in _CODE.finditer(functions)):
            assert any(re.search(rf"^ *(?:def|class) {name}\b", source, re.M) for source in sources), name


def test_every_page_is_in_the_index():
    index, readme = (ROOT / "docs/index.md").read_text("utf-8"), (ROOT / "README.md").read_text("utf-8")
    for page in {path.name for path in PAGES[3:]} - {"index.md"}:
        assert f"({page})" in index, page
        assert f"(docs/{page})" in readme, page


def test_every_extra_for_users_is_in_the_readme():
    with open(ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"].keys() - {"test", "browser", "benchmarks"}
    shown = re.findall(r'pip install "\.\[(\w+)\]"', (ROOT / "README.md").read_text("utf-8"))
    assert set(shown) == extras


def test_the_version_is_the_same_everywhere():
    for name in ("CHANGELOG.md", "CITATION.cff", "README.md"):
        assert corml.__version__ in (ROOT / name).read_text("utf-8")
