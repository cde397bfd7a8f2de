"""Which terms a preference model is a sum of, and over which latents: chosen from its parameters and the data.

Latents of preferences are the utilities of the items, or where these are fewer the differences of compared pairs; with
circles the distinct pairs, or, where these are many, utilities and weights of skew functions, or for items without
features effects of pairs. Judges, sides, covariates and clusters are terms beside these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Sum, WhiteKernel

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning, first_few
from preflearn.inference.contract import Warm
from preflearn.inference.evidence import LAST_GAIN, Evidence, Starts, maximise_evidence, search_by_gradients
from preflearn.inference.independent import DENSE
from preflearn.inference.problem import Problem
from preflearn.inference.search import Optimum, inverse_curvature, maximise, quasi_newton
from preflearn.items import as_items
from preflearn.kernels.functions import Functions, Landmarks
from preflearn.kernels.rules import is_precomputed
from preflearn.linalg import few_threads
from preflearn.models._observations import Statements
from preflearn.models.asked import OfStatements
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Term
from preflearn.terms.circles import PairEffects, PairPreferences, SkewBasis, SkewFunctions
from preflearn.terms.clusters import Clusters
from preflearn.terms.covariates import Covariates
from preflearn.terms.side import Side
from preflearn.terms.tastes import Tastes, TastesByFeatures
from preflearn.terms.utility import DEFAULT_BOUNDS, VARIANCE, ItemKernel, Utility, start_kernel
from preflearn.terms.utility_functions import UtilityFunctions

# What the latents of preferences are.
Kind = Literal["items", "weights", "pairs", "effects", "functions"]

# Distinct pairs above which skew functions are tried, and above which the covariance of pairs is not held at all.
BASIS_FROM, MANY_PAIRS = 500, 5_000
# As many functions as lose at most this share of the variance, between these numbers; or the pairs themselves, where
# as many as there may be lose too much. What is lost costs evidence for each statement: of more than these, less.
LEAST_FUNCTIONS, MOST_FUNCTIONS, LOST, TOO_MUCH = 200, 1_000, 0.01, 0.02
FEW_STATEMENTS = 2_000
FEW_FUNCTIONS = 200  # most of a search that ends with all pairs, or may do so
DENSE_COST = 3.0  # of one evaluation over pairs, in cubes of their number
FEW_PAIRS = 0.8  # distinct pairs for each item below which pairs are the fewer latents, with room for their overhead
LITTLE_SHARE = 0.01  # to start from beside reliabilities: tastes could take their place, and would not give it back
SHARE = (1e-4, 1e3)  # bounds of the variance of a judge's own preferences, in units of the population's
MOST_TOGETHER = 6_000  # latents of judges with features, whose covariance is held
FEW_LANDMARKS, LANDMARKS_FROM = 128, 500  # landmarks of a rough search, and items from which they save time
# Items from which a search by sums of many functions begins with sums of few, and how many these are.
MANY_IN_WEIGHTS, FEWEST_FUNCTIONS = 3_000, 64
SIDE_VARIANCE = 4.0  # of the side's advantage, in squared units of the noise: two deviations of it are likely


# Kernels and variances of what is beside preferences: the part of a problem that has each, and what it is called there.
BESIDE = {
    "share": ("tastes", "share"),
    "judge_kernel": ("tastes", "kernel"),
    "side": ("side", "variance"),
    "judge_side": ("side", "of_judges"),
    "covariates": ("covariates", "variance"),
    "clusters": ("clusters", "variance"),
}


@dataclass(frozen=True)
class Choice:
    """Covariances and variances that a sum of terms is made of, and what the latents of preferences are.

    What is None is no part of the sum.
    """

    kind: Kind
    utility: ItemKernel | None
    circles: ItemKernel | None
    basis: SkewBasis | None = None
    kernels: dict[str, Any] = field(default_factory=dict)  # of what is beside preferences, by the names of `BESIDE`
    judge_features: Any = None
    n_judges: int = 0
    scale: FloatArray | None = None  # of the covariates
    weighted: Functions | None = None  # functions that utilities are sums of

    def terms(self, data: Statements, rest: bool = False) -> list[Term]:
        """Return the terms; with ``rest`` skew functions leave an effect of each pair."""
        n, rows, kernels = data.used.shape[0], data.rows, self.kernels
        circles: Any = self.circles
        found: list[Term] = [] if self.utility is None else [Utility(self.utility)]
        if self.kind == "weights":
            assert self.utility is not None
            assert self.weighted is not None
            found = [UtilityFunctions(self.utility, self.weighted)]
        elif self.kind == "pairs":
            found = [PairPreferences(self.utility, circles, n, data.pairs)]
        elif self.kind == "effects":
            found.append(PairEffects(circles, data.pairs))
        elif self.kind == "functions":
            assert self.basis is not None
            found.append(SkewFunctions(circles, self.basis, data.pairs if rest else None))
        if "share" in kernels:
            found[0] = self._with_judges(found[0], rows)
        if "side" in kernels:
            found.append(Side(kernels["side"], kernels.get("judge_side")))
        if "covariates" in kernels:
            assert self.scale is not None
            found.append(Covariates(kernels["covariates"], self.scale))
        if "clusters" in kernels:
            found.append(Clusters(kernels["clusters"], n))
        return found

    def _with_judges(self, base: Term, rows: Any) -> Term:
        share, kernel = self.kernels["share"], self.kernels.get("judge_kernel")
        if kernel is None:
            return Tastes(base, share, self.n_judges)
        A = base.seen(rows).shared
        asked = rows.who.number[np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))] * A.shape[1] + A.indices
        judge, latent = np.divmod(np.unique(asked), A.shape[1])
        if latent.shape[0] > MOST_TOGETHER:
            raise DataError(code="judges-asked-too-much", owner="PreferenceGP").says(
                f"judges with features are learned together, and they were asked about {latent.shape[0]} things "
                f"(at most {MOST_TOGETHER}: a matrix of that size squared is held)",
                'Use judge_kernel="identity", which has no such limit, or fewer comparisons',
            )
        return TastesByFeatures(base, share, kernel, self.judge_features, latent, judge)

    def problem(self, data: Statements, *, rest: bool = False, dense: float = DENSE) -> Problem:
        """Return the sum of the terms over statements; for ``dense`` see `preflearn.inference.problem.Layout`."""
        return Problem.of(self.terms(data, rest), data.rows, dense=dense)

    def searched_by_functions(self, data: Statements) -> bool:
        """Return whether parameters are searched for by skew functions, which are fewer than the pairs."""
        many = self.kind == "pairs" and data.pairs[0].shape[0] > BASIS_FROM and "share" not in self.kernels
        return self.circles is not None and self.circles.X is not None and (self.kind == "functions" or many)

    def roughly(self, data: Statements) -> Choice | None:
        """Return the choice with sums of a few functions in the place of many utilities; None where none suit it."""
        part = self.utility
        if self.kind == "weights":
            assert self.weighted is not None
            assert part is not None
            many = part.n_items >= MANY_IN_WEIGHTS and self.weighted.size >= 4 * FEWEST_FUNCTIONS
            return replace(self, weighted=self.weighted.few(FEWEST_FUNCTIONS)) if many else None
        if self.kind != "items" or self.circles is not None or not self.kernels.keys() <= {"side", "covariates"}:
            return None
        if part is None or part.own is not None or part.kernel is None or is_precomputed(part.kernel):
            return None
        if part.n_items < LANDMARKS_FROM:
            return None
        return replace(self, kind="weights", weighted=Landmarks(part.X).few(FEW_LANDMARKS))

    def with_rest(self, data: Statements, lost: float) -> Problem:
        """Return the problem with functions that suit these parameters, and an effect of each pair for the rest."""
        assert self.circles is not None
        most = FEW_FUNCTIONS if data.pairs[0].shape[0] <= MANY_PAIRS else MOST_FUNCTIONS
        basis = _basis(self.circles, data.seen.y.shape[0], lost, most)
        return replace(self, kind="functions", basis=basis).problem(data, rest=True)

    def at(self, problem: Problem) -> Choice:
        """Return the same choice at the parameters of a problem."""
        parts = problem.parts
        found = {name: getattr(parts[term], its) for name, (term, its) in BESIDE.items() if term in parts}
        kernels = {name: kernel for name, kernel in found.items() if kernel is not None}
        return replace(self, utility=parts.get("utility"), circles=parts.get("circles"), kernels=kernels)


def choose(model: OfStatements, X: Comparisons, data: Statements, known: Choice | None) -> Choice:
    """Return the terms that a model's parameters ask for, over statements; ``known`` has parameters to take over."""
    rest = beside(model, X, data)
    if known is None:
        utility, circles = _start(model, X, data.used)
    else:  # what was learned before, and terms that only the new comparisons identify
        rows, n = None if X.items is None else X.items[data.used], data.used.shape[0]
        old = (known.utility, known.circles)
        utility, circles = (None if part is None else part.over(rows, n) for part in old)
        rest["kernels"] |= known.kernels
        rest["scale"] = rest.get("scale") if known.scale is None else known.scale
    if model.approximation is not None:
        if known is None or known.weighted is None:
            rest["weighted"] = _functions(model, utility, data)
        else:
            rest["weighted"] = known.weighted
        return Choice("weights", utility, circles, **rest)
    kind, basis = _kind(model, utility, circles, data)
    return Choice(kind, utility, circles, basis, **rest)


def _functions(model: OfStatements, utility: ItemKernel | None, data: Statements) -> Functions:
    """Return the functions that utilities are sums of; raise where what stands beside them takes a kernel matrix."""
    if model.cyclic_kernel is not None:
        raise DataError(code="approximation-beside-circles", owner="PreferenceGP").says(
            "with approximation utilities are all that is learned of the items, and cyclic_kernel is given, too",
            "Leave cyclic_kernel out, or the approximation",
        )
    if utility is None or utility.kernel is None or is_precomputed(utility.kernel):
        raise DataError(code="approximation-without-features", owner="PreferenceGP").says(
            "approximation stands in for a kernel between features, and the items have none",
            "Give Comparisons the features, items=..., or leave approximation=None",
        )
    together = _held_together(model)
    if together and utility.n_items > DENSE:
        raise DataError(code="approximation-beside", owner="PreferenceGP").says(
            f"{first_few(together)} beside an approximation hold a matrix of {utility.n_items:,} x {utility.n_items:,} "
            f"numbers (at most {DENSE:,} items)",
            f"Leave {together[0]} out",
        )
    found: Functions = model.approximation.functions(utility.kernel, utility.X)
    return found


def _held_together(model: OfStatements) -> list[str]:
    """Return parameters that together make latents which are learned with a covariance in full, or none."""
    of_judges = {"judge_kernel": model.judge_kernel, "judge_reliability": model.judge_reliability}
    judges = [name for name, value in of_judges.items() if value] + ["side"] * (model.side == "judge")
    if model.judge_kernel is not None and judge_parts(model.judge_kernel)[1] is not None:
        return ["judge_kernel"]
    families = [*judges[:1], *(["cluster"] if model.cluster else [])]
    if model.own_effect and families:
        return ["own_effect", *families]
    return families if len(families) > 1 else []


def _kind(
    model: OfStatements, utility: ItemKernel | None, circles: ItemKernel | None, data: Statements
) -> tuple[Kind, SkewBasis | None]:
    n, m = data.used.shape[0], data.seen.y.shape[0]
    n_pairs = data.pairs[0].shape[0]
    if circles is None:
        featured = utility is not None and utility.kernel is not None  # independent utilities cost little
        few = featured and model.judge_kernel is None and n_pairs <= FEW_PAIRS * n
        return ("pairs" if few else "items"), None
    judges = model.judge_kernel is not None
    if circles.X is None and not judges:
        return ("effects" if utility is None or n_pairs > FEW_PAIRS * n else "pairs"), None
    if judges or model.exact or n_pairs <= BASIS_FROM:
        if n_pairs > MANY_PAIRS:
            what = "judge_kernel and cyclic_kernel together hold" if judges else "exact=True holds"
            raise DataError(code="too-many-pairs", owner="PreferenceGP").says(
                f"{what} a matrix of all {n_pairs} distinct pairs (at most {MANY_PAIRS})",
                "Leave one of the two out, or use fewer items"
                if judges
                else "Leave exact=False, which needs no matrix",
            )
        return "pairs", None
    basis = _basis(circles, m, LOST, MOST_FUNCTIONS)
    size = (0 if utility is None else n) + basis.kept[0].shape[0]
    cheaper = size**2 * (m + size) < DENSE_COST * float(n_pairs) ** 3
    if n_pairs > MANY_PAIRS or (basis.lost <= TOO_MUCH and cheaper):
        return "functions", basis
    return "pairs", None


def _basis(circles: ItemKernel, n_statements: int, lost: float, most: int) -> SkewBasis:
    """Return functions that lose this share of the variance, or less of it the more statements there are."""
    fineness = min(1.0, FEW_STATEMENTS / max(1, n_statements))
    with few_threads(circles.n_items):
        return SkewBasis.build(circles.gram()[0], min(LEAST_FUNCTIONS, most), most, lost * fineness)


def _start(model: OfStatements, X: Comparisons, used: IntArray) -> tuple[ItemKernel | None, ItemKernel | None]:
    """Return the covariances of utilities and of circles that the parameters describe, over items with these rows."""
    utility = circles = None
    if model.cyclic_kernel is not None:  # circles are made of products of two covariances
        circles = _item_kernel("cyclic_kernel", model.cyclic_kernel, X, used, float(np.sqrt(model._unit)))
    if model.cyclic_kernel is None or model.kernel is not None:
        utility = _item_kernel("kernel", model.kernel, X, used, model._unit, own_effect=model.own_effect)
    elif model.own_effect:
        raise ValueError(
            "PreferenceGP: own_effect is a part of the utility, and with cyclic_kernel and kernel=None there is none. "
            'Give kernel="rbf" as well.'
        )
    return utility, circles


def _item_kernel(
    parameter: str, kernel: Any, X: Comparisons, used: IntArray, unit: float, *, own_effect: bool = False
) -> ItemKernel:
    bounds = VARIANCE[0] * unit, VARIANCE[1] * unit
    own = ConstantKernel(unit * (1.0 if X.items is None else 0.1), bounds) if own_effect or X.items is None else None
    if X.items is None:
        if isinstance(kernel, ConstantKernel):
            own = start_kernel("PreferenceGP", kernel, np.zeros((2, 1)), unit, parameter=parameter)
        elif kernel is not None:
            raise DataError(code="kernel-without-features", owner="PreferenceGP").says(
                "the items have no features, so a kernel over features cannot be used",
                "Give Comparisons the features, items=..., or use kernel=None, or ConstantKernel() beside circles",
            )
        return ItemKernel(None, None, own, used.shape[0])
    items = X.items[used]
    if parameter == "kernel" and not own_effect and items.shape[0] > 1 and as_items(items).all_equal():
        DataWarning(code="features-all-equal", owner="PreferenceGP").warn(
            f"all {items.shape[0]} items that occur have the same features, so no difference between them "
            "can be learned",
            "Give features that differ, or leave the item table out: items are then known by name",
        )
    learned = start_kernel("PreferenceGP", kernel, items, unit, parameter=parameter)
    return ItemKernel(items, learned, own, used.shape[0])


def beside(model: OfStatements, X: Comparisons, data: Statements) -> dict[str, Any]:
    """Return what is added to preferences: judges, the side, covariates, clusters."""
    kernels: dict[str, Any] = {}
    found: dict[str, Any] = {"kernels": kernels}
    unit = model._unit
    bounds = VARIANCE[0] * unit, VARIANCE[1] * unit
    if model.judge_kernel is not None:
        own, between = judge_parts(model.judge_kernel)
        kernels["share"] = _share(own, LITTLE_SHARE if model.judge_reliability else 1.0)
        found["n_judges"] = data.n_judges
        if between is not None:
            features = found["judge_features"] = _judge_features(X, data.judges, data.n_judges)
            kernels["judge_kernel"] = start_kernel("PreferenceGP", between, features, parameter="judge_kernel")
    if data.rows.side is not None:
        kernels["side"] = ConstantKernel(SIDE_VARIANCE * unit, "fixed")
        if model.side == "judge":
            kernels["judge_side"] = ConstantKernel(0.1 * unit, bounds)
    if data.rows.covariates is not None:
        kernels["covariates"] = ConstantKernel(unit, bounds)
        size = np.sqrt(np.mean(np.square(data.rows.covariates), axis=0))
        found["scale"] = np.where(size > 0, size, 1.0)
    if data.rows.cluster is not None:
        kernels["clusters"] = ConstantKernel(unit, bounds)
    return found


def judge_parts(kernel: Any) -> tuple[Any, Any]:
    """Return the kernel whose value is a judge's own share, and that between features; None for a default."""
    if isinstance(kernel, str) and kernel == "identity":
        return None, None
    if isinstance(kernel, ConstantKernel):
        return kernel, None
    summands = _summands(kernel)
    own = [one for one in summands if isinstance(one, WhiteKernel)]
    if len(own) != 1:
        return None, kernel
    between = [one for one in summands if one is not own[0]]
    return ConstantKernel(own[0].noise_level, own[0].noise_level_bounds), reduce(add, between) if between else None


def _summands(kernel: Any) -> list[Any]:
    return [*_summands(kernel.k1), *_summands(kernel.k2)] if isinstance(kernel, Sum) else [kernel]


def _share(own: Any, start: float) -> Any:
    """Return the share to start from, with bounds where it has none of its own."""
    if own is None:
        return ConstantKernel(start, SHARE)
    given = start_kernel("PreferenceGP", own, np.zeros((2, 1)), parameter="judge_kernel")
    bounds = own.constant_value_bounds
    default = not isinstance(bounds, str) and tuple(np.ravel(bounds)) == DEFAULT_BOUNDS
    return ConstantKernel(given.constant_value, SHARE) if default else given


def _judge_features(X: Comparisons, names: Any, n_judges: int) -> Any:
    """Return the features of the judges in their order; those without a name are average."""
    table = X.judges
    if table is None or table.values is None or table.names is None:
        raise DataError(code="judge-kernel-without-features", owner="PreferenceGP").says(
            "judge_kernel is a kernel between features of judges, and they have none",
            'Give Comparisons judges=table, or use judge_kernel="identity"',
        )
    place = {name: row for row, name in enumerate(table.names)}
    missing = [name for name in names if name not in place]
    if missing:
        raise DataError(code="judges-not-in-table", owner="PreferenceGP").says(
            f"{len(missing)} judges have no row in the table of judges ({first_few(missing)})",
            "Give Comparisons judges=table with a row for each",
        )
    known = np.asarray(table.values)[[place[name] for name in names]]
    return np.concatenate([known, np.tile(known.mean(axis=0), (n_judges - len(known), 1))])


def search_from_rough_optima(
    choice: Choice, data: Statements, evidence: Evidence, first: Starts
) -> tuple[Evidence, list[Optimum]]:
    """Search from the first start, and from where rough searches from the others end; see `maximise_evidence`.

    A rough search takes sums of a few functions for the utilities, which costs a small part. Several may end alike.
    Where utilities are sums of more functions, all starts are searched from so, and from the highest end a few steps
    lead on, with the curvature that was found there.
    """
    if choice.kind == "weights" and evidence.reliability is None and len(evidence.parameters):
        rough = choice.roughly(data)
        if rough is None:
            return maximise_evidence(evidence, first)
        like, ends = maximise_evidence(evidence.over(rough.problem(data), evidence.likelihood), first)
        with few_threads(like.order):
            inverse = inverse_curvature(like.slope, ends[0].theta, first.bounds)
        evidence.warm = None if like.warm is None else Warm(like.warm.g)
        start = Starts([ends[0].theta], first.bounds)
        return search_by_gradients(evidence, start, inverse=inverse, gain=GAIN)
    rough = choice.roughly(data) if len(first.points) > 1 else None
    if rough is not None:
        like = evidence.over(rough.problem(data), evidence.likelihood)
        ends = maximise(like.penalised, first.points[1:], first.bounds, gain=LAST_GAIN)
        different = {one.theta.tobytes(): one.theta for one in ends}
        first = first._replace(points=[first.points[0], *different.values()])
    return maximise_evidence(evidence, first)


# A search with skew functions that lose this share of the variance, and are chosen anew where a log parameter of the
# circles has changed by more than that.
LOST_IN_SEARCH, AWAY = 0.03, 0.2
FIRST, SHORT, LONGEST, MOST = 0.3, 1e-3, 1.0, 60  # its first, shortest and longest step, and evaluations
WORSE, GAIN = 0.5, 0.02  # nats that a step may lose, as functions differ, and that the last one would gain
TOL = 1e-5  # of a mode on the way


def search_by_functions(
    choice: Choice, data: Statements, rebuild: Any, evidence: Evidence, first: Starts
) -> tuple[Evidence, list[Optimum]]:
    """Search from every start; return the evidence of the highest optimum and all optima, the highest first.

    A search goes by gradients and is content with fewer functions than the posterior, whose evidence at the end is the
    one returned. They are chosen for some parameters, anew where a step leads far away, with an effect of each pair.
    ``rebuild`` returns the evidence of the same comparisons for a choice and a likelihood.
    """
    n = 0 if choice.utility is None else len(choice.utility.parameters)
    circles = slice(n, n + len(choice.circles.parameters))  # type: ignore[union-attr]
    options: Any = {"tol": SHORT, "gain": GAIN, "longest": LONGEST, "worse": WORSE, "most": MOST}
    every = []
    for start in first.points:
        here, at = evidence, start

        def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
            nonlocal here, at
            if here is evidence or np.abs(theta - at)[circles].max(initial=0.0) > AWAY:
                problem, likelihood = evidence.split(theta)
                here = here.over(choice.at(problem).with_rest(data, LOST_IN_SEARCH), likelihood, tol=TOL)
                at = theta
            with few_threads(here.order):
                return here.penalised(theta)

        found = quasi_newton(evaluate, start, first.bounds, np.full(start.shape, FIRST), **options)
        problem, likelihood = here.split(found.theta)
        # what the posterior is over depends on nothing but the parameters
        whole: Evidence = rebuild(choice.at(problem), likelihood)
        whole.warm = here.over(whole.problem, likelihood, tol=whole.method.tol).warm
        with few_threads(whole.order):
            value = whole.solve(found.theta).posterior.log_evidence + whole.hyperprior_gain(found.theta)[0]
        every.append((whole, replace(found, evidence=value)))
    every.sort(key=lambda one: -one[1].evidence)
    return every[0][0], [optimum for _, optimum in every]
