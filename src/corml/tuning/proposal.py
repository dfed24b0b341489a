"""The next point to try: Optuna's TPE, as a function of the seed, the number of the trial and the trials before it.

Nothing of the sampler outlives a call, so a search that was interrupted goes on as if it had not been. The first
points are drawn around the defaults: of such a point about half of the settings have the default's value. A point that
was tried, or is being tried, is not proposed again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corml.settings import Search
from corml.tuning.space import Space, size_of
from corml.tuning.trial import COMPLETE, PRUNED, Trial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

__all__ = ["distributions", "propose"]

STARTUP = 10  # trials before TPE has something to learn from
KEEP = 0.5  # chance of a setting to stay at its default, in those
ATTEMPTS = 50  # proposals that were tried already, before a point is drawn at random
MANY = 10_000  # such draws

Point = dict[str, Any]


def distributions(space: Space, whole: Callable[[str], bool]) -> "dict[str, BaseDistribution]":
    """The space in Optuna's words."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def one(name: str, search: Search) -> "BaseDistribution":
        if search.kind == "choice":
            return CategoricalDistribution(search.values)
        low, high = search.values
        log = search.kind == "log"
        return IntDistribution(int(low), int(high), log=log) if whole(name) else FloatDistribution(low, high, log=log)

    return {name: one(name, search) for name, search in space.items()}


def propose(
    space: Space,
    among: "dict[str, BaseDistribution]",
    trials: Sequence[Trial],
    *,
    seed: int,
    maximise: bool,
    is_new: Callable[[Point], bool],
    tidy: Callable[[Mapping[str, Any]], Point],
) -> Point | None:
    """A point that is new, after `tidy`; None where there is none left."""
    number = len(trials)
    rng = np.random.default_rng((seed, number))
    finished = [trial for trial in trials if trial.state in (COMPLETE, PRUNED) and trial.point]
    if len(finished) >= STARTUP:
        study = _study(among, trials, seed=int(rng.integers(2**31)), maximise=maximise)
        for _ in range(ATTEMPTS):
            point = tidy(study.ask(among).params)
            if is_new(point):
                return point
    home = trials[0].point if trials else {}
    for attempt in range(MANY):
        keep = KEEP if home and attempt < ATTEMPTS else 0.0
        point = tidy({n: home[n] if rng.random() < keep else _drawn(s, rng) for n, s in space.items()})
        if is_new(point):
            return point
        if attempt > 50 * size_of(space):
            return None
    return None


def _drawn(search: Search, rng: np.random.Generator) -> Any:
    if search.kind == "choice":
        return search.values[int(rng.integers(len(search.values)))]
    low, high = search.values
    return (
        float(np.exp(rng.uniform(np.log(low), np.log(high)))) if search.kind == "log" else float(rng.uniform(low, high))
    )


def _study(
    among: "dict[str, BaseDistribution]", trials: Sequence[Trial], *, seed: int, maximise: bool
) -> "optuna.Study":
    """A study in memory with what is known; trials that run now or failed count as the worst, to keep away from them."""
    import optuna
    from optuna.trial import TrialState, create_trial

    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=0, multivariate=True)
    study = optuna.create_study(direction="maximize" if maximise else "minimize", sampler=sampler)
    scores = [trial.score for trial in trials if trial.score is not None]
    worst = min(scores) if maximise else max(scores)
    for trial in trials:
        if trial.point:
            pruned, known = trial.state == PRUNED, trial.state in (COMPLETE, PRUNED) and trial.score is not None
            study.add_trial(
                create_trial(
                    state=TrialState.PRUNED if pruned else TrialState.COMPLETE,
                    value=trial.score if known else worst,
                    params=dict(trial.point),
                    distributions=among,
                    intermediate_values=dict(trial.curve) if pruned else {},
                )
            )
    return study
