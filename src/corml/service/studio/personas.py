"""People to begin as: histories from regions of the map, so that each shows another side of the model.

They are made of the map, not taken from the data: no real person's history is shown to anybody.
"""

import numpy as np
from numpy.typing import NDArray

from corml.service.handlers import item_of
from corml.service.served import Shelf
from corml.service.studio import schema
from corml.service.studio.atlas import Chart, atlas

__all__ = ["histories_of", "personas_of"]

PEOPLE = 6
LIKED = 4  # items of each
FAMOUS = 300  # items among which to look: somebody who plays knows them
ROUNDS = 25


def personas_of(shelf: Shelf, request: schema.OfModel) -> schema.Personas:
    """Six histories from different regions of the map; they are nobody's."""
    served = shelf[request.model]
    state, chart = atlas.state(served)
    histories = [] if chart is None else histories_of(chart)
    return schema.Personas(
        model=served.name,
        model_version=served.version,
        state=state,
        personas=[schema.Persona(items=[item_of(served, row) for row in history]) for history in histories],
    )


def histories_of(chart: Chart) -> list[list[int]]:
    """Item numbers of each persona."""
    famous = min(FAMOUS, len(chart.rows))
    region = _regions(chart.points[:famous].astype(np.float64), PEOPLE)
    histories = [_history(chart, region, number) for number in range(PEOPLE)]
    return [[int(chart.rows[position]) for position in one] for one in histories if one]


def _history(chart: Chart, region: NDArray[np.int64], number: int) -> list[int]:
    """The item of a region that is best known near its middle, and its nearest ones there, by position."""
    members = np.flatnonzero(region == number)
    if not len(members):
        return []
    away = np.square(chart.points[members] - np.median(chart.points[members], axis=0)).sum(axis=1)
    middle = members[away <= np.quantile(away, 0.5)]
    first = int(middle.min())  # positions are in the order of how well known they are
    inside = set(members.tolist())
    near = [int(item) for item in chart.nearest[first] if int(item) in inside]
    by_place = members[np.argsort(np.square(chart.points[members] - chart.points[first]).sum(axis=1), kind="stable")]
    return list(dict.fromkeys([first, *near, *by_place.tolist()]))[:LIKED]


def _regions(points: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Lloyd's k-means, begun with points that are far from each other; the same map gives the same regions."""
    chosen = [0]
    for _ in range(1, min(count, len(points))):
        away = np.min([np.square(points - points[one]).sum(axis=1) for one in chosen], axis=0)
        chosen.append(int(away.argmax()))
    centres = points[chosen]
    region = np.zeros(len(points), dtype=np.int64)
    for _ in range(ROUNDS):
        region = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
        centres = np.array(
            [points[region == at].mean(axis=0) if (region == at).any() else centres[at] for at in range(len(centres))]
        )
    return region
