"""The next point to try: Optuna's TPE, as a function of the seed, the number of the trial and the trials before it.

Nothing of the sampler outlives a call, so a search that was interrupted goes on as if it had not been.

A proposal changes about two settings of the best point so far, to what TPE says, or chance in the first trials. Good
defaults are hard to beat by changing all of a dozen settings at once: on the bundled sample CoRML did not gain in 50
trials with two seeds of four when half of its settings changed, and did with all four when two of thirteen did. A
point that was tried, or is being tried, is not proposed again.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corml._runtime.settings import Search
from corml.experiments.tuning.space import Space, size_of
from corml.experiments.tuning.trial import COMPLETE, PRUNED, Trial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

__all__ = ["distributions", "fits", "propose"]

STARTUP = 10  # trials before TPE has something to learn from
CHANGED = 2  # settings of the best point, about
ATTEMPTS = 50  # proposals that were tried already, before all settings are drawn at random
MANY = 10_000  # such draws, at most

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


def fits(point: Mapping[str, Any], among: "dict[str, BaseDistribution]") -> bool:
    """Whether a point that was read is one of the space."""
    try:
        return set(point) == set(among) and all(
            one._contains(one.to_internal_repr(point[name])) for name, one in among.items()
        )
    except (TypeError, ValueError):
        return False


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
    rng = np.random.default_rng((seed, len(trials)))
    finished = [trial for trial in trials if trial.state == COMPLETE and trial.point]
    best = dict(_best(finished, maximise).point) if finished else {}
    study = None
    if len(finished) >= STARTUP:
        study = _study(among, trials, seed=int(rng.integers(2**31)), maximise=maximise)
    for attempt in range(int(min(MANY, ATTEMPTS + 50 * size_of(space)))):
        if study is not None and attempt < ATTEMPTS:
            drawn = study.ask(among).params
        else:
            drawn = {name: _drawn(search, rng) for name, search in space.items()}
        kept = [name for name in best if rng.random() >= CHANGED / len(space)] if attempt < ATTEMPTS else []
        point = tidy({**drawn, **{name: best[name] for name in kept}})
        if is_new(point):
            return point
    return None


def _best(finished: Sequence[Trial], maximise: bool) -> Trial:
    return (max if maximise else min)(finished, key=lambda trial: trial.score or 0.0)


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
    """A study in memory with what is known; trials that run now or failed count as the worst, to stay away from."""
    import optuna
    from optuna.trial import TrialState, create_trial

    with warnings.catch_warnings():  # older versions of Optuna call `multivariate` experimental
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
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
