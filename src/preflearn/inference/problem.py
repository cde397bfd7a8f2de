"""The sum of terms: what rows see of all latents, and in which form these are eliminated.

    x = [A_1 A_2 ...] f + [C_1 C_2 ...] h,    f with covariance blockdiag(K_1, K_2, ...), h of groups.

The form is chosen here and nowhere else, from the shape of what terms say that rows see:

    no groups           all latents are factored together (`dense`); where these are independent, with one variance for
                        each term, they have forms of their own (`independent`)
    one family          its groups are eliminated one by one, and all shared latents are what is left (`groups`)
    several families    the largest is eliminated so; the latents of the others join the shared ones if they are few,
                        and else those of the second are solved for by conjugate gradients (`crossed`). A third family
                        always joins the shared latents, whose covariance is held
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.inference.contract import Query, System
from preflearn.inference.crossed import CrossedSystem
from preflearn.inference.dense import DenseSystem, Design, Factor
from preflearn.inference.group_design import GroupDesign, Stack
from preflearn.inference.groups import GroupSystem
from preflearn.inference.independent import DENSE, N_DRAWS, IndependentSystem, PairDesign
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Asked, Given, Items, Multiple, Own, Parameters, Rows, Seen, Term

__all__ = ["Layout", "Problem"]

ROUGH_DRAWS = 16  # of a search: gradients are sums over all latents, so that few draws will do
MOST_SHARED = 3_000  # latents of further families that join the shared ones

Blocks = list[tuple[IntArray, FloatArray]]
Pull = Callable[[Any], FloatArray]


@dataclass(frozen=True)
class Family:
    """Groups of one kind (judges, clusters, pairs), and the terms that have latents in them."""

    terms: tuple[int, ...]
    offsets: tuple[int, ...]  # where the kinds of each term start, and the last one ends
    what: Any  # (cells, c)
    group: IntArray

    @classmethod
    def of(cls, parts: list[tuple[int, Seen]]) -> Family:
        """Return the family of terms that see the same groups."""
        counts = [seen.own.shape[1] for _, seen in parts]
        offsets = (0, *np.cumsum(counts).tolist())
        what = sp.csr_array(sp.hstack([seen.own for _, seen in parts]))
        group = parts[0][1].group
        assert group is not None
        return cls(tuple(t for t, _ in parts), offsets, what, group)

    @property
    def counts(self) -> list[int]:
        """Number of kinds of each term."""
        return np.diff(self.offsets).tolist()

    def covariances(self, given: Sequence[Given], stack: Stack) -> FloatArray:
        """Return the covariances (sets, k, k) of the distinct sets of kinds of a stack."""
        sets = stack.sets[0]
        K = np.zeros((*sets.shape, sets.shape[1]))
        for t, offset, a, b in zip(self.terms, self.offsets[:-1], stack.parts[:-1], stack.parts[1:], strict=True):
            block = given[t].block
            if b > a and block is not None:
                K[:, a:b, a:b] = block(sets[:, a:b] - offset)
        return K

    def of_terms(self, own: list[tuple[Stack, FloatArray]]) -> dict[int, Blocks]:
        """Return the derivatives by the blocks of every term, with the kinds they belong to."""
        found: dict[int, Blocks] = {t: [] for t in self.terms}
        for stack, S in own:
            for t, offset, a, b in zip(self.terms, self.offsets[:-1], stack.parts[:-1], stack.parts[1:], strict=True):
                if b > a:
                    found[t].append((stack.what[:, a:b] - offset, S[:, a:b, a:b]))
        return found

    def cross(self, design: GroupDesign, t: int, asked: Any, n_rows: int) -> Any:
        """Return covariances (p, N) of asked rows with the latents of groups, for what one term says."""
        entries = design.rows_of(asked.group, asked.cross, self.offsets[self.terms.index(t)])
        if asked.row.shape[0] == n_rows and np.array_equal(asked.row, np.arange(n_rows)):
            return entries
        ones = np.ones(asked.row.shape[0])
        gather = sp.csr_array((ones, (asked.row, np.arange(asked.row.shape[0]))), shape=(n_rows, asked.row.shape[0]))
        return gather @ entries


class Layout:
    """What the rows of training see of all terms, and the elimination that suits it; see the module.

    ``dense`` is the number of independent latents up to which they are factored together.
    """

    def __init__(self, seen: Sequence[Seen], n_cells: int, dense: float = DENSE) -> None:
        self.n_cells, self.n_draws = n_cells, N_DRAWS
        by_name: dict[str, list[tuple[int, Seen]]] = {}
        for t, one in enumerate(seen):
            if one.own is not None:
                by_name.setdefault(one.family, []).append((t, one))
        self.families = frozenset(one.family for one in seen if one.family)  # names of all groups that terms know
        families = [Family.of(parts) for parts in by_name.values()]
        size = [_n_own(one) for one in families]
        order = np.argsort(size, kind="stable")[::-1]
        self.main = families[order[0]] if families else None
        self.joined = [families[k] for k in order[1:]]
        self.inner: Family | None = None
        if self.joined and size[order[1]] > MOST_SHARED:
            # of two that cross, the one with the smaller groups is eliminated within the other
            two = sorted((families[order[0]], self.joined.pop(0)), key=lambda one: int(np.bincount(one.group).max()))
            self.inner, self.main = two
            nothing = sp.csr_array((n_cells, 0)), np.zeros((n_cells, 0))
            self.inner_design = GroupDesign(*nothing, self.inner.what, self.inner.group, self.inner.counts)
        self._columns(seen)
        shared = [one for one in seen if one.shared is not None]
        # utilities that can be asked about themselves, and of these so many that no array of their size is held
        self.direct = self.main is None and all(one.alike for one in shared) and self.local.shape[1] > 0
        self.n_many = self.local.shape[1]
        self.sparse = self.direct and self.n_many > dense

    def _columns(self, seen: Sequence[Seen]) -> None:
        """Put the shared latents in order: those that few rows see each, then those that all rows see."""
        sparse: list[tuple[int, Any]] = []
        dense: list[tuple[int, Any]] = []
        for t, one in enumerate(seen):
            if one.shared is None:
                continue
            (dense if isinstance(one.shared, np.ndarray) else sparse).append((t, one.shared))
        self.joined_designs = [
            GroupDesign(sp.csr_array((self.n_cells, 0)), np.zeros((self.n_cells, 0)), one.what, one.group, one.counts)
            for one in self.joined
        ]
        locals_: list[Any] = [sp.csr_array((self.n_cells, 0)), *(sp.csr_array(A) for _, A in sparse)]
        locals_ += [one.own for one in self.joined_designs]
        self.local = sp.csr_array(sp.hstack(locals_))
        self.dense = np.hstack([np.zeros((self.n_cells, 0)), *(D for _, D in dense)])
        self.slices: dict[int, slice] = {}
        start = 0
        for t, A in sparse:
            self.slices[t] = slice(start, start + A.shape[1])
            start += A.shape[1]
        self.joined_slices = []
        for design in self.joined_designs:
            self.joined_slices.append(slice(start, start + design.n_own))
            start += design.n_own
        for t, D in dense:
            self.slices[t] = slice(start, start + D.shape[1])
            start += D.shape[1]
        self.n_shared = start

    @cached_property
    def design(self) -> Any:
        """The prepared design of the elimination."""
        if self.main is not None:
            return GroupDesign(self.local, self.dense, self.main.what, self.main.group, self.main.counts)
        return PairDesign(self.local, self.dense) if self.direct else Design(self.local, self.dense)

    def rough(self) -> Layout:
        """Return the same with fewer draws, where variances are estimated from such."""
        found = copy.copy(self)
        found.n_draws = ROUGH_DRAWS
        return found

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.n_shared

    def _direct_system(self, given: Sequence[Given]) -> System:
        variance = np.empty(self.n_shared)
        for t, place in self.slices.items():
            K = given[t].K
            assert isinstance(K, Multiple)
            variance[place] = K.variance
        n = self.n_many
        return IndependentSystem(self.design, float(variance[0]), variance[n:], not self.sparse, self.n_draws)

    def system(self, given: Sequence[Given]) -> tuple[System, Pull]:
        """Return the system of priors of the terms, and from its sensitivity to derivatives by their parameters."""
        if self.direct:
            return self._direct_system(given), lambda diagonal: self._pull_traces(given, diagonal)
        given = [one.in_full() for one in given]
        K = self._covariance(given)
        if self.main is None:
            return DenseSystem(self.design, Factor.build(K)), lambda M: self._pull(given, M, {})
        main, design = self.main, self.design
        system = GroupSystem(design, K, [main.covariances(given, stack) for stack in design.stacks])
        if self.inner is None:
            return system, lambda found: self._pull(given, found[0], main.of_terms(found[1]))
        inner, nothing = self.inner, np.zeros((0, 0))
        blocks = [inner.covariances(given, stack) for stack in self.inner_design.stacks]
        crossed = CrossedSystem(system, GroupSystem(self.inner_design, nothing, blocks))
        return crossed, lambda found: self._pull(given, found[0], main.of_terms(found[1]) | inner.of_terms(found[2]))

    def _covariance(self, given: Sequence[Given]) -> FloatArray:
        if not self.joined and len(self.slices) == 1:
            (only,) = self.slices
            K: Any = given[only].K
            return np.asarray(K)
        total = np.zeros((self.n_shared, self.n_shared))
        for t, place in self.slices.items():
            total[place, place] = given[t].K
        for family, design, place in zip(self.joined, self.joined_designs, self.joined_slices, strict=True):
            for stack in design.stacks:
                K = family.covariances(given, stack)[stack.sets[1]]
                rows = place.start + stack.places
                total[rows[:, :, None], rows[:, None, :]] = K
        return total

    def _pull_traces(self, given: Sequence[Given], diagonal: FloatArray) -> FloatArray:
        slopes = [one.pull(float(diagonal[self.slices[t]].sum()), []) for t, one in enumerate(given)]
        return np.concatenate([np.zeros(0), *slopes])

    def _pull(self, given: Sequence[Given], M: FloatArray, own: dict[int, Blocks]) -> FloatArray:
        for family, design, place in zip(self.joined, self.joined_designs, self.joined_slices, strict=True):
            stacks = []
            for stack in design.stacks:
                rows = place.start + stack.places
                stacks.append((stack, M[rows[:, :, None], rows[:, None, :]]))
            own = own | family.of_terms(stacks)
        slopes = []
        for t, one in enumerate(given):
            here = self.slices.get(t)
            part = None if here is None else M if here == slice(0, M.shape[0]) else np.ascontiguousarray(M[here, here])
            slopes.append(one.pull(part, own.get(t, [])))
        return np.concatenate([np.zeros(0), *slopes])

    def query(self, terms: Sequence[Term], rows: Rows, *, joint: bool = False, total: int = 0) -> Query:
        """Return what rows have to do with the latents; ``joint`` asks for the covariance of their values."""
        asked = [term.ask(rows) for term in terms]
        if self.direct:
            return self._direct_query(asked, len(rows), total)
        prior = np.asarray(sum(t.covariance(rows) for t in terms) if joint else sum(a.variance for a in asked))
        shared = {t: one.shared.covariances() for t, one in enumerate(asked) if one.shared is not None}
        joins = any(
            one.own is not None and any(t in family.terms for family in self.joined) for t, one in enumerate(asked)
        )
        operator: Any = None
        if len(shared) == 1 and not joins:  # of few rows, which are combined in the end
            ((t, (few, operator)),) = shared.items()
            Q = _padded(few, self.slices[t], self.n_shared)
        else:
            Q = np.zeros((len(rows), self.n_shared))
            for t, found in shared.items():
                Q[:, self.slices[t]] = found.whole
        own: Any = None
        for t, one in enumerate(asked):
            if one.own is None:
                continue
            part, place = self.of_groups(t, one.own, len(rows))
            if place is None:
                own = part if own is None else own + part
            else:
                Q[:, place] += part.toarray()
        return Query(Q, prior, own, operator, total)

    def _direct_query(self, asked: Sequence[Asked], p: int, total: int) -> Query:
        parts: list[Any] = []
        rest = [sp.csr_array((p, 0))]
        for t, place in sorted(self.slices.items(), key=lambda item: item[1].start):
            shared: Any = asked[t].shared
            parts.append(sp.csr_array((p, place.stop - place.start)) if shared is None else shared.rows)
            if shared is not None and shared.rest.nnz:
                rest.append(np.sqrt(shared.variance) * shared.rest)
        E = parts[0] if len(parts) == 1 else sp.csr_array(sp.hstack(parts, format="csr"))
        beside = sp.csr_array(sp.hstack(rest, format="csr"))
        prior = np.asarray(beside.multiply(beside).sum(axis=1), dtype=np.float64).ravel()
        return Query(E, prior, total=total, rest=beside)

    def of_groups(self, t: int, own: Own, n_rows: int) -> tuple[Any, slice | None]:
        """Return covariances (p, N) of asked rows with a term's latents of groups, and the places of these.

        Places are among the shared latents; None: the groups are eliminated, those of the main family come first and
        then those of the inner one.
        """
        if self.main is not None and t in self.main.terms:
            part = self.main.cross(self.design, t, own, n_rows)
            if self.inner is not None:
                part = sp.csr_array(sp.hstack([part, sp.csr_array((n_rows, self.inner_design.n_own))]))
            return part, None
        if self.inner is not None and t in self.inner.terms:
            part = self.inner.cross(self.inner_design, t, own, n_rows)
            return sp.csr_array(sp.hstack([sp.csr_array((n_rows, self.design.n_own)), part])), None
        found = zip(self.joined, self.joined_designs, self.joined_slices, strict=True)
        family, design, place = next(one for one in found if t in one[0].terms)
        return family.cross(design, t, own, n_rows), place

    def places_of(self, t: int, own: Own, system: Any) -> IntArray:
        """Return where a term's latents of groups, which have nothing to do with others a priori, stand in u."""
        part, place = self.of_groups(t, own, len(own.row))
        latents = np.unique(part.indices)
        if place is not None:
            factor = system.factor
            order = np.arange(factor.rank) if factor.order is None else factor.order[: factor.rank]
            return np.flatnonzero(np.isin(order, place.start + latents))
        return np.asarray(system.size - part.shape[1] + latents)


def _n_own(family: Family) -> int:
    rows = np.repeat(np.arange(family.what.shape[0]), np.diff(family.what.indptr))
    return int(np.unique(family.group[rows] * family.what.shape[1] + family.what.indices).shape[0])


def _padded(M: FloatArray, place: slice, size: int) -> FloatArray:
    if M.shape[1] == size:
        return M
    wide = np.zeros((M.shape[0], size))
    wide[:, place] = M
    return wide


@dataclass(frozen=True)
class Problem:
    """Terms at some parameters, over the rows of training."""

    terms: tuple[Term, ...]
    layout: Layout

    @classmethod
    def of(cls, terms: Sequence[Term], rows: Rows, *, dense: float = DENSE) -> Problem:
        """Lay out terms over rows of training; for ``dense`` see `Layout`."""
        return cls(tuple(terms), Layout([term.seen(rows) for term in terms], len(rows), dense))

    @property
    def direct(self) -> bool:
        """Whether questions are about the latents themselves, and need no covariances with these."""
        return self.layout.direct

    def rough(self) -> Problem:
        """Return the same with rougher estimates, for a search."""
        return replace(self, layout=self.layout.rough())

    def widened(self, rows: Rows, scale: FloatArray, error: Term) -> Problem:
        """Return the sum of the terms times ``scale`` of each row, and of one more that is not scaled."""
        by = sp.diags_array(scale)
        seen = []
        for one in (term.seen(rows) for term in self.terms):
            shared = one.shared if one.shared is None else by @ one.shared
            own = one.own if one.own is None else sp.csr_array(by @ one.own)
            seen.append(one._replace(shared=shared, own=own))
        return Problem((*self.terms, error), Layout([*seen, error.seen(rows)], len(rows)))

    @cached_property
    def parameters(self) -> Parameters:
        """Free parameters of the terms, one after the other."""
        return Parameters.joined(term.parameters for term in self.terms)

    def with_theta(self, theta: FloatArray) -> Problem:
        """Return the same problem at other parameters."""
        ends = np.cumsum([len(term.parameters) for term in self.terms])[:-1]
        parts = np.split(theta, ends)
        return Problem(tuple(t.clone_with_theta(part) for t, part in zip(self.terms, parts, strict=True)), self.layout)

    @property
    def n_cells(self) -> int:
        """Number of distinct rows of the design."""
        return self.layout.n_cells

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.layout.order

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        layout = self.layout
        own = 0 if layout.main is None else layout.design.n_own
        return layout.n_shared + own + (0 if layout.inner is None else layout.inner_design.n_own)

    @property
    def estimated(self) -> bool:
        """Whether the evidence and its gradient are estimated, so that a search goes by gradients alone."""
        return self.layout.inner is not None or self.layout.sparse

    @property
    def parts(self) -> dict[str, Any]:
        """What the terms are made of, by name."""
        return {name: part for term in self.terms for name, part in term.parts.items()}

    def system(self) -> tuple[System, Pull]:
        """Return the system of these terms, and from its sensitivity to derivatives by their parameters."""
        return self.layout.system([term.prior() for term in self.terms])

    def means(self, items: Items, g: FloatArray) -> FloatArray:
        """Return the posterior means (p, p) of preferences between all of some items, from shared latents alone."""
        a = np.concatenate([self.layout.local.T @ g, self.layout.dense.T @ g])
        places = self.layout.slices
        parts = [t.means(items, a[places[k]]) for k, t in enumerate(self.terms) if k in places]
        return np.asarray(sum(parts, np.zeros((len(items.number), len(items.number)))))

    def query(self, rows: Rows, *, joint: bool = False, total: int = 0) -> Query:
        """Return what rows have to do with the latents."""
        return self.layout.query(self.terms, rows, joint=joint, total=total)
