"""Lists by rules, the slowest and plainest way: what the fast way is compared with."""

import numpy as np


def boosted(score, factor):
    return score * factor if score >= 0 else score / factor


def ranking(scores, banned, allowed=None):
    """Items that may be listed, best first, equal ones in their order."""
    may = [i for i in range(len(scores)) if i not in banned and (allowed is None or i in allowed)]
    return sorted(may, key=lambda i: (-scores[i], i))


def one_list(order, scores, k, *, diversity=0.0, pool=0, close=None, categories=None, caps=None):
    """One list: greedily from the pool, then in order; `categories[i]` are those of item i."""
    chosen, counts = [], {}

    def fits(item):
        return categories is None or all(counts.get(c, 0) < caps[c] for c in categories[item])

    def take(item):
        chosen.append(item)
        for c in categories[item] if categories is not None else ():
            counts[c] = counts.get(c, 0) + 1

    near = order[:pool] if diversity > 0 else []
    if near:
        low, high = scores[near[-1]], scores[near[0]]
        relevance = {i: (scores[i] - low) / (high - low) if high > low else 0.0 for i in near}
        pairs = [abs(close[a, b]) for at, a in enumerate(near[:k]) for b in near[:k][:at]]
        scale = max(pairs, default=0.0) or 1.0
    while near and len(chosen) < k:
        may = [i for i in near if i not in chosen and fits(i)]
        if not may:
            break

        def worth(i):
            if not chosen:
                return relevance[i]
            return (1 - diversity) * relevance[i] - diversity * max(close[i, j] / scale for j in chosen)

        take(max(may, key=lambda i: (worth(i), -order.index(i))))
    for item in order[len(near) :]:
        if len(chosen) < k and fits(item):
            take(item)
    return chosen


def all_lists(scores, banned, k, *, quota=None, names=None, allowed=None, **how):
    """All lists; with a quota in rounds, where each item in too many lists stays in those that would lose most."""
    scores = np.asarray(scores, dtype=np.float64)
    plain = [ranking(row, out, allowed)[: k + 1] for row, out in zip(scores, banned, strict=True)]

    def gain(row, item):
        best = [scores[row][i] for i in plain[row]]
        following = best[k] if len(best) > k else min([0.0, *best])
        return (scores[row][item] - following) / (sum(map(abs, best[:k])) or 1.0)

    def made(row, out):
        return one_list(ranking(scores[row], banned[row] | out, allowed), scores[row], k, **how)

    lists, full = [made(row, set()) for row in range(len(scores))], set()
    while quota is not None:
        holders = {item: [row for row, items in enumerate(lists) if item in items] for items in lists for item in items}
        over = {item: rows for item, rows in holders.items() if len(rows) > quota}
        if not over:
            break
        full |= set(over)
        losers = set()
        for item, rows in over.items():
            for row in sorted(rows, key=lambda row: (-gain(row, item), names[row]))[quota:]:
                lists[row].remove(item)
                losers.add(row)
        for row in losers:
            lists[row] = made(row, full - set(lists[row]))
    return lists
