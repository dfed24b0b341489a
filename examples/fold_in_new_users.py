"""Serve new users by their histories, from a model file without any users."""

import tempfile
from pathlib import Path

import corml

VISITORS = {
    "likes gangster films": ["858", "1213"],
    "likes Pixar": ["1", "2355"],
    "has an item that is not in the catalogue": ["858", "no such film"],
    "is a cold user, without a history": [],
}


def main() -> None:
    data = corml.load("movielens-small", at_least=4, k_core=20)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "public.corml")
        corml.CoRML().fit(data).save(path, history=False)
        model = corml.read_model(path)

    lists = model.recommend(history=list(VISITORS.values()), k=3)
    for visitor, items, reason, unknown in zip(VISITORS, lists.values(), lists.reasons, lists.unknown, strict=True):
        print(
            f"{visitor}" + (f" ({reason})" if reason else "") + (f" (unknown: {', '.join(unknown)})" if unknown else "")
        )
        for item in items:
            print(f"    {lists.titles[item]}")

    print("\nEvaluated on users who are held out completely:")
    split = corml.split(data, "new-users", seed=2026)
    print(corml.evaluate(corml.CoRML().fit(split.train), split, ["ndcg@10", "recall@10"]))


if __name__ == "__main__":
    main()
