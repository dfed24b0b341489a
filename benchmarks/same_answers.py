"""Compare two versions of the code: lists, scores, reasons and figures, time and memory.

    python benchmarks/same_answers.py BEFORE/src NOW/src [DATA,…] [MODEL,…] [ROUNDS]

Each fit runs in a process of its own, first one version and then the other, so that both see the same machine. Lists
must be equal and scores agree to 1e-6 of the largest. Writes same_answers.json into the current folder.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LINEAR = ("corml", "corml-dial", "ease", "slim", "admm-slim", "gf-cf", "item-knn", "popularity")
NEURAL = ("bpr-mf", "cml", "l-cml", "dpcml", "lightgcn", "simgcl", "ultragcn", "recvae")
SMALL, LARGE = ("movielens-small", "movietweetings"), ("pinterest", "gowalla")
ASKED, K, ROUNDS = 500, 20, 7
BRIEF = {"epochs": 3, "seed": 1}


def split_of(name):
    """The split that is measured, by calls that both versions have."""
    import corml

    if name == "movietweetings":
        path = Path(os.environ["CORML_DATA"], "movietweetings", "ratings.dat.gz")
        data = corml.load(path, separator="::", header=False, user=0, item=1, rating=2, time=3, k_core=5)
    else:
        loading = {"at_least": 4, "k_core": 5} if name == "movielens-small" else {}
        data = corml.load(name, **loading)
    return corml.split(data, "ratio", seed=2026)


def one(data, name, out):
    """Fit one model and keep what it answers."""
    import corml

    warm = corml.Interactions.from_pairs(list("aabbc"), list("xyxzz"))
    brief = BRIEF if name in NEURAL else {}
    for settings in ({}, {"candidates": 1}) if name == "corml" else ({},):
        corml.models.make(name, {**brief, **settings}).fit(warm).recommend(["a"], k=1)
    split = split_of(data)
    model = corml.models.make(name, brief)
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    model.fit(split.train)
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    users = sorted(map(str, model.users_))[:: max(1, len(model.users_) // ASKED)][:ASKED]
    begun = time.process_time()
    lists = model.recommend(users, k=K)
    asking = time.process_time() - begun
    rules = model.recommend(users[:50], k=K, max_share=0.9, diversity=0.3) if name in LINEAR else lists
    kept = {"items": lists.items.astype(str), "scores": lists.scores, "re-ranked": rules.items.astype(str)}
    if name in ("corml", "ease", "slim", "item-knn"):
        why = [model.explain(user, items[0]).score for user, items in zip(users[:20], lists.items, strict=False)]
        kept["reasons"] = np.array(why)
    result = corml.evaluate(model, split, ["ndcg@10", "mrr@10", "recall@20", "novelty@10", "coverage@10"])
    kept["figures"] = np.array([result[metric] for metric in sorted(result)])
    np.savez(out, **kept)
    facts = {"fit": seconds, "lists": asking, "peak": peak, "loaded": before}
    print(json.dumps(facts))


def run(source, data, name, out):
    """One version in a process of its own, by one thread."""
    limits = {"CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": str(source), **limits}
    command = [sys.executable, __file__, "--one", data, name, str(out)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def differences(before, now):
    """What is not the same, in words; nothing if all is."""
    found = []
    for name in sorted(before.files):
        one, other = before[name], now[name]
        if one.dtype.kind in "US":
            found += [f"{name}: {int((one != other).sum())} of {one.size} places"] if (one != other).any() else []
        else:
            gap = float(np.nanmax(np.abs(one - other), initial=0) / max(np.nanmax(np.abs(one), initial=0), 1e-30))
            found += [f"{name}: {gap:.1e}"] if gap > 1e-6 else []
    return found


def compare(sources, data, name, rounds):
    """Both versions on one data set: what differs, and ratios of time and memory (medians)."""
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder, f"{number}.npz") for number in (0, 1)]
        facts = [[run(source, data, name, out)] for source, out in zip(sources, outs, strict=True)]
        differs = differences(*(np.load(out) for out in outs))
        for _ in range(rounds - 1):
            for known, source, out in zip(facts, sources, outs, strict=True):
                known.append(run(source, data, name, out))
    middle = [{key: statistics.median(one[key] for one in known) for key in known[0]} for known in facts]
    ratios = {key: round(middle[1][key] / max(middle[0][key], 1e-9), 3) for key in ("fit", "lists", "peak")}
    return {"differs": differs, "now over before": ratios, "before": middle[0], "now": middle[1]}


def main(before, now, data="", names="", rounds="1"):
    """All models on all data sets that are asked for."""
    found = {}
    for one_set in filter(None, data.split(",")) if data else (*SMALL, *LARGE):
        for name in filter(None, names.split(",")) if names else (*LINEAR, *(NEURAL if one_set in SMALL else ())):
            if (one_set, name) == ("gowalla", "admm-slim"):
                continue
            found[f"{one_set} {name}"] = row = compare((before, now), one_set, name, int(rounds))
            print(f"{one_set:>16} {name:<12} {row['now over before']}  {row['differs'] or 'same'}", flush=True)
            Path("same_answers.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
