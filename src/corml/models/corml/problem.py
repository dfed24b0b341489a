"""The graph filter G, and problem H: which symmetric, non-negative, hollow H fits the interactions beyond G.

    minimise  ½⟨H, M H⟩ − ⟨B, H⟩     subject to   H = Hᵀ,  H ≥ 0,  diag(H) = 0            eq. (28) ÷ 2λ²

    P  = Ω^{½} R D^{-t}               A = Pᵀ Φ P                                        Pᵀ: eq. (9)
    M  = εA + l2·D + ridge·I          G' = D^{t−s} G D^{s−t}
    B  = (1/2λ) PᵀP − ε(1/λ − 1) A G'

    Φ = diag((d_u / max d_u)^{-t_u})           the ranking weight of each user              eq. (24) ÷ ε
    Ω = diag((d_u / mean d_u)^{-balance})      how much each user's loss counts; ours, the paper has I

With Ω = I, ridge = 0 and s = ½ it is the paper's eq. (28), with the scores of eq. (26), divided by 2λ²; l2 is θ/2λ².
The dense solver makes M and B explicitly (`dense.py`), the sparse one on co-occurring pairs only
(`sparse/solver.py`). Equation numbers are the paper's, here and in this folder.

G is made of the smoothest directions of the item graph:

    V  = top-k right singular vectors of D_U^{-a} R D^{-b}        (the paper: a = b = ½)          eq. (12)
    G  = (VVᵀ − diag(VVᵀ))₊        clipped element by element ("elementwise", the paper)    below eq. (26)
    G  =  VVᵀ − diag(VVᵀ)          not clipped ("factored": never more than n × k numbers)

A filter with a shape gives each direction a weight, f_i = (σ_i/σ_1)^p divided by their mean: V is then V diag(f)^½, and
nothing else changes. The paper's filter passes its k directions alike (p = 0).

"authors" keeps the mixture of the authors' program: clipped element by element while H is learned, and the *sum*
over a history clipped when scores are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array

from corml.linalg.sparse import Array, Vector, normalised, power
from corml.linalg.svd import right_singular_vectors


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The numbers of problem H that are not data: the paper's λ, t, ε, t_u, θ, and our ridge, balance, s and ω."""

    mix: float
    item_norm: float
    scale: float
    user_norm: float
    l2: float
    ridge: float
    user_balance: float = 0.0
    filter_norm: float = 0.5
    filter_weight: float = 1.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Read from the resolved settings of a CoRML."""
        values = {spec.name: settings[spec.name] for spec in fields(cls)}
        return cls(**values)

    @property
    def filter_factor(self) -> float:
        """1/λ − 1: the weight of G relative to H while H is learned."""
        return 1 / self.mix - 1

    @property
    def score_factor(self) -> float:
        """ω(1/λ − 1): the weight of G relative to H in the scores."""
        return self.filter_weight * self.filter_factor

    @property
    def gram_factor(self) -> float:
        """1/2λ: the factor of PᵀP in B."""
        return 1 / (2 * self.mix)

    @property
    def cross_factor(self) -> float:
        """ε(1/λ − 1): the factor of A G' in B."""
        return self.scale * self.filter_factor

    def of_users(self, degrees: Vector) -> "UserWeights":
        """Ω and Φ for users with these degrees."""
        return UserWeights.of(degrees, user_balance=self.user_balance, user_norm=self.user_norm)

    def diagonal(self, d: Vector) -> Vector:
        """l2·d + ridge: what M adds to the diagonal of εA."""
        return np.asarray(self.l2 * d + self.ridge)


@dataclass(frozen=True)
class UserWeights:
    """Ω and Φ as one number for each user."""

    loss: Vector
    ranking: Vector

    @classmethod
    def of(cls, d_u: Vector, *, user_balance: float, user_norm: float = 0.0) -> Self:
        """Weights by the degrees of users."""
        loss = power(d_u / max(float(d_u.mean()), 1.0), -user_balance) if len(d_u) else d_u
        return cls(loss, power(d_u / d_u.max(initial=1.0), -user_norm))

    @property
    def both(self) -> Vector:
        """ΩΦ: the weight of each user in A."""
        return np.asarray(self.loss * self.ranking)

    @property
    def ranks_alike(self) -> bool:
        """Whether every user has ranking weight 1, so that A = PᵀP."""
        return bool((self.ranking == 1).all())


Norms = tuple[float, float]
Filter = Literal["elementwise", "factored", "authors"]  # how G is clipped


def singular_vectors(R: csr_array, rank: int, norms: Norms = (0.5, 0.5)) -> Array:
    """V of the degree-normalised interactions; `norms` are the exponents a of users and b of items."""
    N = normalised(R, *norms)
    V, _ = right_singular_vectors(N, rank)
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0  # they have no user: rounding may say otherwise
    return V


def shaped(V: Array, R: csr_array, norms: Norms, power: float) -> Array:
    """V diag(f)^½ for unit vectors V and f ∝ σ^power; the weights f have mean 1, as in the flat filter."""
    if power == 0 or V.shape[1] == 0:
        return V
    sigma = np.linalg.norm(normalised(R, *norms) @ V, axis=0)
    weights = (sigma / sigma[0]) ** power
    return np.asarray(V * np.sqrt(weights / weights.mean()), dtype=V.dtype)


def unshaped(V: Array) -> Array:
    """The unit vectors behind a V with a shape."""
    return np.asarray(V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(np.float32).tiny), dtype=V.dtype)


def filter_block(V: Array, rows: Array, columns: Array, *, clip: bool) -> Array:
    """G restricted to some rows and columns (sorted item numbers)."""
    G: Array = V[rows] @ V[columns].T
    _, row, column = np.intersect1d(rows, columns, assume_unique=True, return_indices=True)
    G[row, column] = 0
    return np.maximum(G, 0, out=G) if clip else G


# --- sparse approximation of H: the threshold γ of Section 5.1.3 in the paper ----------------------------------------


def to_budget(H: csr_array, size: int, users: int, degrees: Vector | None = None) -> csr_array:
    """Keep the pairs of H that matter most such that it is stored in at most size·(users + items) numbers.

    A weight counts in the scores of every user of one of its items, so the same weight matters more between popular
    items: with `degrees` weights are compared times (d_i d_j)^¼.
    """
    max_entries = max(0, (size * (users + H.shape[0]) - H.shape[0] - 1) // 2 * 2)
    if H.nnz <= max_entries:
        return H
    kept = np.zeros(H.nnz, dtype=bool)
    if max_entries:
        importance = H.data if degrees is None else H.data * _popularity(H, power(degrees, 0.25))
        threshold = np.partition(importance, H.nnz - max_entries)[H.nnz - max_entries]
        kept = importance > threshold  # equal entries go together, or symmetry would break
        if int((importance >= threshold).sum()) <= max_entries:
            kept = importance >= threshold
    return _only(H, kept)


def _popularity(H: csr_array, of: Vector) -> Vector:
    """Product over both items of each entry: the same both ways, to the last bit."""
    both: Vector = np.repeat(of, np.diff(H.indptr)) * of[H.indices]
    return both


def _only(H: csr_array, kept: np.ndarray) -> csr_array:
    pruned = H.copy()
    pruned.data[~kept] = 0
    pruned.eliminate_zeros()
    return pruned
