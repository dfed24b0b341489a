"""The paragraph of docs/tuning.md about five folds."""

from _tables import TITLES, must, paragraph, short


def tables() -> dict[str, str]:
    record = must("corml/folds-gowalla")
    gain = record["score"] / record["default score"] - 1
    text = (
        f"On the train part of {TITLES[record['data']]}, scored by {record['scored on']}, "
        f"{record['distinct settings']} settings of CoRML took {record['seconds'] / 60:.0f} minutes of trials and "
        f"{record['processor seconds'] / 60:.0f} CPU minutes on one thread each; two processes shared the "
        f"journal, so it was half of that on the clock. NDCG@10 rose from {short(record['default score'])} with the "
        f"defaults to {short(record['score'])}, by {gain:.1%} (`benchmarks/tune_folds.py`, "
        "`results/corml/folds-gowalla.json`)."
    )
    return {"folds": paragraph(text.replace("%", " %"))}
