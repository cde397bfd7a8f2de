"""Gaussian processes over labels: which label suits an item best, learned from preferences between labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.linalg import eigh
from scipy.special import ndtr
from scipy.stats import norm
from scipy.stats.qmc import Sobol
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from preflearn.data.fields import label_array
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem
from preflearn.inference.evidence import METHODS, Evidence, Learned, Starts, learn, learned_again, numbers
from preflearn.inference.label_blocks import BlockDesign, BlockFactor, between, cover_cost, vertex_cover
from preflearn.inference.search import starts
from preflearn.items import as_items
from preflearn.kernels.precomputed import KernelRows
from preflearn.kernels.rules import is_precomputed
from preflearn.likelihoods import LIKELIHOOD_NAMES
from preflearn.likelihoods.resolve import likelihood_of
from preflearn.linalg import generator
from preflearn.models._model_state import edges_again
from preflearn.models._observations import Edges, merged_edges, with_kernel_rows
from preflearn.models._preference import OfEvidence, warn_few_points, warn_only_noise, warn_unfinished
from preflearn.models.of_labels import OfLabels, label_data
from preflearn.models.ranking import Part, mix, probability_of
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Items, Parameters
from preflearn.terms.labels import Labels, contrasts, selection
from preflearn.terms.utility import ITEM_KERNELS, ItemKernel, start_kernel

BLOCK = 2**22  # numbers held at a time
DRAWS, NODES = 512, 8  # of utilities, and of the noise, for probabilities to be first


@dataclass(frozen=True)
class LabelProblem:
    """The one term of labels over edges, as `preflearn.inference.problem.Problem` is a sum of several."""

    estimated: ClassVar[bool] = False
    labels: Labels
    design: BlockDesign
    cover: Any  # (P, n): see `preflearn.inference.label_blocks`

    @classmethod
    def of(cls, edges: Edges, labels: Any, kernel: Any, *, shared: bool) -> LabelProblem:
        """Return the prior over the functions of labels in its cheapest form.

        With a small vertex cover where the edges of an item share few labels, or one dense matrix for as few functions
        as will do: the operations decide, counted double for the cover, whose matrices are smaller. In classification
        it wins from five labels on.
        """
        n_items, n_labels = edges.X.shape[0], len(labels)
        part = ItemKernel(edges.X, kernel, None, n_items)
        basis = selection(edges.first, edges.second, n_labels)
        seen = np.flatnonzero(basis.any(axis=1))
        cover = vertex_cover(edges.item, edges.first, edges.second, n_labels, n_items)[seen]
        dense = contrasts(edges.first, edges.second, n_labels) if shared else basis
        if 2 * cover_cost(cover) >= (n_items * dense.shape[1]) ** 3 / 3:
            basis, cover = dense, np.ones((dense.shape[1], n_items), dtype=bool)
        parts, rest = ((part,), None) if shared else ((part,) * len(seen), part)
        design = BlockDesign(edges.item, edges.first, edges.second, basis, n_items)
        return cls(Labels(parts, basis, rest, tuple(labels[seen])), design, cover)

    @property
    def parameters(self) -> Parameters:
        """Free parameters."""
        return self.labels.parameters

    @property
    def order(self) -> int:
        """Order of the largest matrix that is factored."""
        return max(int(self.cover.shape[1]), int(self.cover.sum()))

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        return self.design.shape[1]

    def with_theta(self, theta: FloatArray) -> LabelProblem:
        """Return the same problem at other parameters."""
        return replace(self, labels=self.labels.clone_with_theta(theta))

    def system(self) -> tuple[DenseSystem, Any]:
        """Return the system of the labels, and from its sensitivity to derivatives by their parameters."""
        grams, pull = self.labels.grams()
        return DenseSystem(self.design, BlockFactor(grams, self.cover)), pull


class LabelPreferenceGP(OfEvidence, OfLabels):
    """Gaussian processes over the utilities of labels, one function of the item for each label.

    Answers: which label suits this item best, in what order do the others follow, and how sure are we?

    Parameters
    ----------
    kernel : Kernel, None or name, default=None
        Prior covariance of a label's utility between items, as in `PreferenceGP`.
    likelihood : {"probit", "logit", "gaussian", "davidson"} or likelihood, default="probit"
        How outcomes of edges depend on utility differences; "gaussian" for margins.
    inference : {"laplace", "ep"}, default="laplace"
        Approximation of the posterior.
    shared : bool, default=True
        Whether all labels have the same kernel parameters, as in the paper. False gives each label its own; the search
        for them starts at the best shared ones.
    hyperparameters : {"maximise", "average", "fixed"}, default="maximise"
        What to do with free hyperparameters: take those of highest evidence, average predictions over their posterior
        (for few of them, so rather not with ``shared=False``), or keep the given values.
    n_restarts, n_points, random_state : as in `PreferenceGP`
        Random starts of the search, points of the average, and the source of both.

    Attributes
    ----------
    labels_ : ndarray (n_labels,)
        All labels, in the order of the columns of `predict_utility`.
    kernels_ : list of Kernel
        Kernel of each label at the chosen hyperparameters.
    kernel_ : Kernel
        The one kernel, if shared.
    hyperposterior_ : HyperPosterior
        Weighted points, with ``hyperparameters="average"``; what is beside it is about the best one.
    likelihood_, log_evidence_, optima_, theta_, bounds_, theta_names_, info_, n_features_in_ : see `PreferenceGP`
        What was learned, and from what.

    Notes
    -----
    f_a ~ GP(0, k_a) independently for each label a; an edge "a before b for item x" has the likelihood of the
    difference f_a(x) - f_b(x) (equations 20 to 22 of the paper). An evaluation of the evidence and its gradient takes
    two factorisations and about as much again. For n items and L labels each of them costs (n (L - 1))³ / 3, or
    (n L)³ / 3 if kernels are not shared, with the square of that side as memory; where the edges of every item share a
    label, as in classification, 2 L n³, with L n² as memory (the cheaper one is taken). The number of edges only adds
    O(m), and kernels of low rank (a linear kernel of few features) cost accordingly less.

    *Differences from the paper*: noise is fixed and the kernel has a variance, which is the same model; with a shared
    kernel only differences are inferred, which is the same posterior; kernel parameters for each label are an
    addition.

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.data import from_label_rankings
    >>> from preflearn.models.label_gp import LabelPreferenceGP
    >>> X = np.array([[0.0], [0.2], [0.8], [1.0]])
    >>> orders = [["tea", "milk"], ["tea", "milk", "juice"], ["juice", "tea"], ["juice", "milk"]]
    >>> drinks = from_label_rankings(X, orders)
    >>> model = LabelPreferenceGP(hyperparameters="fixed").fit(drinks)
    >>> model.predict([[0.1], [0.9]])
    array([['tea', 'milk', 'juice'],
           ['juice', 'tea', 'milk']], dtype='<U5')
    >>> model.predict_proba([[0.1]], [(0, "tea", "juice")]).round(2)
    array([[0.26, 0.74]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions(set(ITEM_KERNELS)), None],
        "likelihood": [StrOptions(set(LIKELIHOOD_NAMES)), HasMethods("log_density")],
        "inference": [StrOptions(set(METHODS))],
        "shared": ["boolean"],
        "hyperparameters": [StrOptions({"maximise", "average", "fixed"})],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_points": [Interval(Integral, 8, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        inference: str = "laplace",
        *,
        shared: bool = True,
        hyperparameters: Literal["maximise", "average", "fixed"] = "maximise",
        n_restarts: int = 2,
        n_points: int = 64,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.shared = shared
        self.hyperparameters = hyperparameters
        self.n_restarts = n_restarts
        self.n_points = n_points
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from LabelPreferences, or from rows of features with the right label ``y`` of each.

        The right label is preferred to every other one.
        """
        self._validate_params()
        data = with_kernel_rows(type(self).__name__, label_data(type(self).__name__, X, y), kernel=self.kernel)
        likelihood, self._unit = likelihood_of("LabelPreferenceGP", self.likelihood, data.outcome, data.weight)
        if not likelihood.log_concave:
            raise ValueError(
                f"LabelPreferenceGP: {type(likelihood).__name__} is not log-concave, which its factors need. "
                "Use Probit or Logit."
            )
        edges = merged_edges(type(self).__name__, data, exact=likelihood.margins)
        kernel = start_kernel("LabelPreferenceGP", self.kernel, edges.X, self._unit)
        evidence = self._evidence_of(edges, data.labels, kernel, likelihood, shared=self.shared)
        first, n_points, seed = None, 0, 0
        if self.hyperparameters != "fixed" and len(evidence.parameters):
            rng = generator(self.random_state, "LabelPreferenceGP")

            def around(theta: FloatArray, one: Evidence) -> Starts:
                bounds = one.parameters.bounds
                return Starts(starts(theta, bounds, self.n_restarts, rng), bounds)

            theta = evidence.parameters.theta
            if not self.shared:
                # Own kernels have many optima: start where one kernel for all is best, and end no lower.
                common = self._evidence_of(edges, data.labels, kernel, likelihood, shared=True)
                best = learn(common, around(common.parameters.theta, common)).theta
                n = len(common.problem.parameters)
                theta = np.concatenate([np.tile(best[:n], len(evidence.problem.labels.parts)), best[n:]])
            first = around(theta, evidence)
            if self.hyperparameters == "average":
                n_points, seed = self.n_points, int(rng.integers(2**31))
        learned = learn(evidence, first, n_points=n_points, seed=seed)
        self._keep(edges, data.labels, data.feature_names, learned)
        owner = type(self).__name__
        warn_unfinished(owner, self.inference, [s.info for _, s in self._mixture], self.likelihood_)
        if learned.points is not None:
            warn_few_points(owner, self.n_points, learned.points.effective_size)
        elif self.optima_:
            one = Items(edges.X[:1], np.zeros(1, np.intp))
            problem: Any = learned.solution.problem
            variance = np.mean([part.variance(one) for part in problem.labels.parts])
            sigma = self.likelihood_.noise_deviation / np.sqrt(2 * variance)
            warn_only_noise(
                owner,
                self.inference,
                float(sigma),
                f"{edges.item.shape[0]} preferences",
                'hyperparameters="average" or a kernel with a fixed variance',
            )
        return self

    def _evidence_of(self, edges: Edges, labels: Any, kernel: Any, likelihood: Any, *, shared: bool) -> Any:
        problem: Any = LabelProblem.of(edges, labels, kernel, shared=shared)
        return Evidence(problem, likelihood, Observed(edges.outcome, edges.weight), METHODS[self.inference]())

    def _keep(self, edges: Edges, labels: Any, feature_names: Any, learned: Learned) -> None:
        """Set what a fitted model says about itself; the only place where it does."""
        solution: Any = learned.solution
        prior = solution.problem.labels
        self._keep_learned(learned, edges.X, feature_names)
        self._edges, self._mixture = edges, learned.mixture
        for name in ("kernel_", "hyperposterior_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if learned.points is not None:
            self.hyperposterior_ = learned.points
        if prior.rest is None:
            self.kernel_ = prior.parts[0].kernel
            self.kernels_ = [self.kernel_] * prior.basis.shape[0]
        else:
            own = [(prior.parts[row.argmax()] if row.any() else prior.rest) for row in prior.basis]
            self.kernels_ = [part.kernel for part in own]
        self._kernel_rows = edges.X if isinstance(edges.X, KernelRows) else None
        self.labels_, self.n_features_in_ = label_array(labels.tolist()), int(edges.X.shape[1])

    def _file_state(self) -> dict[str, Any]:
        """Return what model files keep: edges, the kernel, parameters, a few numbers for each edge."""
        names, evidence = getattr(self, "feature_names_in_", None), self._learned.evidence
        problem: Any = evidence.problem
        return {
            "edges": tuple(self._edges),
            "labels": self.labels_,
            "feature_names": None if names is None else tuple(names),
            "unit": float(self._unit),
            "kernel": problem.labels.parts[0].kernel,
            "likelihood": evidence.likelihood,
            **self._learned.state(),
        }

    def _from_file_state(self, state: dict[str, Any]) -> None:
        self._validate_params()
        edges, labels, names, kernel, likelihood = edges_again(state)
        self._unit = float(numbers(state["unit"], "unit"))
        evidence = self._evidence_of(edges, labels, kernel, likelihood, shared=self.shared)
        self._keep(edges, labels, names, learned_again(evidence, state))

    def predict_utility(self, X: Any, *, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return posterior means of the utilities of all labels, with standard deviations or covariances if wanted.

        X is a table of items or LabelPreferences. Means and deviations are (n_items, n_labels), covariances between
        labels (n_items, n_labels, n_labels). Edges see differences only, so the level that all labels of an item share
        stays as uncertain as it was.
        """
        new = self._items(X)
        if return_std and return_cov:
            raise ValueError("predict_utility: ask for return_std or return_cov, not both.")
        if not (return_std or return_cov):
            return np.asarray(sum(w * _means(s, new) for w, s in self._mixture))
        mean, covariance = mix(self._utilities(new))
        return mean, covariance if return_cov else np.sqrt(np.einsum("iaa->ia", covariance))

    def joint_utilities(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the joint posterior of the utilities of all labels of all items.

        Means (n_items, n_labels), and their covariance (n_items * n_labels, n_items * n_labels), item by item.
        """
        new = self._items(X)
        as_items(new).check_variances(type(self).__name__)
        parts = [Part(w, _means(s, new).ravel(), _joint(s, new), s.likelihood) for w, s in self._mixture]
        mean, covariance = mix(parts)
        return mean.reshape(new.shape[0], -1), covariance

    def predict_proba(self, X: Any, edges: Any = None, *, noise: bool = True) -> FloatArray:
        """Return P(second preferred) and P(first preferred) of edges, (n_edges, 2), ties shared equally (eq. 19).

        X is LabelPreferences (outcomes are not looked at), or items with ``edges``: a row number of X and two labels
        for each. Swapping first and second swaps the columns exactly. With ``noise=False`` the probabilities that the
        utility of the one is larger than that of the other, without the noise of an answer.
        """
        new = self._items(X)
        first, second = self._probabilities(new, *self._edges_of(X, edges, new.shape[0]), noise=noise)
        return np.column_stack([second, first])

    def preference_matrix(self, X: Any) -> FloatArray:
        """Return P(label a is preferred to label b) for all labels of each item, (n_items, n_labels, n_labels).

        The two probabilities of a pair sum to 1 exactly, and the diagonal is 1/2.
        """
        new, n_labels = self._items(X), len(self.labels_)
        low, high = np.triu_indices(n_labels, 1)
        item, pair = np.divmod(np.arange(new.shape[0] * low.shape[0]), low.shape[0])
        P = np.full((new.shape[0], n_labels, n_labels), 0.5)
        first, second = self._probabilities(new, item, low[pair], high[pair])
        P[item, low[pair], high[pair]], P[item, high[pair], low[pair]] = first, second
        return P

    def predict_label_proba(self, X: Any) -> FloatArray:
        """Return P(label a would be placed first) for all labels of each item, (n_items, n_labels); rows sum to 1.

        As in `predict_proba` with the noise of an answer: with two labels it is the same number. Utilities f and the
        noise of each label, e_a ~ N(0, s²/2) with s² the noise of a difference, decide: P(f_a + e_a is the largest).
        The noise is integrated by quadrature, utilities over fixed draws, the same for all items; errors are below
        0.01. For a likelihood other than the probit the noise has the right variance, not quite its shape.
        """
        new, n_labels = self._items(X), len(self.labels_)
        z = norm.ppf(Sobol(n_labels, seed=0).random(DRAWS))
        t, weight = np.polynomial.hermite_e.hermegauss(NODES)
        P = np.zeros((new.shape[0], n_labels))
        step = max(1, BLOCK // (DRAWS * n_labels * NODES))
        for share, mean, C, likelihood in self._utilities(new):
            half = likelihood.noise_deviation / np.sqrt(2)
            # of differences alone; the first numbers of a point, which are the most even, go to what varies most
            level = (
                C - C.mean(axis=1, keepdims=True) - C.mean(axis=2, keepdims=True) + C.mean(axis=(1, 2))[:, None, None]
            )
            root, columns = eigh(level)
            spread = (columns * np.sqrt(np.maximum(root, 0.0))[:, None, :])[:, :, ::-1]
            for start in range(0, new.shape[0], step):
                rows = slice(start, start + step)
                f = (mean[rows, None, :] + z @ spread[rows].transpose(0, 2, 1)) / half
                for a in range(n_labels):
                    ahead = f[:, :, a, None, None] - np.delete(f, a, axis=2)[..., None]
                    P[rows, a] += share * (ndtr(t + ahead).prod(axis=2) @ weight).mean(axis=1)
        return np.asarray(P / P.sum(axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _utilities(self, new: Any) -> list[Part]:
        """Return means (p, L) and covariances (p, L, L) of the utilities of labels at new items, for each solution."""
        as_items(new).check_variances(type(self).__name__)
        return [Part(w, _means(s, new), _covariances(s, new), s.likelihood) for w, s in self._mixture]

    def _probabilities(
        self, new: Any, item: IntArray, first: Any, second: Any, *, noise: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(first is preferred) and P(second is preferred); swapping sides swaps them exactly."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        parts = []
        for w, mean, C, likelihood in self._utilities(new):
            variance = np.maximum(C[item, low, low] + C[item, high, high] - 2 * C[item, low, high], 0.0)
            parts.append(Part(w, mean[item, first] - mean[item, second], variance, likelihood))
        return probability_of(parts, noise=noise)


def operations(data: Any) -> float:
    """Return the operations of one factorisation in learning from label preferences with a kernel of full rank."""
    dense = (len(data) * (data.n_labels - 1.0)) ** 3 / 3
    cover = vertex_cover(data.item, data.first, data.second, data.n_labels, len(data))
    return float(min(2 * cover_cost(cover), dense))


def _means(solution: Any, new: Any) -> FloatArray:
    """Return the expected utilities (p, L): E f_a(x) = k_a(x, X) β_a."""
    posterior, prior = solution.posterior, solution.problem.labels
    a = posterior.system.design.back(posterior.g).reshape(prior.basis.shape[1], -1)
    Q = prior.cross(new)
    g = a @ Q[0].T if len(Q) == 1 else np.stack([q @ row for q, row in zip(Q, a, strict=True)])
    return np.asarray((prior.basis @ g).T)


def _covariances(solution: Any, new: Any) -> FloatArray:
    """Return the posterior covariance (p, L, L) of the utilities of labels at each of the new items."""
    posterior, prior = solution.posterior, solution.problem.labels
    n_new, n_labels = new.shape[0], prior.basis.shape[0]
    C = np.empty((n_new, n_labels, n_labels))
    factor = posterior.system.factor
    step = max(1, BLOCK // max(1, factor.rank * prior.basis.shape[1]))
    for start in range(0, n_new, step):
        rows = new[start : start + step]
        g = factor.variances(posterior.curve.inner, prior.cross(rows), prior.variance(rows))
        f = between(prior.basis, g) + prior.unseen(rows)
        C[start : start + step] = f.transpose(2, 0, 1)
    return C


def _joint(solution: Any, new: Any) -> FloatArray:
    """Return the posterior covariance (p L, p L) of the utilities of labels at new items, item by item."""
    posterior, prior = solution.posterior, solution.problem.labels
    p, (n_labels, n_functions) = new.shape[0], prior.basis.shape
    G = posterior.system.factor.joint(posterior.curve.inner, prior.cross(new), prior.covariance(new))
    half = np.tensordot(prior.basis, G.reshape(n_functions, p, n_functions, p), axes=(1, 0))
    C = np.tensordot(half, prior.basis, axes=(2, 1)).transpose(1, 0, 2, 3)  # (p, L, p, L) of item, label
    C = C + prior.unseen(new, joint=True).reshape(n_labels, p, n_labels, p).transpose(1, 0, 3, 2)
    C = C.reshape(p * n_labels, p * n_labels)
    return np.asarray((C + C.T) / 2)
