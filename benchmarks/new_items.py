"""How well items that nobody has are ranked by what they are like, and what showing them costs.

    python benchmarks/new_items.py movielens-small
    python benchmarks/new_items.py movietweetings

Three splits that hold items out (seeds 1 to 3). Ways to link a new item to known ones are compared on the items of the
valid part; the best of each kind is then measured on those of the test part, beside random lists, the popularity of an
item's categories and content-kNN. All rank the new items of the part alone. Mixed lists, of old and new items, are
measured on splits in which a user's pairs of old and of new items are targets with the same probability.
"""

import copy
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _record import begin, write
from scipy.sparse import csr_array

import corml
from corml.data import likeness as content
from corml.data.ids import Ids
from corml.evaluation.run import evaluate_lists

SEEDS = (1, 2, 3)
METRIC = "ndcg@20"
TARGETS = 0.15  # share of pairs that are targets in mixed lists
LIFTS = (1.0, 1.5, 2.0, 3.0)
USERS = 3000  # users measured at most, so that the larger set stays within minutes

Scores = np.ndarray[Any, Any]
Link = Callable[[corml.Attributes, Any, Any], csr_array]


def nearest(count: int, power: int) -> Link:
    """The weighted mean of the nearest items by cosine."""

    def link(table: corml.Attributes, known: Any, new: Any) -> csr_array:
        F = content.features(table, known)
        cosines = (F[new] @ F[known].T).toarray()
        kept = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        weights = np.zeros_like(cosines)
        np.put_along_axis(weights, kept, np.take_along_axis(cosines, kept, 1) ** power, 1)
        return placed(weights, known, new, len(table))

    return link


def ridge(l2: float) -> Link:
    """Ridge regression on all known items, with weights of either sign."""

    def link(table: corml.Attributes, known: Any, new: Any) -> csr_array:
        F = content.features(table, known)
        gram = (F[known] @ F[known].T).toarray()
        weights = np.linalg.solve(gram + l2 * np.eye(len(known)), (F[known] @ F[new].T).toarray()).T
        return placed(weights, known, new, len(table))

    return link


def nonnegative(l2: float, most: int = content.CANDIDATES) -> Link:
    """What `with_new_items` does."""
    return lambda table, known, new: content.likeness(table, known, new, ridge=l2, most=most)


KINDS: dict[str, dict[str, Link]] = {
    "mean of the nearest": {f"{n} nearest, cosine^{p}": nearest(n, p) for n, p in ((10, 1), (10, 3), (20, 3))},
    "ridge": {f"l2 {l2}": ridge(l2) for l2 in (1, 2, 4)},
    "non-negative ridge": {f"l2 {l2}": nonnegative(l2) for l2 in (0.5, 1, 2, 4)},
}


def placed(weights: Scores, known: Any, new: Any, items: int) -> csr_array:
    """Weights with the sum 1 as a matrix over the whole catalogue."""
    total = weights.sum(axis=1, keepdims=True)
    wide = np.zeros((items, items), dtype=np.float32)
    wide[np.ix_(new, known)] = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return csr_array(wide)


def main() -> None:
    """Measure one data set and write it down."""
    name = sys.argv[1]
    data = interactions(name)
    splits = {seed: corml.split(data, "new-items", seed=seed) for seed in SEEDS}
    mixed = {seed: mixed_split(data, seed) for seed in SEEDS}
    named = [(f"{name}, new items, seed {seed}", splits[seed]) for seed in SEEDS]
    named += [(f"{name}, mixed, seed {seed}", mixed[seed]) for seed in SEEDS]
    begun = begin(*named, seed=SEEDS[0])
    fitted = {seed: corml.CoRML().fit(splits[seed].train) for seed in SEEDS}
    valid = {kind: {way: [] for way in ways} for kind, ways in KINDS.items()}
    for kind, ways in KINDS.items():
        for way, link in ways.items():
            valid[kind][way] = [by_link(fitted[seed], splits[seed], "valid", link) for seed in SEEDS]
            print(kind, way, "valid", valid[kind][way], flush=True)
    chosen = {kind: max(ways, key=lambda way, ways=ways: np.mean(ways[way])) for kind, ways in valid.items()}
    test = {
        f"corml, {kind}": [by_link(fitted[seed], splits[seed], "test", KINDS[kind][way]) for seed in SEEDS]
        for kind, way in chosen.items()
    }
    ours = KINDS["non-negative ridge"][chosen["non-negative ridge"]]
    for other in OTHERS:
        models = [corml.models.make(other).fit(splits[seed].train) for seed in SEEDS]
        figures = [by_link(model, splits[seed], "test", ours) for model, seed in zip(models, SEEDS, strict=True)]
        test[f"{other}, non-negative ridge"] = figures
    for title, scored in BASELINES.items():
        test[title] = [measured_scores(scored(splits[seed]), splits[seed], "test") for seed in SEEDS]
    print(test, flush=True)
    sizes = {"users": data.shape[0], "items": data.shape[1], "interactions": len(data)}
    found = {"data": name, "sizes": sizes, "metric": METRIC, "chosen on valid": chosen}
    figures = {"valid": valid, "test": test, "mixed": [in_mixed_lists(mixed[seed]) for seed in SEEDS]}
    print(write(f"corml/new-items-{name}", begun, found | figures))


# --- new items alone -------------------------------------------------------------------------------------------------

OTHERS = ("ease", "item-knn")


def by_link(model: Any, split: corml.Split, part: str, link: Link) -> float:
    """A model with a link, on the new items of a part."""
    weights = link(model.attributes_, np.flatnonzero(model.counts_ > 0), new_in(split, part))
    return measured(with_link(model, weights), split, part)


def with_link(model: Any, weights: csr_array, lift: float = 1.0) -> Any:
    """The model with these weights for its new items, whatever made them."""
    changed = copy.copy(model)
    changed.fitted_ = replace(model.fitted_, arrays={**model._linked(weights, lift), "link": weights})
    return changed


def measured(model: Any, split: corml.Split, part: str) -> float:
    """NDCG@20 of lists of the new items of a part."""
    users = judged(split, part)
    history = replace(split.train.on(users, split.train.items), seen=None)  # no baseline knows what was rated low
    lists = model.recommend(history=history, k=20, only=[split.train.items[row] for row in new_in(split, part)])
    return figure(lists, split, part)


def measured_scores(scores: Scores, split: corml.Split, part: str) -> float:
    """The same for scores of the new items of the part, a row for each judged user or one for all."""
    users, columns = judged(split, part), new_in(split, part)
    labels = split.train.items.labels[columns]
    scores = np.broadcast_to(scores, (len(users), len(columns)))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :20]
    return figure({user: labels[row].tolist() for user, row in zip(users, best, strict=True)}, split, part)


def figure(lists: Any, split: corml.Split, part: str) -> float:
    """The mean over the judged users."""
    result = evaluate_lists(lists, split, METRIC, part=part, intervals=False)
    of_judged = np.isin(result.users, judged(split, part).labels)
    return round(float(result.per_user[METRIC][of_judged].mean()), 5)


def new_in(split: corml.Split, part: str) -> Any:
    """Rows of the items that are new in a part."""
    return np.unique(getattr(split, part).item)


def judged(split: corml.Split, part: str) -> Any:
    """Users with a history and a target."""
    able = np.flatnonzero((split.train.user_degrees > 0) & (getattr(split, part).user_degrees > 0))
    return Ids(split.train.users.labels[able[:USERS]], kind="user")


def at_random(split: corml.Split) -> Scores:
    """Any order, another for each user."""
    return np.random.default_rng(0).random((len(judged(split, "test")), len(new_in(split, "test"))))


def of_categories(split: corml.Split) -> Scores:
    """The mean number of train users of known items, averaged over the categories of an item."""
    table = split.train.attributes.on(split.train.items)
    genres, counts = table.categories("genres"), split.train.item_degrees.astype(np.float64)
    known = (counts > 0).astype(np.float64)
    popular = (genres.T @ counts) / np.maximum(genres.T @ known, 1)
    new = genres[new_in(split, "test")]
    return (new @ popular) / np.maximum(np.asarray(new.sum(axis=1)), 1)


def content_knn(split: corml.Split) -> Scores:
    """The sum of the cosines of features with the items of the history: what needs no model."""
    table, counts = split.train.attributes.on(split.train.items), split.train.item_degrees
    F = content.features(table, np.flatnonzero(counts > 0))
    history = split.train.on(judged(split, "test"), split.train.items).matrix
    return (history @ F @ F[new_in(split, "test")].T).toarray()


BASELINES = {"content-kNN": content_knn, "popularity of categories": of_categories, "random": at_random}


# --- old and new items together --------------------------------------------------------------------------------------


def mixed_split(data: corml.Interactions, seed: int) -> corml.Split:
    """A fifth of the items new; the same share of a user's pairs of old and new items are targets.

    The other pairs of new items are put into valid: they are neither learned from nor listed.
    """
    split = corml.split(data, "new-items", shares=(0.8, 0.2), known=TARGETS, seed=seed)
    new = split.train.item_degrees + split.valid.item_degrees == 0
    aside = new[split.test.item] & (np.random.default_rng(seed).random(len(split.test)) >= TARGETS)
    user, item = (
        np.concatenate([getattr(split.valid, name), getattr(split.test, name)[aside]]) for name in ("user", "item")
    )
    valid = replace(split.valid, user=user, item=item, times=None)
    return corml.Split(train=split.train, valid=valid, test=split.test.where(~aside))


def in_mixed_lists(split: corml.Split) -> dict[str, Any]:
    """NDCG@20 over all items without new ones, and with them at several lifts; and the share of new items in lists."""
    model = corml.CoRML().fit(split.train)
    link = model.with_new_items()._link_
    figures = {"without new items": shares(model, split)}
    for lift in LIFTS:
        figures[f"lift {lift:g}"] = shares(with_link(model, link, lift), split)
    print(figures, flush=True)
    return figures


def shares(model: Any, split: corml.Split) -> dict[str, float]:
    """How good lists are, and how many of their items are new."""
    known = {} if len(model.new_items_) else {"only": model.items_.labels[model.counts_ > 0].tolist()}
    users = judged(split, "test")
    seen = replace(split.train.on(users, split.train.items), seen=None).with_seen(replace(split.valid, seen=None))
    lists = model.recommend(history=seen, k=20, **known)
    new = set(model.items_.labels[model.counts_ == 0])
    share = np.mean([item in new for row in lists.values() for item in row])
    return {METRIC: figure(lists, split, "test"), "new in lists": round(float(share), 4)}


def interactions(name: str) -> corml.Interactions:
    """The sample, or MovieTweetings below CORML_DATA, with genres and titles."""
    if name == "movielens-small":
        return corml.load(name, at_least=4, k_core=5)
    folder = Path(os.environ["CORML_DATA"]) / "movietweetings"
    return corml.load(folder / "ratings.dat.gz", at_least=7, k_core=5, items=folder / "movies.dat.gz")


if __name__ == "__main__":
    main()
