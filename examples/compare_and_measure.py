"""Compare models on the same users: means with intervals, paired differences, and a more novel CoRML."""

import corml

METRICS = ["ndcg@10", "recall@10", "novelty@10", "coverage@10"]


def main() -> None:
    data = corml.load("movielens-small", at_least=4, k_core=20)
    split = corml.split(data, "ratio", seed=2026)
    models = {
        "popularity": corml.Popularity(),
        "corml": corml.CoRML(),
        "corml, more novel": corml.CoRML(item_norm=-0.3),
    }
    results = {name: corml.evaluate(model.fit(split.train), split, METRICS) for name, model in models.items()}

    print(f"{'':20}" + "".join(f"{metric:>14}" for metric in METRICS))
    for name, result in results.items():
        print(f"{name:20}" + "".join(f"{result[metric]:14.4f}" for metric in METRICS))

    low, high = results["corml"].intervals["ndcg@10"]
    print(f"\nndcg@10 of corml lies between {low:.4f} and {high:.4f} (95 % interval over users)")

    paired = results["corml"].compare(results["popularity"])["ndcg@10"]
    low, high = paired.interval
    print(f"minus popularity, on the same {paired.users} users: {paired.difference:+.4f} [{low:.4f}, {high:.4f}]")

    better = (results["corml"].per_user["ndcg@10"] > results["popularity"].per_user["ndcg@10"]).mean()
    print(f"corml is better for {better:.0%} of them")


if __name__ == "__main__":
    main()
