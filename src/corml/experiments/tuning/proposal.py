"""The next point to try: Optuna's TPE, as a function of the seed, the number of the trial and the trials before it.

Nothing of the sampler outlives a call, so a search that was interrupted resumes as if it had not been.

A proposal changes about two hyperparameters of the best point so far, to what TPE proposes, or at random in the first
trials. Good defaults are hard to beat by changing a dozen at once: on the bundled sample CoRML did not gain in 50
trials with two seeds of four when half of its hyperparameters changed, and did with all four when two of thirteen did.
A point that was tried, or is being tried, is not proposed again.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from corml._runtime.settings import Search, declared
from corml.experiments.tuning.space import Space, rounded, size_of
from corml.experiments.tuning.tuned import COMPLETE, PRUNED, Trial, best_of

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

STARTUP = 10  # trials before TPE has something to learn from
CHANGED = 2  # hyperparameters of the best point, about
ATTEMPTS = 50  # proposals that were tried already, before all hyperparameters are drawn at random
MANY = 10_000  # such draws, at most

Point: TypeAlias = dict[str, object]


def propose(
    model: type,
    space: Space,
    trials: Sequence[Trial],
    *,
    seed: int,
    maximise: bool,
    is_new: Callable[[Point], bool],
) -> Point | None:
    """A new point, with few digits; None where there is none left."""
    rng = np.random.default_rng((seed, len(trials)))
    finished = [trial for trial in trials if trial.state == COMPLETE and trial.point]
    best: Mapping[str, object] = best_of(finished, maximise).point if finished else {}
    among = {name: _distribution(search, declared(model)[name].rule.whole) for name, search in space.items()}
    study = None
    if len(finished) >= STARTUP:
        study = _study(among, trials, seed=int(rng.integers(2**31)), maximise=maximise)
    for attempt in range(int(min(MANY, ATTEMPTS + 50 * size_of(space)))):
        if study is not None and attempt < ATTEMPTS:
            drawn = study.ask(among).params
        else:
            drawn = {name: _drawn(search, rng) for name, search in space.items()}
        kept = [name for name in best if rng.random() >= CHANGED / len(space)] if attempt < ATTEMPTS else []
        point = rounded(model, space, {**drawn, **{name: best[name] for name in kept}})
        if is_new(point):
            return point
    return None


def _distribution(search: Search, whole: bool) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if search.kind == "choice":
        return CategoricalDistribution(search.values)
    low, high = search.values
    log = search.kind == "log"
    return IntDistribution(int(low), int(high), log=log) if whole else FloatDistribution(low, high, log=log)


def _drawn(search: Search, rng: np.random.Generator) -> object:
    if search.kind == "choice":
        return search.values[int(rng.integers(len(search.values)))]
    low, high = search.values
    if search.kind == "log":
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(rng.uniform(low, high))


def _study(
    among: "dict[str, BaseDistribution]", trials: Sequence[Trial], *, seed: int, maximise: bool
) -> "optuna.Study":
    """A study in memory with these trials; those that run now or failed count as the worst, to stay away from."""
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
            pruned = trial.state == PRUNED
            scored = (pruned or trial.state == COMPLETE) and trial.score is not None
            study.add_trial(
                create_trial(
                    state=TrialState.PRUNED if pruned else TrialState.COMPLETE,
                    value=trial.score if scored else worst,
                    params=dict(trial.point),
                    distributions=among,
                    intermediate_values=dict(trial.curve) if pruned else {},
                )
            )
    return study
