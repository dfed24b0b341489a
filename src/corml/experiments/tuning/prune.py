"""Whether a trial that learns in epochs is worth finishing: the median rule."""

from collections.abc import Mapping, Sequence

from corml.experiments.tuning.trial import COMPLETE, Trial

__all__ = ["should_stop"]

TRIALS, EPOCHS = 4, 5  # finished trials, and epochs of this one, before anything is judged


def should_stop(curve: Mapping[int, float], known: Sequence[Trial]) -> bool:
    """Whether its best score so far is below the median of the finished trials after as many epochs.

    Scores are NDCG@10 of the held-out pairs, by which models stop early, so higher is better whatever is tuned for.
    """
    finished = [trial for trial in known if trial.state == COMPLETE and trial.curve]
    epoch = max(curve)
    if len(finished) < TRIALS or epoch < EPOCHS:
        return False
    best = sorted(max(score for at, score in trial.curve.items() if at <= epoch) for trial in finished)
    return max(curve.values()) < best[len(best) // 2]
