"""Requests and answers of the studio page."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from corml.service.schema import Answer, Item, Name, Request

Step = Literal["read", "examine", "fit", "test"]


class OfModel(Request, kw_only=True):
    """Of which model."""

    model: Name | UnsetType = UNSET


class HowKnown(Struct, kw_only=True):
    """How many items have how many users: a histogram whose bins grow by a constant factor."""

    edges: Annotated[list[float], Meta(description="user counts, one more than there are bins")]
    items: Annotated[list[int], Meta(description="items in each bin")]
    median: float


class MapAnswer(Answer, kw_only=True, omit_defaults=True):
    """The most popular items as columns, with their coordinates on the map once it is ready."""

    state: Annotated[
        Literal["ready", "making", "none"],
        Meta(description="making: ask again soon; none: this model has no lists for histories, so there is no map"),
    ]
    items: list[str]
    titles: Annotated[list[str], Meta(description="or ids, where there is no title")]
    people: list[int]
    x: Annotated[list[float], Meta(description="from -1 to 1; near is alike")] | UnsetType = UNSET
    y: list[float] | UnsetType = UNSET
    known: HowKnown


class Persona(Struct, kw_only=True):
    """A history to begin with: items that are near each other on the map. It is no real user."""

    items: list[Item]


class Personas(Answer, kw_only=True):
    """Up to six of them, from different regions of the map; none while it is being made."""

    state: Literal["ready", "making", "none"]
    personas: list[Persona]


class Finding(Struct, kw_only=True):
    """Something that looks wrong («warning») or is worth knowing («note»), and what to do about it."""

    severity: str
    what: str
    advice: str


class StudyRow(Struct, kw_only=True):
    """A model in a study; the difference is that to the reference, over the same users."""

    label: str
    kind: Annotated[str, Meta(description="which model it is; empty for lists of another program")]
    tuned: bool
    failed: bool
    mean: Annotated[float | None, Meta(description="of the primary metric; null if it failed")]
    interval: tuple[float, float] | None
    means: Annotated[dict[str, float], Meta(description="by metric")]
    difference: float | None
    difference_interval: tuple[float, float] | None
    p: Annotated[float | None, Meta(description="of a paired t-test, corrected by Holm's method")]
    chance: Annotated[bool | None, Meta(description="whether the difference could be chance: p is not below the level")]


class StudyTable(Struct, kw_only=True):
    """A study of `corml compare` that lies beside the model file, the best model first."""

    file: Annotated[str, Meta(description="its name, seen from the folder of the model file")]
    primary: Annotated[str, Meta(description="the metric that decides, named beforehand")]
    metrics: list[str]
    users: int
    splits: int
    confidence: Annotated[float, Meta(description="of the intervals")]
    level: Annotated[float, Meta(description="of the tests")]
    reference: Annotated[str | None, Meta(description="the row that differences are taken to")]
    best: str | None
    verdict: Annotated[str, Meta(description="who wins, and whether that could be chance")]
    rows: list[StudyRow]


class Evaluated(Struct, kw_only=True):
    """An evaluation of `corml evaluate --json` that lies beside the model file."""

    file: str
    evaluation: dict[str, Any]
    flatters: Annotated[bool, Meta(description="whether the model learned from the held-out items, too")]


class Data(Answer, kw_only=True):
    """What a model learned from."""

    facts: dict[str, Any]
    findings: list[Finding]
    known: HowKnown
    curve: Annotated[
        list[float],
        Meta(description="share of all interactions that the most popular 0, 1, … 100 % of the items have"),
    ]
    source: Annotated[dict[str, Any], Meta(description="where the data came from, as the model file has it")]
    evaluation: Annotated[dict[str, Any], Meta(description="quality that was measured, and how; in the model file")]
    evaluations: Annotated[list[Evaluated], Meta(description="those in files beside the model's")]
    studies: Annotated[list[StudyTable], Meta(description="those in files beside the model's")]
    ignored: Annotated[
        list[str], Meta(description="files beside the model's that are no such results, or of other data")
    ]


class Weighing(Struct, kw_only=True):
    """How strong events are: by their kind, and by their age."""

    weights: Annotated[dict[str, float], Meta(description="of each kind of event in the data")]
    negative: Annotated[list[str], Meta(description="kinds that say no: their weight pushes down")]
    half_life: Annotated[str | None, Meta(description="after this time an event counts half; null: age says nothing")]
    times: Annotated[bool, Meta(description="whether the times of events are known, so that a half-life can be given")]


class StartFit(Request, kw_only=True):
    """Fit another model on the data that are open, which are read again if their events get other weights."""

    kind: Annotated[str, Meta(max_length=64, description="which model: corml-dial, corml, ease, …")] = "corml-dial"
    settings: Annotated[dict[str, float | str | bool], Meta(max_length=40)] = field(default_factory=dict)
    weights: (
        Annotated[
            dict[str, Annotated[float, Meta(ge=0, le=1e9)]],
            Meta(max_length=1000, description="of every kind of event; as they were read if left out"),
        ]
        | UnsetType
    ) = UNSET
    half_life: (
        Annotated[str, Meta(max_length=40, description="such as 90d; null: age says nothing")] | UnsetType | None
    ) = UNSET


class Event(Struct, kw_only=True):
    """Where a job is."""

    state: Literal["working", "done", "failed"]
    step: Annotated[Step, Meta(description="which of the steps of a job")]
    text: Annotated[str, Meta(description="the part of the step, or what went wrong")] = ""
    done: int = 0
    total: int = 0
    seconds: Annotated[float, Meta(description="since the job began")] = 0.0


class JobInfo(Struct, kw_only=True, omit_defaults=True):
    """A fit that was asked for."""

    id: str
    model: str
    kind: str
    settings: Annotated[dict[str, Any], Meta(description="those that were given")]
    last: Event
    weighing: Annotated[Weighing, Meta(description="of the data, where they have event types")] | UnsetType = UNSET


class Jobs(Struct, kw_only=True):
    """Fits of this process, the latest last."""

    jobs: list[JobInfo]
    can_fit: Annotated[bool, Meta(description="whether there are data open to fit on, as in `corml studio FILE`")]
    notes: list[str]
