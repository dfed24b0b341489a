"""Numbers of thousands of digits, or of none, in any option end in a sentence."""

import os

import pytest

MANY = "7" * 5_000  # digits: Python itself refuses to read so many
SIZES = ["1e400", "inf", "-inf", "nan", MANY, f"{MANY}GB", "1e400GiB"]


@pytest.mark.parametrize("text", SIZES, ids=lambda text: text[:8])
@pytest.mark.parametrize(
    "words", [["fit", "r.csv", "-o", "m.corml"], ["data", "store", "r.csv", "s.store"]], ids=" ".join
)
def test_a_command_refuses_such_a_size(words, text, run, here):
    (here / "r.csv").write_text("user,item\na,x\na,y\nb,y\n")
    done = run(*words, f"--memory={text}")
    assert (done.code, os.listdir(here)) == (2, ["r.csv"])
    assert len(done.err) < 400


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recommend", "{model}", "--all", "--max-per", f"genre={MANY}"], "Invalid --max-per"),
        (["recommend", "{model}", "--all", "--max-per", "genre=²"], "Invalid --max-per"),
        (["export", "{model}", "--to", "sqlite", "--pairs", MANY], "must be a whole number"),
        (["export", "{model}", "--to", "sqlite", "--pairs", "²"], "must be a whole number"),
        (["evaluate", "{model}", "--metrics", f"ndcg@{MANY}"], "needs a list length"),
        (["data", "info", "r.csv", "--no-header", "--user", "²"], "²"),
        (["data", "info", "r.csv", "--no-header", "--user", MANY], "7"),
        (["fit", "r.csv", "-o", "m.corml", "--settings", "digits.toml"], "is not TOML"),
        (["fit", "r.csv", "-o", "m.corml", "--settings", "pipe"], "is a pipe: give the name of a file"),
    ],
    ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
)
def test_commands_refuse_numbers_of_thousands_of_digits(words, said, run, here, shop):
    (here / "r.csv").write_text("a,x\na,y\nb,y\n")
    (here / "digits.toml").write_text(f"[model]\nrank = {MANY}{MANY}\n")
    os.mkfifo(here / "pipe")
    done = run(*(word.replace("{model}", str(shop / "split.corml")) for word in words))
    assert done.code in (2, 3)
    assert said in done.err
    assert len(done.err) < 1_000
    assert sorted(os.listdir(here)) == ["digits.toml", "pipe", "r.csv"]
