"""A researcher: an own model and metric in a package, another program's run file, one split, a table in LaTeX."""

import gzip
import re

import numpy as np
import polars as pl
import pytest

import corml
from journeys.facts import same_figures
from journeys.program import Shell
from journeys.shop import write_csv

MODULE = '''
"""What a lab tries: neighbours by the cosine of their users, and a metric."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.models.fitted import Outcome, learned
from corml.linalg.sparse import column_degrees, power, scaled
from corml.models.recommender import FitCall, Recommender
from corml._runtime.settings import above, described, linear, setting


@described
@dataclass(kw_only=True, eq=False)
class Neighbours(Recommender):
    """Each item votes for others with their cosine, to a power."""

    NAME: ClassVar[str] = "my-votes"
    CITATION: ClassVar[str] = "Mine & Yours 100%"

    votes_ = learned(csr_array, "items", "items")

    sharpness: float = setting(1.0, above(0), search=linear(0.5, 2), help="power of the cosine")

    def _fit(self, call: FitCall) -> Outcome:
        N = scaled(call.X, columns=power(column_degrees(call.X), -0.5))
        S = csr_array(N.T @ N)
        S.setdiag(0)
        S.eliminate_zeros()
        S.data **= self.sharpness
        return Outcome(arrays={"votes": S.astype(np.float32)})

    def score_block(self, users, columns):
        return (users @ self.votes_[:, columns]).toarray()

    def _contributions(self, history, target):
        return {"votes": self.votes_[history][:, [target]].toarray()[:, 0].astype(np.float64)}


def hits_only(lists, k):
    """Share of the list that was right.

    Formula: hits / K
    Better: higher, 0 to 1
    """
    return lists.hits[:, :k].sum(axis=1) / k
'''
ENTRIES = """
[corml.models]
my-votes = our_lab:Neighbours

[corml.metrics]
hits_only = our_lab:hits_only
"""


@pytest.fixture
def lab(tmp_path):
    """A shell in which the package of the lab is installed, as pip leaves it behind."""
    about = tmp_path / "packages/our_lab-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: our-lab\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "packages/our_lab.py").write_text(MODULE)
    return Shell(tmp_path, packages=tmp_path / "packages")


METRICS = ["ndcg@10", "hits_only@10", "precision@10"]


def test_a_researcher_compares_an_own_model_with_another_program_and_gets_a_table_for_a_paper(shop, lab):
    events = shop.events.drop_nulls(["customer_id", "sku"]).filter(pl.col("event") != "return")
    write_csv(events, lab / "events.csv")
    reading = ["--no-rating", "--k-core", 3]

    # what the package adds is there
    assert "Mine & Yours" in lab.corml("models", "my-votes").out
    assert "hits_only" in lab.corml("metrics").out

    # one split in a file, which anybody can use: here, another program that ranks by what is popular
    lab.corml("data", "split", "events.csv", "paper.split", "--split", "ratio", "--split-set", "seed=42", *reading)
    split = corml.read_split(lab / "paper.split")
    assert split.procedure["seed"] == 42
    counts = np.bincount(split.train.item, minlength=len(split.train.items))
    lists = popular_lists(split, counts)
    write_run(lists, split, lab / "theirs.run.gz")

    # everybody on that split
    study = ["compare", "events.csv", *reading, "--split", "paper.split", "--models", "ease,my-votes:sharpness=0.8"]
    study += ["--models", "popularity", "--lists", "their_run=theirs.run.gz", "-m", ",".join(METRICS), "--out", "study"]
    result = lab.corml(*study, "--baseline", "ease", "--json").json
    means = {entry["label"]: entry["means"] for entry in result["models"]}
    for label, values in means.items():
        assert values["hits_only@10"] == pytest.approx(values["precision@10"], rel=1e-9), label
    assert any(label.startswith("my-votes") for label in means)
    assert means["their_run"]["ndcg@10"] == pytest.approx(ndcg(lists, split), rel=1e-6)
    assert means["their_run"]["ndcg@10"] == pytest.approx(means["popularity"]["ndcg@10"], rel=0.02)  # ties differ

    # the table: what a paper can include as it is, with the same figures
    table = lab.corml(*study, "--baseline", "ease", "--format", "latex").out
    assert table == (lab / "study/tables.tex").read_text(encoding="utf-8")
    assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") >= 1
    assert not re.search(r"(?<!\\)[_%#]", table)  # LaTeX would stop there
    columns = [line.count("&") for line in table.splitlines() if line.rstrip().endswith(r"\\")]
    assert len(set(columns)) <= 2  # of the two tables
    for label, values in means.items():
        row = next(line for line in table.splitlines() if line.startswith(label.replace("_", r"\_")[:12]))
        assert f"{values['ndcg@10']:.4f}" in row

    # the model is a file like any other, which says what it needs where the package is missing
    made = lab.corml("fit", "--split", "paper.split", "--model", "my-votes", "--out", "m.corml", "--json").json
    evaluated = lab.corml(
        *("evaluate", "m.corml", "-m", "ndcg@10,hits_only@10", "--per-user", "users.parquet", "--json")
    ).json
    assert evaluated["metrics"]["ndcg@10"] == pytest.approx(made["metrics"]["ndcg@10"], rel=1e-12)
    users = pl.read_parquet(lab / "users.parquet")
    same_figures({name: users[name].mean() for name in ("ndcg@10", "hits_only@10")}, evaluated["metrics"])
    assert "verified" in lab.corml("verify", "m.corml").out
    tuned = lab.corml(
        *("tune", "events.csv", *reading, "--split", "paper.split", "--model", "my-votes", "--trials", 3, "--json")
    ).json
    assert "sharpness" in tuned["best"] or tuned["score"] == tuned["default score"]
    Shell(lab.folder).corml("recommend", "m.corml", "--all", "--out", "x.csv", code=5, error="my-votes")


def popular_lists(split, counts):
    """For each user with a test pair the 30 most popular items that are in neither train nor valid."""
    order = np.lexsort((np.arange(len(counts)), -counts))
    known = {}
    for part in (split.train, split.valid):
        for user, item in zip(part.user, part.item, strict=True):
            known.setdefault(user, set()).add(item)
    return {
        user: [item for item in order[:500] if item not in known.get(user, ())][:30]
        for user in np.unique(split.test.user)
    }


def write_run(lists, split, path):
    """A TREC run, as other programs write it."""
    users, items = split.train.users.labels, split.train.items.labels
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for user, found in lists.items():
            for rank, item in enumerate(found, 1):
                print(users[user], "Q0", items[item], rank, 1 / rank, "theirs", file=out)


def ndcg(lists, split):
    """NDCG@10, written down once more from its formula."""
    targets = {}
    for user, item in zip(split.test.user, split.test.item, strict=True):
        targets.setdefault(user, set()).add(item)
    values = []
    for user, wanted in targets.items():
        gain = sum(1 / np.log2(rank + 2) for rank, item in enumerate(lists[user][:10]) if item in wanted)
        values.append(gain / sum(1 / np.log2(rank + 2) for rank in range(min(10, len(wanted)))))
    return np.mean(values)
