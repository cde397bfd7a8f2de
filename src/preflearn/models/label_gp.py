"""Gaussian processes over labels: which label suits an item best, learned from preferences between labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import LabelPreferences, from_class_labels
from preflearn.data.fields import check_labels, label_array
from preflearn.data.label_preferences import label_codes
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError
from preflearn.inference.blocks import BlockDesign, BlockFactor, between, cover_cost, vertex_cover
from preflearn.inference.contract import Observed
from preflearn.inference.dense import DenseSystem
from preflearn.inference.evidence import METHODS, Evidence, Learned, Starts, learn, learned_again, numbers
from preflearn.inference.search import starts
from preflearn.likelihoods import LIKELIHOOD_NAMES
from preflearn.likelihoods.resolve import likelihood_of
from preflearn.linalg import generator
from preflearn.metrics import pairwise_accuracy
from preflearn.models._asked import OfItems
from preflearn.models._model_state import edges_again
from preflearn.models._observations import Edges, merged_edges
from preflearn.models._preference import OfEvidence, warn_only_noise, warn_unfinished
from preflearn.models._sum_of_terms import ITEM_KERNELS, start_kernel
from preflearn.models.ranking import Part, probability_of
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import ItemKernel, Items, Parameters
from preflearn.terms.labels import Labels, contrasts, selection


def label_data(owner: str, X: Any, y: Any) -> LabelPreferences:
    """Return what fit was given as label preferences; rows with class labels are the classification graph."""
    if isinstance(X, LabelPreferences):
        if y is not None:
            raise TypeError(f"{owner}: LabelPreferences carry their own outcomes, but y was given as well. Pass one.")
        return X
    if y is None:
        raise TypeError(
            f"{owner} learns from LabelPreferences, or from rows X with class labels y; got {type(X).__name__} alone. "
            "Build LabelPreferences(items, item, first, second) or see preflearn.data.from_label_rankings."
        )
    return from_class_labels(X, y)


BLOCK = 2**22  # numbers held at a time


@dataclass(frozen=True)
class LabelProblem:
    """The one term of labels over edges, as `preflearn.inference.problem.Problem` is a sum of several."""

    estimated: ClassVar[bool] = False
    labels: Labels
    design: BlockDesign
    cover: Any  # (P, n): see `preflearn.inference.blocks`

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


class LabelPreferenceGP(OfEvidence, OfItems):
    """Gaussian processes over the utilities of labels, one function of the item for each label.

    Answers: which label suits this item best, in what order do the others follow, and how sure are we?

    Parameters
    ----------
    kernel : Kernel, {"rbf", "ard", "linear", "laplacian", "matern32", "matern52", "rational_quadratic"} or None
        Prior covariance of a label's utility between items, as in `PreferenceGP`.
    likelihood : {"probit", "logit", "gaussian", "davidson"} or likelihood, default="probit"
        How outcomes of edges depend on utility differences; "gaussian" for margins.
    inference : {"laplace", "ep"}, default="laplace"
        Approximation of the posterior.
    shared : bool, default=True
        Whether all labels have the same kernel parameters, as in the paper. False gives each label its own; the search
        for them starts at the best shared ones.
    hyperparameters : {"maximise", "fixed"}, default="maximise"
        Whether free hyperparameters maximise the evidence.
    n_restarts, random_state : as in `PreferenceGP`
        Random starts of that search, and their source.

    Attributes
    ----------
    labels_ : ndarray (n_labels,)
        All labels, in the order of the columns of `predict_utility`.
    kernels_ : list of Kernel
        Kernel of each label at the chosen hyperparameters.
    kernel_ : Kernel
        The one kernel, if shared.
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
        "hyperparameters": [StrOptions({"maximise", "fixed"})],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        inference: str = "laplace",
        *,
        shared: bool = True,
        hyperparameters: Literal["maximise", "fixed"] = "maximise",
        n_restarts: int = 2,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.shared = shared
        self.hyperparameters = hyperparameters
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from LabelPreferences, or from rows of features with the right label ``y`` of each.

        The right label is preferred to every other one.
        """
        self._validate_params()
        data = label_data(type(self).__name__, X, y)
        likelihood, self._unit = likelihood_of("LabelPreferenceGP", self.likelihood, data.outcome, data.weight)
        if not likelihood.log_concave:
            raise ValueError(
                f"LabelPreferenceGP: {type(likelihood).__name__} is not log-concave, which its factors need. "
                "Use Probit or Logit."
            )
        edges = merged_edges(type(self).__name__, data, exact=likelihood.margins)
        kernel = start_kernel("LabelPreferenceGP", self.kernel, edges.X, self._unit)
        evidence = self._evidence_of(edges, data.labels, kernel, likelihood, shared=self.shared)
        first = None
        if self.hyperparameters == "maximise" and len(evidence.parameters):
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
        self._keep(edges, data.labels, data.feature_names, learn(evidence, first))
        owner = type(self).__name__
        warn_unfinished(owner, self.inference, [self.info_], self.likelihood_)
        if self.optima_:
            one = Items(edges.X[:1], np.zeros(1, np.intp))
            variance = np.mean([part.variance(one) for part in self._prior.parts])
            sigma = self.likelihood_.noise_deviation / np.sqrt(2 * variance)
            warn_only_noise(
                owner,
                self.inference,
                float(sigma),
                f"{edges.item.shape[0]} preferences",
                "a kernel with a fixed variance",
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
        self._edges, self._prior = edges, prior
        self.__dict__.pop("kernel_", None)  # of an earlier fit
        if prior.rest is None:
            self.kernel_ = prior.parts[0].kernel
            self.kernels_ = [self.kernel_] * prior.basis.shape[0]
        else:
            own = [(prior.parts[row.argmax()] if row.any() else prior.rest) for row in prior.basis]
            self.kernels_ = [part.kernel for part in own]
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

    def predict(self, X: Any) -> Any:
        """Return the labels of each item in the order of their expected utilities (eq. 26).

        X is a table of items or LabelPreferences; the answer (n_items, n_labels), the best label first, of equal ones
        the earlier one.
        """
        order = np.argsort(-self.predict_utility(X), axis=1, kind="stable")
        return self.labels_[order]

    def predict_label(self, X: Any) -> Any:
        """Return the label with the highest expected utility for each item, (n_items,), of the kind given to fit."""
        best = np.argmax(self.predict_utility(X), axis=1)
        return self.labels_[best]

    def predict_utility(self, X: Any, *, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return posterior means of the utilities of all labels, with standard deviations or covariances if wanted.

        X is a table of items or LabelPreferences. Means and deviations are (n_items, n_labels), covariances between
        labels (n_items, n_labels, n_labels). Edges see differences only, so the level that all labels of an item share
        stays as uncertain as it was.
        """
        new = self._items(X)
        if return_std and return_cov:
            raise ValueError("predict_utility: ask for return_std or return_cov, not both.")
        mean = self._mean(new)
        if not (return_std or return_cov):
            return mean
        covariance = self._covariance(new)
        return mean, covariance if return_cov else np.sqrt(np.einsum("iaa->ia", covariance))

    def predict_proba(self, X: Any, edges: Any = None) -> FloatArray:
        """Return P(second preferred) and P(first preferred) of edges, (n_edges, 2), ties shared equally (eq. 19).

        X is LabelPreferences (outcomes are not looked at), or items with ``edges``: a row number of X and two labels
        for each. Swapping first and second swaps the columns exactly.
        """
        new = self._items(X)
        first, second = self._probabilities(new, *self._edges_of(X, edges, new.shape[0]))
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

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of edges in the right direction; for rows with class labels y the share of right labels.

        Edges without a direction (outcome 0) are left out, equal utilities count one half.
        """
        mean = self.predict_utility(X)
        if y is None or isinstance(X, LabelPreferences):
            data = label_data(type(self).__name__, X, y)
            item, first, second = self._edges_of(X, None, len(data))
            margin = mean[item, first] - mean[item, second]
            return float(pairwise_accuracy(data.outcome, margin, sample_weight=data.weight))
        owner, known = type(self).__name__, np.asarray(self.labels_, dtype=object)
        right = label_codes(check_labels(y, len(mean), "y", owner, "item"), known, "y", owner)
        return float(np.mean(np.argmax(mean, axis=1) == right))

    def _items(self, X: Any) -> Any:
        """Return checked features of items, with columns matched by name."""
        check_is_fitted(self)
        if isinstance(X, LabelPreferences):
            return self._match_columns(X.items, X.feature_names)
        table = check_items(X, type(self).__name__)
        if table.values is None:
            raise TypeError(f"{type(self).__name__}: give a table of features, one row per item; got {X!r}.")
        return self._match_columns(table.values, table.feature_names)

    def _edges_of(self, X: Any, edges: Any, n_items: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return (item, first, second) of edges to predict, labels as places among those of training."""
        owner = type(self).__name__
        known = np.asarray(self.labels_, dtype=object)
        if isinstance(X, LabelPreferences):
            if edges is not None:
                raise TypeError(
                    f"{owner}: LabelPreferences carry their own edges, but edges were given as well. Pass one."
                )
            used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
            code = label_codes(X.labels[used], known, "labels", owner)[place.ravel()]
            return X.item, code[: X.n_edges], code[X.n_edges :]
        if edges is None:
            raise TypeError(
                f"{owner}: which labels are to be compared? Give edges=[(row, first label, second label), ...], pass "
                "LabelPreferences, or use preference_matrix(X) for all pairs of labels."
            )
        listed = [tuple(edge) for edge in edges]
        if not listed or any(len(edge) != 3 for edge in listed):
            raise DataError(code="edges-shape", owner=owner).says(
                f"edges must be (row of X, first label, second label); got {listed[:1]}."
            )
        # messages as for data
        asked = LabelPreferences(np.zeros((n_items, 1)), *map(list, zip(*listed, strict=True)), labels=known)
        return asked.item, asked.first, asked.second

    def _mean(self, new: Any) -> FloatArray:
        """Return the expected utilities (p, L): E f_a(x) = k_a(x, X) β_a."""
        posterior: Any = self._solution.posterior
        a = posterior.system.design.back(posterior.g).reshape(self._prior.basis.shape[1], -1)
        Q = self._prior.cross(new)
        g = a @ Q[0].T if len(Q) == 1 else np.stack([q @ row for q, row in zip(Q, a, strict=True)])
        return np.asarray((self._prior.basis @ g).T)

    def _covariance(self, new: Any) -> FloatArray:
        """Return the posterior covariance (p, L, L) of the utilities of labels at each of the new items."""
        n_new, n_labels = new.shape[0], self._prior.basis.shape[0]
        C = np.empty((n_new, n_labels, n_labels))
        posterior: Any = self._solution.posterior
        factor = posterior.system.factor
        step = max(1, BLOCK // max(1, factor.rank * self._prior.basis.shape[1]))
        for start in range(0, n_new, step):
            rows = new[start : start + step]
            g = factor.variances(posterior.curve.inner, self._prior.cross(rows), self._prior.variance(rows))
            f = between(self._prior.basis, g) + self._prior.unseen(rows)
            C[start : start + step] = f.transpose(2, 0, 1)
        return C

    def _probabilities(self, new: Any, item: IntArray, first: Any, second: Any) -> tuple[FloatArray, FloatArray]:
        """Return P(first is preferred) and P(second is preferred); swapping sides swaps them exactly."""
        mean, C = self._mean(new), self._covariance(new)
        low, high = np.minimum(first, second), np.maximum(first, second)
        variance = np.maximum(C[item, low, low] + C[item, high, high] - 2 * C[item, low, high], 0.0)
        return probability_of([Part(1.0, mean[item, first] - mean[item, second], variance, self.likelihood_)])
