"""Why an item is not in a list: `Recommender.why_not`, as the API says it."""

from msgspec import UNSET

from corml.service.lists import labels, options_for, refusing
from corml.service.schema import Contribution, Lift, WhyNot, WhyNotAnswer, options_given
from corml.service.served import Served

__all__ = ["why_not"]


def why_not(served: Served, query: WhyNot) -> WhyNotAnswer:
    """Answer the question."""
    given = options_given(query)
    model = served.at(given.get("novelty"))
    item = model.items_.labels[served.row(labels([query.item])[0])]
    known = query.user is not UNSET
    whom = labels([query.user])[0] if known else labels(query.history)
    how = options_for(model, query, given)
    with refusing(how, known=known):
        found = model.why_not(whom, item, lifts=query.lifts, **how)
    titles = found.titles
    contributions = [] if found.explanation is None else found.explanation.rows()
    return WhyNotAnswer(
        model=served.name,
        model_version=served.version,
        item=item,
        verdict=found.verdict,  # type: ignore[arg-type]
        reason=found.reason,
        rank=found.rank,
        of=found.of,
        score=found.score,
        boost=UNSET if found.boost is None else found.boost,
        needed=UNSET if found.needed is None else found.needed,
        rules=list(found.rules) or UNSET,
        full=dict(found.full) or UNSET,
        popularity=found.popularity,
        support=found.support,
        lifts=[Lift(**vars(lift), title=titles.get(lift.item, UNSET)) for lift in found.lifts],
        contributions=[
            Contribution(
                item=row["item"],
                contribution=row["contribution"],
                parts={name: row[name] for name in found.explanation.parts},  # type: ignore[union-attr]
                title=titles.get(row["item"], UNSET),
            )
            for row in contributions
        ],
        source=found.source,  # type: ignore[arg-type]
        title=titles.get(item, UNSET),
        unknown=list(found.unknown) or UNSET,
    )
