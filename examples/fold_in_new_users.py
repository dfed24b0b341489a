"""Serve people the model has never seen, from a file that knows no users at all."""

import tempfile
from pathlib import Path

import corml

VISITORS = {
    "likes gangster films": ["858", "1213"],
    "likes Pixar": ["1", "2355"],
    "met one film we do not know": ["858", "no such film"],
    "has just arrived": [],
}


def main() -> None:
    data = corml.load("movielens-small", at_least=4, k_core=20)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "public.corml")
        corml.CoRML().fit(data).save(path, history=False)
        model = corml.read_model(path)

    lists = model.recommend(history=list(VISITORS.values()), k=3)
    for visitor, items, reason, unknown in zip(VISITORS, lists, lists.reasons, lists.unknown, strict=True):
        print(
            f"{visitor}"
            + (f" ({reason})" if reason else "")
            + (f" (left out: {', '.join(unknown)})" if unknown else "")
        )
        for item in items:
            print(f"    {lists.titles[item]}")

    print("\nHow good that is, on users held out as a whole:")
    split = corml.split(data, "new-users", seed=2026)
    print(corml.evaluate(corml.CoRML().fit(split.train), split, ["ndcg@10", "recall@10"]))


if __name__ == "__main__":
    main()
