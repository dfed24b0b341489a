"""Explain each item of a list: contributions of the history that add up to the score, and the distance."""

import corml

HISTORY = ["318", "858", "296", "1"]  # Shawshank Redemption, Godfather, Pulp Fiction, Toy Story


def main() -> None:
    data = corml.load("movielens-small", at_least=4, k_core=20)
    model = corml.CoRML().fit(data)
    print("History: " + "; ".join(data.title(item) for item in HISTORY) + "\n")

    lists = model.recommend(history=[HISTORY], k=3)
    for item, score in zip(lists.items[0], lists.scores[0], strict=True):
        why = model.explain(HISTORY, item)
        assert abs(why.score - score) < 1e-5, "the contributions add up to the score"
        print(f"{data.title(item)}: score {score:.4f}, distance {model.distance(HISTORY, item):.3f}")
        for row in why.rows():
            share = row["contribution"] / why.score
            print(f"    {share:4.0%}  {row['title']}  (learned {row['h']:.4f}, graph {row['g']:.4f})")


if __name__ == "__main__":
    main()
