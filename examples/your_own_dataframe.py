"""From a data frame with your own column names to a frame of recommendations. Works the same with pandas."""

import polars as pl

import corml
from corml.data import examine

BASKETS = {
    "ann": "coffee filters milk sugar",
    "bob": "coffee filters milk",
    "cem": "tea honey milk",
    "dora": "tea honey lemon",
    "eve": "coffee filters sugar",
    "finn": "tea lemon honey sugar",
}


def main() -> None:
    orders = pl.DataFrame(
        [{"customer": who, "sku": sku, "pieces": 1} for who, basket in BASKETS.items() for sku in basket.split()]
    )
    data = corml.load(orders, user="customer", item="sku", rating="pieces", titles={"milk": "Oat milk 1 l"})
    print(data)
    for finding in examine(data).findings:
        print(f"{finding.severity}: {finding.what}; {finding.advice}")

    model = corml.CoRML(ridge=1.0, rank=2).fit(data)  # so little data needs little regularisation
    print(model.recommend(["ann", "cem"], k=2).to_frame())
    print(model.recommend(history=[["coffee"]], k=3, exclude=["sugar"]).to_frame())


if __name__ == "__main__":
    main()
