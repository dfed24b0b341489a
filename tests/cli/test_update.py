"""corml update: new interactions for a model file."""

import random
import re
import subprocess
import sys
import time

import polars as pl
import pytest

import corml
from corml.persistence import container


@pytest.fixture
def mine(here, shop):
    """A model file of one's own, fitted on ratings of 2 and more and measured; and new ratings."""
    (here / "mine.corml").write_bytes((shop / "split.corml").read_bytes())
    (here / "new.csv").write_text("user,item,rating,time\nu1,i24,5,9000\nann,i3,4,9001\nann,pot,5,9002\nu2,i7,1,9003\n")
    return here


def test_new_interactions_count_at_once(run, mine):
    outcome = run("update", "mine.corml", "new.csv")
    assert outcome.out == "wrote mine.corml: 3 interactions of 3 users added, 1 of them new\n"
    assert "note: items the model does not know: 1, in 1 interaction; they are kept for --refit" in outcome.err
    lists = run("recommend", "mine.corml", "--user", "u1", "--user", "ann", "--user", "u2", "-k", "25", "--json").json
    items = {one["user"]: {item["item"] for item in one["items"]} for one in lists}
    assert "i24" not in items["u1"]
    assert "i3" not in items["ann"]
    assert "i7" not in items["u2"]  # rated below the threshold of the first load: only seen
    assert {one["source"] for one in lists} == {"personal"}


def test_everybody_who_is_known_gets_a_list(run, mine):
    run("update", "mine.corml", "new.csv")
    run("recommend", "mine.corml", "--all", "-o", "lists.parquet", "-k", "3")
    users = pl.read_parquet("lists.parquet")["user"].unique().to_list()
    assert len(users) == 41
    assert "ann" in users


def test_another_file_may_be_written_and_the_first_stays(run, mine):
    before = (mine / "mine.corml").read_bytes()
    outcome = run("update", "mine.corml", "new.csv", "--out", "next.corml", "--json").json
    assert (mine / "mine.corml").read_bytes() == before
    assert outcome["file"] == "next.corml"
    assert outcome["refitted"] is False
    assert outcome["users"] == 41
    assert outcome["update"]["only_seen"] == 1
    assert corml.read_model("next.corml").fitted_.added.records[0] == outcome["update"]


def test_inspect_and_verify_tell_the_fit_from_what_was_added(run, mine, shop):
    run("update", "mine.corml", "new.csv")
    shown = run("inspect", "-v", "mine.corml").out
    assert "added since, not learned from: interactions 3, new users 1, last on 20" in shown
    assert "updates new_users" in " ".join(shown.split())
    verified = run("verify", "-v", "mine.corml")
    assert verified.code == 0
    assert "note: the metrics are those of the fit, before later updates (updates: 1)" in verified.err
    assert "histories now" in verified.out
    assert (
        run("evaluate", "mine.corml", "-m", "ndcg@10", "--json").json
        == run("evaluate", shop / "split.corml", "-m", "ndcg@10", "--json").json
    )


def test_histories_that_were_changed_do_not_verify(run, mine):
    run("update", "mine.corml", "new.csv")
    contents = container.read("mine.corml")
    facts = {name: value for name, value in contents.meta.items() if name != "format"}
    facts["now"]["fingerprint"] = "0" * 64
    (mine / "mine.corml").write_bytes(container.pack(contents.arrays, facts))
    outcome = run("verify", "mine.corml")
    assert outcome.code == 3
    assert "histories now" in outcome.err


def test_a_refit_learns_from_everything_with_the_same_settings(run, mine):
    run("update", "mine.corml", "new.csv")
    outcome = run("update", "mine.corml", "--refit")
    assert outcome.code == 0
    assert "fitted again on 41 users x 26 items" in outcome.out
    assert "note: the metrics of the earlier fit do not apply to this one" in outcome.err
    model = corml.read_model("mine.corml")
    assert "pot" in model.items_
    assert model.fitted_.added is None
    assert model.fitted_.evaluation == {}
    whole = corml.load(pl.concat([pl.read_csv(model.fitted_.source["from"][0]), pl.read_csv("new.csv")]), at_least=2)
    assert model.fitted_.fingerprint == whole.fingerprint
    assert [one["new_users"] for one in model.fitted_.source["updates"]] == [1]
    refused = run("verify", "mine.corml")
    assert refused.code == 2
    assert "it was fitted again with corml update --refit, which drops the metrics of the earlier fit" in refused.err
    assert "corml fit FOLDER --split HOW --out FILE" in refused.err
    assert run("update", "mine.corml", "new.csv", "--refit").code == 0
    shown = run("inspect", "mine.corml").out
    assert ", new.csv" in shown.splitlines()[1]
    assert "updates that the fit learned from: interactions" in shown
    for command in ("evaluate", "report"):
        refused = run(command, "mine.corml")
        assert refused.code == 2
        assert "Fit all files together with a split: corml fit FOLDER --split" in refused.err


def test_columns_threshold_and_weights_of_the_first_load_are_used_again(run, here):
    rows = ["who;what;kind;amount"] + [f"u{n % 7};i{n % 5};{'buy' if n % 3 else 'view'};1,5" for n in range(60)]
    (here / "first.csv").write_text("\n".join(rows))
    options = ["--user", "who", "--item", "what", "--event", "kind", "--weights", "view=1,buy=10", "--weight", "amount"]
    assert run("fit", "first.csv", *options, "--decimal", ",", "--k-core", "2", "-o", "m.corml").code == 0
    (here / "next.csv").write_text("who;what;kind;amount\nu1;i4;buy;2,5\nu0;i0;view;1,0\n")
    outcome = run("update", "m.corml", "next.csv")
    assert outcome.code == 0
    assert "pairs are already in the model; their weights add up" in outcome.err
    first, now = (corml.read_model("m.corml").fitted_ for _ in range(2))
    weights = now.added.data.weighted.toarray() - first.weighted.toarray()
    rows, columns = now.users.rows(["u1", "u0"]), now.items.rows(["i4", "i0"])
    assert weights[rows, columns].tolist() == [25.0, 1.0]
    assert weights.sum() == 26.0
    pl.DataFrame({"who": ["u2"], "what": ["i1"], "kind": ["buy"], "amount": [1.0]}).write_parquet("next.parquet")
    assert run("update", "m.corml", "next.parquet").code == 0  # another kind of file has another layout


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["mine.corml"], 2, "Say what to add: a file of interactions; or --refit"),
        (["mine.corml", "none.csv"], 3, "none.csv"),
        (["new.csv", "new.csv"], 2, "is the file to read"),
        (["mine.corml", "new.csv", "--k-core", "2"], 2, "leave them out of an update"),
        (["mine.corml", "new.csv", "--out", "other.csv"], 2, "exists and is not a model file"),
        (["bare.corml", "new.csv"], 2, "saved without the histories of its users, so nothing can be added"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_the_file_stays(run, mine, words, code, sentence):
    (mine / "other.csv").write_text("user,item\n")
    corml.read_model("mine.corml").save("bare.corml", history=False)
    before = (mine / "mine.corml").read_bytes()
    outcome = run("update", *words)
    assert outcome.code == code
    assert sentence in outcome.err
    assert (mine / "mine.corml").read_bytes() == before


def test_a_gradient_model_says_what_becomes_of_its_vectors(run, mine, shop):
    pytest.importorskip("torch")
    quick = ["--set", "epochs=1", "--set", "size=4", "--at-least", "2"]
    run("fit", shop / "ratings.csv", "--model", "bpr-mf", *quick, "-o", "bpr.corml")
    outcome = run("update", "bpr.corml", "new.csv")
    assert "the user embeddings of bpr-mf do not change until --refit" in outcome.err
    assert "new users get the most popular items" in outcome.err
    (one,) = run("recommend", "bpr.corml", "--user", "ann", "-k", "25", "--json").json
    assert one["source"] == "fallback"
    assert "i3" not in {item["item"] for item in one["items"]}


# --- several processes, and kills ------------------------------------------------------------------------------------

UPDATE = "import sys; from corml.cli._main import main; main(['update', 'mine.corml', sys.argv[1]])"


def test_updates_at_the_same_time_are_all_kept(mine):
    for number in range(2):
        (mine / f"new{number}.csv").write_text(f"user,item,rating,time\nnew{number},i1,5,9000\n")
    running = [subprocess.Popen([sys.executable, "-c", UPDATE, f"new{number}.csv"]) for number in range(2)]
    assert [process.wait(60) for process in running] == [0] * 2
    assert {"new0", "new1"} <= set(corml.read_model("mine.corml").users_)


def test_killed_at_any_moment_the_old_file_stands(mine):
    before, delays = (mine / "mine.corml").read_bytes(), random.Random(14)
    began = time.monotonic()
    assert subprocess.run([sys.executable, "-c", UPDATE, "new.csv"], check=True).returncode == 0
    longest, after = time.monotonic() - began, (mine / "mine.corml").read_bytes()
    killed = 0
    for _ in range(3):
        (mine / "mine.corml").write_bytes(before)
        with subprocess.Popen([sys.executable, "-c", UPDATE, "new.csv"]) as process:
            time.sleep(delays.uniform(0.3, 1) * longest)
            killed += process.poll() is None
            process.kill()
        assert (mine / "mine.corml").read_bytes() in (before, after)
    assert killed


def test_after_a_refit_the_advice_on_measuring_works(run, here):
    rows = [f"u{n % 30},i{(n * 7 + n // 9) % 23},{1_700_000_000 + n}" for n in range(300)]
    (here / "all").mkdir()
    (here / "all" / "a.csv").write_text("user,item,time\n" + "\n".join(rows[:280]) + "\n")
    (here / "all" / "b.csv").write_text("user,item,time\n" + "\n".join(rows[280:]) + "\n")
    assert run("fit", "all/a.csv", "--split", "ratio", "--model", "popularity", "-o", "m.corml").code == 0
    told = run("update", "m.corml", "all/b.csv", "--refit").err
    assert "fit all files together with a split: corml fit FOLDER --split HOW --out FILE" in told
    assert "corml evaluate measures it" not in told
    assert run("fit", "all", "--split", "ratio", "--model", "popularity", "--out", "n.corml").code == 0
    facts = run("inspect", "n.corml", "-v").out
    assert "source rated_too_low" in facts
    assert run("fit", "all", "--split", "temporal", "--model", "popularity", "--out", "t.corml").code == 0
    assert re.search(r"procedure cuts +2023-11-14 22:", run("inspect", "t.corml", "-v").out)


def test_a_model_of_one_file_per_event_type_is_updated_in_the_same_form(run, here):
    (here / "view.tsv").write_text("user\titem\n" + "".join(f"u{n % 7}\ti{n % 5}\n" for n in range(35)))
    (here / "cart.tsv").write_text("user\titem\n" + "".join(f"u{n}\ti{n % 3}\n" for n in range(7)))
    (here / "later_cart.tsv").write_text("user\titem\nann\ti1\nann\ti4\n")
    fitted = run("fit", "view=view.tsv,cart=cart.tsv", "--weights", "view=1,cart=3", "-o", "shop.corml")
    assert fitted.code == 0, fitted.err
    refused = run("update", "shop.corml", "later_cart.tsv")
    assert refused.code == 2
    assert "given as one file per event type (view, cart)" in refused.err
    assert "corml update shop.corml cart=later_cart.tsv" in refused.err
    assert run("update", "shop.corml", "cart=later_cart.tsv").out.startswith(
        "wrote shop.corml: 2 interactions of 1 user "
    )


def test_after_a_refit_the_advice_on_measuring_names_each_event_type(run, here):
    rows = [f"u{n % 30},i{(n * 7 + n // 9) % 23}" for n in range(300)]
    for kind, some in (("view", rows[:200]), ("buy", rows[200:])):
        (here / kind).mkdir()
        (here / kind / "a.csv").write_text("user,item\n" + "\n".join(some[:-20]) + "\n")
        (here / kind / "b.csv").write_text("user,item\n" + "\n".join(some[-20:]) + "\n")
    words = ["--split", "ratio", "--model", "popularity", "--weights", "view=1,buy=5"]
    assert run("fit", "view=view/a.csv,buy=buy/a.csv", *words, "-o", "m.corml").code == 0
    alone = run("update", "m.corml", "--refit", "-o", "again.corml").err
    assert "corml fit 'view=view/a.csv,buy=buy/a.csv' --split HOW --out FILE" in alone
    assert "or again with corml update --refit, which drops the metrics" in run("verify", "again.corml").err
    told = run("update", "m.corml", "view=view/b.csv,buy=buy/b.csv", "--refit").err
    for message in (told, run("verify", "m.corml").err, run("evaluate", "m.corml").err):
        assert "corml fit view=FOLDER,buy=FOLDER --split HOW --out FILE, with the same loading options" in message
    assert run("fit", "view=view,buy=buy", *words, "-o", "n.corml").code == 0
