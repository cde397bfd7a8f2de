"""The sum of terms: what rows see of all latents, and in which form these are eliminated.

    x = [A_1 A_2 ...] f + [C_1 C_2 ...] h,    f with covariance blockdiag(K_1, K_2, ...), h of groups.

The form is chosen here and nowhere else, from the shape of what terms say that rows see:

    no groups           all latents are factored together (`dense`); where these are independent, with one variance for
                        each term, they have forms of their own (`independent`); where some are sums of functions,
                        the weights of these are what is factored (`weights`), after effects of the items if these
                        have any (`effects`)
    one family          its groups are eliminated one by one, and all shared latents, or the weights of functions that
                        they are sums of, are what is left (`block_arrow`)
    several families    the largest is eliminated so; the latents of the others join the shared ones if they are few,
                        and else those of the second are solved for by conjugate gradients (`crossed`). A third family
                        always joins the shared latents, whose covariance is held
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from preflearn.inference.block_arrow import GroupDesign, GroupSystem, Stack
from preflearn.inference.contract import Query, System
from preflearn.inference.crossed import CrossedSystem
from preflearn.inference.dense import DenseSystem, Design, Factor
from preflearn.inference.effects import EffectSystem
from preflearn.inference.independent import DENSE, N_DRAWS, IndependentSystem
from preflearn.inference.weights import WeightFactor, WeightSystem
from preflearn.linalg import square_norms
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import (
    Asked,
    Combined,
    Direct,
    Given,
    Items,
    Multiple,
    OfFunctions,
    Own,
    Parameters,
    Products,
    Rows,
    Seen,
    Slopes,
    Term,
)

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
        offsets = (0, *np.cumsum([seen.own.shape[1] for _, seen in parts]).tolist())
        what = sp.csr_array(sp.hstack([seen.own for _, seen in parts]))
        group = parts[0][1].group
        assert group is not None
        return cls(tuple(t for t, _ in parts), offsets, what, group)

    @cached_property
    def size(self) -> int:
        """Number of latents."""
        rows = np.repeat(np.arange(self.what.shape[0]), np.diff(self.what.indptr))
        return int(np.unique(self.group[rows] * self.what.shape[1] + self.what.indices).shape[0])

    def design(self, local: Any, dense: FloatArray) -> GroupDesign:
        """Return the design of the groups beside latents that rows share."""
        return GroupDesign(local, dense, self.what, self.group, np.diff(self.offsets))

    @cached_property
    def alone(self) -> GroupDesign:
        """The same without shared latents."""
        m = len(self.group)
        return self.design(sp.csr_array((m, 0)), np.zeros((m, 0)))

    def _parts(self, stack: Stack) -> Iterator[tuple[int, int, slice]]:
        """Yield each term with latents in a stack, where its kinds start, and their places in the stack."""
        for t, offset, (a, b) in zip(self.terms, self.offsets, pairwise(stack.parts), strict=False):
            if b > a:
                yield t, offset, slice(a, b)

    def covariances(self, given: Sequence[Given], stack: Stack) -> FloatArray:
        """Return the covariances (sets, k, k) of the distinct sets of kinds of a stack."""
        sets = stack.sets[0]
        K = np.zeros((*sets.shape, sets.shape[1]))
        for t, offset, part in self._parts(stack):
            block = given[t].block
            if block is not None:
                K[:, part, part] = block(sets[:, part] - offset)
        return K

    def of_terms(self, found: dict[int, Blocks], stack: Stack, S: FloatArray) -> None:
        """Add the derivatives by the blocks of every term in a stack, with the kinds they belong to."""
        for t, offset, part in self._parts(stack):
            found.setdefault(t, []).append((stack.what[:, part] - offset, S[:, part, part]))

    def cross(self, design: GroupDesign, t: int, asked: Own, n_rows: int) -> Any:
        """Return covariances (p, N) of asked rows with the latents of groups, for what one term says."""
        entries = design.rows_of(asked.group, asked.cross, self.offsets[self.terms.index(t)])
        place = (asked.row, np.arange(len(asked.row)))
        return sp.csr_array((np.ones(len(asked.row)), place), shape=(n_rows, len(asked.row))) @ entries


class Layout:
    """What the rows of training see of all terms, and the elimination that suits it; see the module.

    ``most_dense`` is the number of independent latents up to which they are factored together.
    """

    def __init__(self, seen: Sequence[Seen], n_cells: int, most_dense: float = DENSE) -> None:
        self.n_cells, self.n_draws = n_cells, N_DRAWS
        by_name: dict[str, list[tuple[int, Seen]]] = {}
        for t, one in enumerate(seen):
            if one.own is not None:
                by_name.setdefault(one.family, []).append((t, one))
        self.families = frozenset(one.family for one in seen if one.family)  # names of all groups that terms know
        families = sorted((Family.of(parts) for parts in by_name.values()), key=lambda one: one.size)[::-1]
        self.main = families[0] if families else None
        self.inner: Family | None = None
        joined = families[1:]
        if joined and joined[0].size > MOST_SHARED:
            # of two that cross, the one with the smaller groups is eliminated within the other
            self.inner, self.main = sorted(families[:2], key=lambda one: int(np.bincount(one.group).max()))
            joined = families[2:]
        # shared latents: those that few rows see each, also of joined families, then those that all rows see
        shared = {t: one.shared for t, one in enumerate(seen) if one.shared is not None}
        few = {t: A for t, A in shared.items() if not isinstance(A, np.ndarray)}
        every = {t: D for t, D in shared.items() if isinstance(D, np.ndarray)}
        own = [one.alone.own for one in joined]
        local = sp.csr_array(sp.hstack([sp.csr_array((n_cells, 0)), *few.values(), *own]))
        dense = np.hstack([np.zeros((n_cells, 0)), *every.values()])
        ends = np.cumsum([0, *(A.shape[1] for A in (*few.values(), *own, *every.values()))]).tolist()
        places = [slice(a, b) for a, b in pairwise(ends)]
        self.slices = dict(zip([*few, *every], places[: len(few)] + places[len(few) + len(own) :], strict=True))
        self.joined = list(zip(joined, places[len(few) :], strict=False))
        self.n_many, self.n_shared = int(local.shape[1]), int(ends[-1])
        # the prepared design of the elimination, and that of the shared latents alone
        self.design: Any = Design(local, dense) if self.main is None else self.main.design(local, dense)
        self.shared: Any = self.design if self.main is None else self.design.rows
        # sums of functions: places among the weights instead of the latents, where effects are not eliminated before
        self.sums = frozenset(t for t in shared if seen[t].functions)
        self.n_functions = sum(seen[t].functions for t in shared)
        self.beside_effects = next((t for t in few if seen[t].effects and len(few) == 1), None)
        # utilities that can be asked about themselves, and of these so many that no array of their size is held
        alike = all(seen[t].alike or t == self.beside_effects for t in shared)
        self.direct = self.main is None and alike and self.n_many > 0
        self.sparse = self.direct and self.n_many > most_dense
        effects = any(seen[t].effects for t in shared)
        in_weights = self.sums and self.inner is None and not (self.joined or self.direct or effects)
        self.weights = self._weights(seen) if in_weights else {}

    def _weights(self, seen: Sequence[Seen]) -> dict[int, slice]:
        """Return the places of the weights of each term; latents that are no sums have one weight each."""
        ranks = [seen[t].functions or place.stop - place.start for t, place in self.slices.items()]
        ends = np.cumsum([0, *ranks]).tolist()
        return dict(zip(self.slices, (slice(a, b) for a, b in pairwise(ends)), strict=True))

    def system(self, given: Sequence[Given]) -> tuple[System, Pull]:
        """Return the system of priors of the terms, and from its sensitivity to derivatives by their parameters."""
        if self.direct and self.beside_effects is not None:
            return self._of_effects(self.beside_effects, given)
        if self.direct:
            multiples = {t: cast(Multiple, given[t].K) for t in self.slices}
            border = np.concatenate([np.full(K.size, K.variance) for K in multiples.values()])[self.n_many :]
            first = next(iter(multiples.values())).variance
            system = IndependentSystem(self.design, first, border, not self.sparse, self.n_draws)
            return system, lambda diagonal: _joined(
                one.pull(float(diagonal[self.slices[t]].sum()), []) for t, one in enumerate(given)
            )
        if self.weights:
            R, pull = self._of_weights(given)
            if self.main is None:
                return WeightSystem(self.design, WeightFactor(R, None)), lambda G: pull(G, {})
            blocks = [self.main.covariances(given, stack) for stack in self.design.stacks]
            grouped = GroupSystem(self.design, WeightFactor(R, None), blocks)
            return grouped, lambda found: pull(found[0], self._of_groups([(self.main, found[1])]))
        given = [one.in_full() for one in given]
        K = self._covariance(given)
        if self.main is None:
            return DenseSystem(self.design, Factor.build(K)), lambda M: self._pull(given, M, [])
        main, stacks = self.main, self.design.stacks
        outer = GroupSystem(self.design, K, [main.covariances(given, stack) for stack in stacks])
        if self.inner is None:
            return outer, lambda found: self._pull(given, found[0], [(main, found[1])])
        inner, alone = self.inner, self.inner.alone
        blocks = [inner.covariances(given, stack) for stack in alone.stacks]
        crossed = CrossedSystem(outer, GroupSystem(alone, np.zeros((0, 0)), blocks))
        return crossed, lambda found: self._pull(given, found[0], [(main, found[1]), (inner, found[2])])

    def _of_effects(self, first: int, given: Sequence[Given]) -> tuple[System, Pull]:
        """Return the system of effects of items beside sums of functions, and of columns."""
        products, others = cast(Products, given[first].K), {t: one for t, one in self.slices.items() if t != first}
        border = [np.full(given[t].K.size, given[t].K.variance) for t in others]  # type: ignore[union-attr]
        system = EffectSystem(
            self.design, products.F, products.own, np.concatenate([np.zeros(0), *border]), not self.sparse, self.n_draws
        )

        def pull(found: tuple[FloatArray, FloatArray]) -> FloatArray:
            diagonal, of_F = found
            slopes = []
            for t, one in enumerate(given):
                total = float(diagonal[self.slices[t]].sum()) if t in self.slices else 0.0
                slopes.append(one.pull(Slopes(of_F, total) if t == first else total, []))
            return _joined(slopes)

        return system, pull

    def _of_weights(self, given: Sequence[Given]) -> tuple[FloatArray, Callable[[FloatArray, Any], FloatArray]]:
        """Return the factor of weights: functions, and one deviation for each other latent; and its pullback."""
        last = next(reversed(self.weights.values())).stop
        parts: dict[int, Any] = {t: given[t].K for t in self.slices}
        if len(parts) == 1:
            R = next(iter(parts.values())).F
        else:
            R = np.zeros((self.n_shared, last))
            for t, K in parts.items():
                own = K.F if t in self.sums else _deviation(given[t]) * np.eye(K.size)
                R[self.slices[t], self.weights[t]] = own

        def pull(G: FloatArray, own: dict[int, Blocks]) -> FloatArray:
            slopes = []
            for t, one in enumerate(given):
                if t not in self.slices:
                    slopes.append(one.pull(None, own.get(t, [])))
                    continue
                part = np.ascontiguousarray(G[self.slices[t], self.weights[t]])
                # of K = v I: R = √v I, and G = 2 M R
                of = Slopes(part) if t in self.sums else float(np.trace(part)) / (2 * _deviation(one))
                slopes.append(one.pull(of, own.get(t, [])))
            return _joined(slopes)

        return R, pull

    def _blocks(self) -> Iterator[tuple[Family, Stack, Any]]:
        """Yield stacks of joined families, and where their blocks stand in the covariance of shared latents."""
        for family, place in self.joined:
            for stack in family.alone.stacks:
                rows = place.start + stack.places
                yield family, stack, (rows[:, :, None], rows[:, None, :])

    def _covariance(self, given: Sequence[Given]) -> FloatArray:
        if not self.joined and len(self.slices) == 1:
            return np.asarray(given[next(iter(self.slices))].K)
        total = np.zeros((self.n_shared, self.n_shared))
        for t, place in self.slices.items():
            total[place, place] = given[t].K
        for family, stack, where in self._blocks():
            total[where] = family.covariances(given, stack)[stack.sets[1]]
        return total

    def _pull(self, given: Sequence[Given], M: FloatArray, groups: list[tuple[Family, Any]]) -> FloatArray:
        joined = [(family, [(stack, M[where])]) for family, stack, where in self._blocks()]
        own = self._of_groups([*groups, *joined])
        slopes = []
        for t, one in enumerate(given):
            here = self.slices.get(t)
            part = None if here is None else M if here == slice(0, M.shape[0]) else np.ascontiguousarray(M[here, here])
            slopes.append(one.pull(part, own.get(t, [])))
        return _joined(slopes)

    def _of_groups(self, groups: Sequence[tuple[Any, Any]]) -> dict[int, Blocks]:
        """Return the derivatives by the blocks of groups that each term has."""
        own: dict[int, Blocks] = {}
        for family, found in groups:
            for stack, S in found:
                family.of_terms(own, stack, S)
        return own

    @property
    def places(self) -> tuple[dict[int, slice], int]:
        """Where a query has the columns of each term, and how many there are: of latents, or of weights."""
        if self.weights:
            return self.weights, max(place.stop for place in self.weights.values())
        return self.slices, self.n_shared

    def of_groups(self, t: int, own: Own, n_rows: int) -> tuple[Any, slice | None]:
        """Return covariances (p, N) of asked rows with a term's latents of groups, and the places of these.

        Places are among the shared latents; None: the groups are eliminated, those of the main family come first and
        then those of the inner one.
        """
        if self.main is not None and t in self.main.terms:
            part = self.main.cross(self.design, t, own, n_rows)
            if self.inner is not None:
                part = sp.csr_array(sp.hstack([part, sp.csr_array((n_rows, self.inner.alone.n_own))]))
            return part, None
        if self.inner is not None and t in self.inner.terms:
            part = self.inner.cross(self.inner.alone, t, own, n_rows)
            return sp.csr_array(sp.hstack([sp.csr_array((n_rows, self.design.n_own)), part])), None
        family, place = next(one for one in self.joined if t in one[0].terms)
        return family.cross(family.alone, t, own, n_rows), place

    def places_of(self, t: int, own: Own, system: Any) -> IntArray:
        """Return where a term's latents of groups, which have nothing to do with others a priori, stand in u."""
        part, place = self.of_groups(t, own, len(own.row))
        latents = np.unique(part.indices)
        if place is not None:
            factor = system.factor
            order = np.arange(factor.rank) if factor.order is None else factor.order[: factor.rank]
            return np.flatnonzero(np.isin(order, place.start + latents))
        return np.asarray(system.size - part.shape[1] + latents)


def _deviation(given: Given) -> float:
    """Return the deviation of independent latents with one variance."""
    if not isinstance(given.K, Multiple):
        raise TypeError("beside sums of functions other latents are independent")
    return float(np.sqrt(given.K.variance))


def _joined(slopes: Iterable[FloatArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *slopes])


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
        """Whether questions are about the latents themselves, or weights, and need no covariance of what is asked."""
        return self.layout.direct or (bool(self.layout.weights) and self.layout.main is None)

    def rough(self) -> Problem:
        """Return the same with rougher estimates, for a search."""
        layout = copy.copy(self.layout)
        layout.n_draws = ROUGH_DRAWS
        return replace(self, layout=layout)

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
        parts = np.split(theta, np.cumsum([len(term.parameters) for term in self.terms])[:-1])
        terms = (t.clone_with_theta(part) for t, part in zip(self.terms, parts, strict=True))
        return replace(self, terms=tuple(terms))

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return self.layout.n_shared

    @property
    def held(self) -> int:
        """How many numbers a query holds for each row or item: one for each shared latent, or weight; 0 for a few."""
        layout = self.layout
        if layout.weights and layout.main is None:  # covariances with groups are those with each of the items
            return layout.places[1]
        if layout.beside_effects is not None and layout.direct:
            return layout.n_functions
        return 0 if layout.direct else layout.n_shared

    def width(self, rows: Rows) -> int:
        """Return for how many of them a query of rows holds these: its items, or the rows themselves."""
        layout = self.layout
        if self.held == 0 or self.direct:
            return len(rows) if self.held else 0
        by_item = layout.main is None and not layout.joined and all(self.terms[t].of_items for t in layout.slices)
        return len(rows.items.number) if by_item and len(layout.slices) == 1 else len(rows)

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        layout = self.layout
        own = 0 if layout.main is None else layout.design.n_own
        return layout.n_shared + own + (0 if layout.inner is None else layout.inner.alone.n_own)

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
        a, places = self.layout.shared.back(g), self.layout.slices
        parts = [t.means(items, a[places[k]]) for k, t in enumerate(self.terms) if k in places]
        return np.asarray(sum(parts, np.zeros((len(items.number), len(items.number)))))

    def query(self, rows: Rows, *, joint: bool = False, total: int = 0) -> Query:
        """Return what rows have to do with the latents; ``joint`` asks for the covariance of their values."""
        asked, layout = [term.ask(rows) for term in self.terms], self.layout
        if layout.direct:
            return self._direct_query(asked, len(rows), total)
        prior = np.asarray(sum(t.covariance(rows) for t in self.terms) if joint else sum(a.variance for a in asked))
        shared: dict[int, Combined] = {}
        for t, one in enumerate(asked):
            if one.shared is not None:
                in_weights = layout.weights and isinstance(one.shared, OfFunctions)
                shared[t] = cast(OfFunctions, one.shared).weights if in_weights else one.shared.covariances()
        own: Any = None
        joins: list[tuple[slice, Any]] = []  # covariances with groups among the shared latents
        for t, one in enumerate(asked):
            if one.own is None:
                continue
            part, place = layout.of_groups(t, one.own, len(rows))
            if place is None:
                own = part if own is None else own + part
            else:
                joins.append((place, part))
        places, size = layout.places
        if layout.weights:  # of independent latents, √v times what rows see of them
            shared = {
                t: found if t in layout.sums else found._replace(rows=found.rows / _deviation(self.terms[t].prior()))
                for t, found in shared.items()
            }
        if len(shared) == 1 and not joins:  # of few rows, which are combined in the end
            ((t, (few, operator)),) = shared.items()
            Q = few
            if few.shape[1] < size:
                Q = np.zeros((few.shape[0], size))
                Q[:, places[t]] = few
            return Query(Q, prior, own, operator, total)
        Q = np.zeros((len(rows), size))
        for t, found in shared.items():
            Q[:, places[t]] = found.whole
        for place, part in joins:
            Q[:, place] += part.toarray()
        return Query(Q, prior, own, None, total)

    def _direct_query(self, asked: Sequence[Asked], p: int, total: int) -> Query:
        parts: list[Any] = []
        rest = [sp.csr_array((p, 0))]
        for t, place in self.layout.slices.items():
            shared: Any = asked[t].shared
            if isinstance(shared, OfFunctions):
                seen, effects = shared.weights.whole, cast(Direct, shared.effects)
                missing = np.maximum(asked[t].variance - effects.total - square_norms(seen), 0.0)
                parts.append(sp.hstack([effects.rows, sp.csr_array(seen)], format="csr"))
                rest += [np.sqrt(effects.variance) * effects.rest, sp.diags_array(np.sqrt(missing), format="csr")]
                continue
            parts.append(sp.csr_array((p, place.stop - place.start)) if shared is None else shared.rows)
            if shared is not None and shared.rest.nnz:
                rest.append(np.sqrt(shared.variance) * shared.rest)
        E = parts[0] if len(parts) == 1 else sp.csr_array(sp.hstack(parts, format="csr"))
        beside = sp.csr_array(sp.hstack(rest, format="csr"))
        return Query(E, square_norms(beside), total=total, rest=beside)
