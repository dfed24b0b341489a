"""What each operation of a model does: a typed request in, a typed answer out. Nothing of HTTP."""

from typing import Any

import msgspec
from msgspec import UNSET

from corml.models.recommender import Recommender
from corml.service import schema
from corml.service.caching import named
from corml.service.lists import contributions, explained, known_items, labels, one_list, ranked_lists
from corml.service.problems import Refusal
from corml.service.served import Served, Shelf
from corml.service.why_not import why_not as answer_why_not


def recommend(shelf: Shelf, request: schema.Recommend) -> schema.ListAnswer:
    """The k best items for a history or a known user, best first."""
    served = shelf[request.model]
    if request.explain and schema.options_given(request).get("k", 10) > schema.MAX_EXPLAINED:
        raise Refusal(422, f"A list that is explained has at most {schema.MAX_EXPLAINED} items: lower k.")
    _check_whom(request)
    found, model = one_list(served, request)
    if request.explain and found.source == "personal":
        explained(model, found, request)
    return schema.ListAnswer(model=served.name, model_version=served.version, **msgspec.structs.asdict(found))


def batch(shelf: Shelf, request: schema.Batch) -> schema.BatchAnswer:
    """Up to 256 lists in one call, in the order of the queries."""
    served = shelf[request.model]
    for query in request.queries:
        _check_whom(query)
    by_point: dict[int, tuple[Recommender, list[int]]] = {}
    for at, query in enumerate(request.queries):
        model = served.at(schema.options_given(query).get("novelty"))
        by_point.setdefault(id(model), (model, []))[1].append(at)
    lists: dict[int, schema.OneList] = {}
    for model, members in by_point.values():
        lists |= zip(members, ranked_lists(model, [request.queries[at] for at in members]), strict=True)
    return schema.BatchAnswer(**served.names, lists=[lists[at] for at in range(len(request.queries))])


def why_not(shelf: Shelf, request: schema.WhyNot) -> schema.WhyNotAnswer:
    """Where an item stands that is not in a list, what it lacks, and which items in the history would lift it."""
    _check_whom(request)
    return answer_why_not(shelf[request.model], request)


def explain(shelf: Shelf, request: schema.Explain) -> schema.ExplainAnswer:
    """What each item of a history adds to the score of an item; the contributions add up to the score."""
    served = shelf[request.model]
    _check_whom(request)
    model, target = served.at(request.novelty), served.row(labels([request.item])[0])
    rows, score = contributions(model, request, target)
    unknown = known_items(model, request)[1]
    about = _named_item(served, target)
    return schema.ExplainAnswer(**served.names, **about, score=score, contributions=rows, unknown=unknown)


def similar(shelf: Shelf, request: schema.Similar) -> schema.SimilarAnswer:
    """Items most associated with an item: the list of a history that is this item alone."""
    served = shelf[request.model]
    about = _named_item(served, served.row(labels([request.item])[0]))
    options: dict[str, Any] = {"k": request.k, "novelty": request.novelty}
    query = schema.Query(history=[about["item"]], **options)
    found, _ = one_list(served, query)
    return schema.SimilarAnswer(**served.names, **about, items=found.items, reason=found.reason)


def distance(shelf: Shelf, request: schema.Distance) -> schema.DistanceAnswer:
    """How far an item is from a history, or from a known user, in the metric of a part of the model."""
    served = shelf[request.model]
    _check_whom(request)
    model, target = served.at(request.novelty), served.row(labels([request.item])[0])
    measure = getattr(model, "distance", None)
    if measure is None:
        raise Refusal(422, "This model has no metric: only corml and corml-dial do.")
    known, unknown = known_items(model, request)
    item = model.items_.labels[target]
    value = float(measure(model.items_.labels[known].tolist(), item, part=request.part))
    return schema.DistanceAnswer(**served.names, item=item, part=request.part, distance=value, unknown=unknown)


def search(shelf: Shelf, request: schema.Search) -> schema.Found:
    """Items by words of their titles or by their ids, most popular first; typing errors are forgiven."""
    served = shelf[request.model]
    rows, fuzzy = served.lookup.find(request.q, request.limit)
    return schema.Found(**served.names, items=[item_of(served, row) for row in rows], fuzzy=fuzzy)


def ids(shelf: Shelf, request: schema.Ids) -> schema.IdsAnswer:
    """Titles and popularity of items by their ids."""
    served = shelf[request.model]
    given = list(dict.fromkeys(labels(request.items)))
    rows = served.rows(given).tolist()
    unknown = [label for label, row in zip(given, rows, strict=True) if row < 0]
    return schema.IdsAnswer(**served.names, items=[item_of(served, row) for row in rows if row >= 0], unknown=unknown)


def models(shelf: Shelf, request: None) -> schema.Models:
    """The models that are served, their versions, and what can be asked of them."""
    return schema.Models(models=[about(served, served.name == shelf.default) for served in shelf.all().values()])


def name_of_models(shelf: Shelf, request: None) -> str:
    """The ETag of the list of models."""
    parts = [part for served in shelf.all().values() for part in (served.name, served.digest, served.since)]
    return named(shelf.default, *parts)


def _check_whom(whom: schema.Whom) -> None:
    if whom.user is not UNSET and whom.history:
        raise Refusal(422, "Say for whom once: either user or history.")


def _named_item(served: Served, row: int) -> dict[str, str]:
    """The id of an item, and its title if it has one, as fields of an answer."""
    item = served.model.items_.labels[row]
    title = served.model.titles_.get(item)
    return {"item": item} if title is None else {"item": item, "title": title}


def item_of(served: Served, row: int) -> schema.Item:
    """An item by its number, with its title."""
    state = served.model.fitted_
    return schema.Item(**_named_item(served, row), popularity=float(state.counts[row]) / max(state.train.shape[0], 1))


def about(served: Served, default: bool) -> schema.ModelInfo:
    """A model that is served, and what can be asked of it."""
    model, state = served.model, served.model.fitted_
    metrics = state.evaluation.get("metrics", {})
    return schema.ModelInfo(
        name=served.name,
        default=default,
        version=served.version,
        digest=served.digest,
        kind=model.NAME,
        items=len(state.items),
        users=state.train.shape[0],
        titles=bool(state.titles),
        attributes={name: model.attributes_.kind(name) for name in model.attributes_.names},
        event_types=list(state.histories.event_types),
        novelty=served.is_dial,
        explains=served.explains,
        distances=hasattr(served.at(None), "distance"),
        knows_users=len(state.users) > 0,
        loaded=served.since,
        settings=msgspec.to_builtins(dict(model.settings_)),
        metrics={name: float(value) for name, value in metrics.items()},
    )
