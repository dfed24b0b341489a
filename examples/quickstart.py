"""Load, split, fit, recommend and measure on the bundled MovieLens sample."""

import corml


def main() -> None:
    data = corml.load("movielens-small", at_least=4, k_core=20)
    print(data)

    split = corml.split(data, "ratio", shares=(0.6, 0.2, 0.2), seed=2026)
    print(split)

    model = corml.CoRML().fit(split.train)
    certificate = model.fitted_.certificates[0]
    print(f"solved in {certificate.steps} steps, converged: {certificate.converged}\n")

    print("For a user of the data:")
    print(model.recommend(["32"], k=5))

    print("\nItems most associated with The Godfather (858):")
    print(model.similar("858", k=3))

    print("\nOn held-out movies:")
    print(corml.evaluate(model, split, ["ndcg@5", "ndcg@10", "recall@5", "recall@10", "novelty@10"]))


if __name__ == "__main__":
    main()
