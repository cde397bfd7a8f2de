"""Bradley-Terry and Thurstone models: utilities of items without features, from who beat whom."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from scipy.special import ndtr
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning, warn_user
from preflearn.inference.average import HyperPosterior
from preflearn.inference.evidence import Solution
from preflearn.inference.learn import check_theta
from preflearn.inference.pair_precision import DENSE, SparsePrecision
from preflearn.inference.sparse_newton import first_side
from preflearn.inference.threads import few_threads
from preflearn.models._gp_items import items_of_comparisons, items_of_table
from preflearn.models._gp_likelihood import likelihood_of
from preflearn.models._gp_warnings import NOTHING_BUT_NOISE, warn_unfinished
from preflearn.models._matches import matches_of, read_matches
from preflearn.models._pair_answers import FEW, deviations_of, differences_of, draws_of, mean_of
from preflearn.models._pair_evidence import PairEvidence, PairSolution
from preflearn.models._pair_state import restore, state_of
from preflearn.models._utility import UtilityPosterior
from preflearn.models.ranking import Ranking
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Items, Who

__all__ = ["BradleyTerry", "SideEffect"]


class SideEffect(NamedTuple):
    """Advantage of the first side in units of utility, its standard error, their ratio, and the two-sided p-value."""

    estimate: float
    std: float
    z: float
    p_value: float


class BradleyTerry(UtilityPosterior):
    """Bradley-Terry or Thurstone model with a Gaussian prior: utilities of items without features.

    Answers: who is best, by how much, and how sure are we, if all that is known is who beat whom?

    Parameters
    ----------
    link : {"logit", "probit"}, default="logit"
        Noise on the difference of two utilities: logistic (Bradley-Terry) or normal with variance 2, that is 1 for each
        item (Thurstone).
    prior : "auto", "evidence", float or None, default="auto"
        Variance of the utilities' normal prior. "auto" learns it by evidence with a weak prior of its own, which
        decides only where comparisons hardly do: deviations from 0.2 to 4.5 are likely. "evidence" leaves that out:
        few comparisons may then be said to show no differences at all, and flawless ones differences without limit. A
        number is that variance. None is maximum likelihood, which exists only where chains of wins lead from every item
        to every other.
    inference : {"laplace", "ep"}, default="laplace"
        Laplace's method, quick at any size, or expectation propagation, up to 3,000 items: closer to the exact answer
        where items met a few times or differ by much more than the noise, with wider intervals there.
    hyperparameters : {"maximise", "average"}, default="maximise"
        Whether to take the most probable variance and threshold, or to average over their posterior: with few
        comparisons intervals are then as wide as they should be. Beyond 3,000 items they are known well enough.
    ties : bool, default=False
        Whether ties are possible: the threshold below which a difference is a tie is learned.

    Attributes
    ----------
    utility_, std_ : ndarray (n_items_,)
        Posterior means and standard deviations of utilities (with ``prior=None`` centred, and standard errors).
    prior_variance_ : float or None
        Variance of the prior.
    likelihood_ : likelihood
        Likelihood, with the threshold that was learned.
    log_evidence_ : float or None
        Log evidence of the comparisons; None with ``prior=None``.
    log_likelihood_ : float
        Log likelihood of the comparisons at ``utility_``.
    hyperposterior_ : HyperPosterior
        Weighted points, with ``hyperparameters="average"``.
    theta_, bounds_, theta_names_ : ndarray, ndarray, tuple
        Logarithms of the parameters that were learned beside the utilities, their bounds and names.
    info_, n_iter_ : Info, int
        How the last inference ended, and the Newton steps it took.
    comparisons_ : Comparisons
        What it was fitted on.
    item_names_, n_items_ : ndarray or None, int
        Names and number of the items.

    Warns
    -----
    ConvergenceWarning
        If inference did not reach its tolerance.
    DataWarning
        If the items fall into parts that were never compared with each other; if comparisons show nothing but noise.

    Notes
    -----
    f ~ N(0, vI), P(first) = F(f_first - f_second), F logistic or normal; only signs of outcomes count. The same model,
    to the last digits, as `PreferenceGP` for items without features. Comparisons are merged into
    pairs with weights; a Newton step costs O(pairs) beside the factor, and factors are kept between steps.

    Up to 3,000 items P = I/v + Λ is factored as a dense matrix, O(n³), and everything is exact. Beyond, no n x n matrix
    is held. Utilities are still exact, by conjugate gradients; so is a covariance of up to 256 items that is asked for
    as such, and what `rank` says of as few. Standard deviations and probabilities rest on variances from 64 draws, of
    which only the part that an item's opponents add is estimated: deviations are off by about 0.5 % where items have
    six opponents or more, by 2 % where they have four whom they met often, and by 9 % at most. The evidence is
    estimated too unless the graph is narrow, to about 1e-5 of its size; the learned variance is off by a small part of
    its own uncertainty. 100,000 items and 1,000,000 comparisons take about 20 s and 0.6 GB, and `rank` another 45 s.

    References
    ----------
    Bradley and Terry, "Rank analysis of incomplete block designs", 1952.
    Thurstone, "A law of comparative judgment", 1927.
    Rao and Kupper, "Ties in paired-comparison experiments", 1967.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> matches = Comparisons(None, ["ann", "ann", "bob", "cy"], ["bob", "cy", "cy", "ann"], weight=[3, 4, 2, 1])
    >>> model = BradleyTerry(prior=1.0).fit(matches)
    >>> model.predict_proba(matches)[:, 1].round(2)
    array([0.69, 0.79, 0.62, 0.21])
    >>> model.utility_.round(2), model.std_.round(2)
    (array([ 0.79, -0.12, -0.67]), array([0.74, 0.77, 0.76]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "link": [StrOptions({"logit", "probit"})],
        "inference": [StrOptions({"laplace", "ep"})],
        "hyperparameters": [StrOptions({"maximise", "average"})],
        "prior": [StrOptions({"auto", "evidence"}), Interval(Real, 0, None, closed="neither"), None],
        "ties": ["boolean"],
    }
    _WITH_PRIOR: ClassVar[tuple[tuple[str, str], ...]] = (("inference", "ep"), ("hyperparameters", "average"))
    _dense: ClassVar[int] = DENSE

    def __init__(
        self,
        link: Literal["logit", "probit"] = "logit",
        prior: Literal["auto", "evidence"] | float | None = "auto",
        *,
        inference: Literal["laplace", "ep"] = "laplace",
        hyperparameters: Literal["maximise", "average"] = "maximise",
        ties: bool = False,
    ) -> None:
        self.link = link
        self.prior = prior
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.ties = ties

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons
            Who was compared, and who won; without features of the items.
        y : None
            Not used: comparisons carry their outcomes.

        Returns
        -------
        BradleyTerry
            Itself, fitted.
        """
        self._validate_params()
        evidence = self._evidence_of(X)
        with few_threads(X.n_items):
            solution = evidence.maximise()
            few = self.hyperparameters == "average" and X.n_items <= self._dense and len(solution.theta) > 0
            points = evidence.average(solution) if few else None
            self._keep(X, evidence, solution, points)
        return self

    def _evidence_of(self, X: Any) -> PairEvidence:
        """Check the comparisons, and return their evidence as the parameters ask for it."""
        wants = [f'{name}="{value}"' for name, value in self._WITH_PRIOR if getattr(self, name) == value]
        if self.prior is None and wants:
            raise ValueError(
                f"BradleyTerry: {' and '.join(wants)} needs a prior, and prior=None is maximum likelihood. Use "
                'prior="auto", or leave that out.'
            )
        matches = read_matches(type(self).__name__, X, self.prior, ties=self.ties)
        if self.inference == "ep" and X.n_items > self._dense:
            raise DataError(
                f'BradleyTerry: inference="ep" factors a matrix of all items at every sweep; {X.n_items} items are '
                f'more than {self._dense}. Use inference="laplace".'
            )
        likelihood, _ = likelihood_of("BradleyTerry", self.link, self.inference, X.outcome, X.weight, ties=self.ties)
        return PairEvidence.start(matches, likelihood, self.prior, self._dense, self.inference)

    def _keep(
        self,
        X: Comparisons,
        evidence: PairEvidence,
        solution: PairSolution,
        points: tuple[HyperPosterior, list[PairSolution]] | None,
    ) -> None:
        mode = solution.mode
        evidence.settle(solution)
        self._evidence, self._mode, self._used = evidence, mode, np.arange(X.n_items)
        mixture = [(1.0, solution)]
        self.__dict__.pop("hyperposterior_", None)
        if points is not None:
            self.hyperposterior_, solutions = points
            mixture = [(float(w), s) for w, s in zip(self.hyperposterior_.weight, solutions, strict=True)]
        self._mixture = cast(list[tuple[float, Solution]], mixture)
        self.comparisons_, self.featureless_, self.on_bags_ = X, True, False
        self.n_items_, self.n_features_in_, self.item_names_ = X.n_items, 0, X.names
        self.likelihood_, self.prior_variance_ = solution.likelihood, mode.variance
        self.utility_, self.std_ = mean_of(mixture), deviations_of(mixture)
        self.log_evidence_ = None if mode.variance is None else mode.log_evidence
        self.log_likelihood_ = mode.log_likelihood
        self.theta_, self.bounds_, self.theta_names_ = solution.theta, evidence.bounds, evidence.names
        self.info_, self.n_iter_ = mode.info, mode.info.steps
        self.classes_ = np.array([-1.0, 1.0])
        owner = type(self).__name__
        warn_unfinished(owner, self.inference, [mode.info], self.likelihood_)
        sigma = self.sigma_
        if isinstance(self.prior, str) and sigma is not None and sigma > NOTHING_BUT_NOISE:
            warn_user(
                f"{owner}: the evidence of these {len(X)} comparisons is highest where all utilities are equal: they "
                "show no differences that noise would not.\n  Probabilities are close to 1/2. Collect more, or give "
                "the variance: prior=1.0.",
                DataWarning,
            )

    def _file_state(self) -> dict[str, Any]:
        """Return what model files keep; see `preflearn.models._pair_state`."""
        return state_of(self)

    def _from_file_state(self, state: dict[str, Any]) -> None:
        restore(self, state)

    @property
    def sigma_(self) -> float | None:
        """Noise of one item's utility in units of the prior deviation of utilities; None with ``prior=None``."""
        check_is_fitted(self)
        v = self.prior_variance_
        return None if v is None else float(self.likelihood_.noise_deviation / np.sqrt(2.0 * v))

    def log_evidence(self, theta: Any = None, *, gradient: bool = True) -> Any:
        """Return the log evidence at log parameters ``theta`` (default: the learned ones), with its gradient."""
        check_is_fitted(self)
        if self.prior is None:
            raise ValueError("log_evidence: there is no evidence without a prior. Fit with prior=1.0, for example.")
        given = check_theta("log_evidence", self.theta_ if theta is None else theta, self.theta_names_)
        with few_threads(self.n_items_):
            value, slope = self._evidence(given)
        return (value, slope) if gradient else value

    def rank(
        self,
        items: Any = None,
        *,
        k: int = 3,
        level: float = 0.9,
        n_samples: int | None = None,
        random_state: Any = 0,
        judge: Any = None,
    ) -> Ranking:
        """Rank items, with intervals for utilities and places, P(best) and P(top k), from their joint posterior.

        Parameters
        ----------
        items : names or row numbers of training items, or None, default=None
            Items to rank; None is those of training.
        k : int, default=3
            How many count as the top.
        level : float, default=0.9
            Probability of the intervals.
        n_samples : int, default=None
            Joint draws that places and probabilities are counted over; None is 4,000, and 400 for more than 3,000
            items.
        random_state : int, Generator, RandomState or None, default=0
            Source of the draws.
        judge : None
            Not used: judges are not told apart.

        Returns
        -------
        Ranking
            Items from best to worst.
        """
        check_is_fitted(self)
        if n_samples is None:
            n_samples = 4000 if self._exact(len(items_of_table(self, items)[0].number)) else 400
        return super().rank(items, k=k, level=level, n_samples=n_samples, random_state=random_state, judge=judge)

    def side_effect(self) -> SideEffect:
        """Estimate the advantage of being on the first side, beside the utilities, and test whether there is one.

        Returns
        -------
        SideEffect
            Estimate and standard error in units of utility, z and the two-sided p-value.

        Notes
        -----
        One more parameter β, without a prior: z = f_first - f_second + β, learned together with the utilities at the
        prior's variance and the threshold of the fit. White's advantage at chess, the home side's in sports, the left
        picture's. It means nothing where sides were chosen by the result, such as a table of winners and losers: who
        calls must know how sides came about. With a prior, utilities are drawn towards zero, so that β takes a part of
        what they leave if stronger items are on the first side more often; ``prior=None`` has no such bias.

        Examples
        --------
        >>> from preflearn import BradleyTerry, Comparisons
        >>> games = Comparisons(None, ["ann", "bob"] * 10, ["bob", "ann"] * 10, [1, 1, 1, -1, 1] * 4)
        >>> effect = BradleyTerry(prior=1.0).fit(games).side_effect()
        >>> round(effect.estimate, 2), round(effect.p_value, 3)
        (1.39, 0.013)
        """
        check_is_fitted(self)
        X = self.comparisons_
        signs = np.sign(X.outcome if X.weight is None else X.outcome[X.weight > 0])
        if abs(signs.sum()) == signs.shape[0]:
            raise DataError(
                f"side_effect: the {'first' if signs[0] > 0 else 'second'} item won all {signs.shape[0]} comparisons: "
                "sides seem to be sorted by the result, and say nothing. Give first and second as they were."
            )
        sided = matches_of(X, sides=True)
        with few_threads(self.n_items_):
            estimate, std = first_side(
                self._mode.f,
                self.prior_variance_,
                sided.graph,
                sided.side,
                sided.outcome,
                sided.weight,
                self.likelihood_,
                dense=self._dense,
            )
        z = estimate / std
        return SideEffect(estimate, std, z, float(2.0 * ndtr(-abs(z))))

    def _exact(self, count: int) -> bool:
        return self.n_items_ <= self._dense or count <= FEW

    def _items(self, new: Items, asked: Who | None) -> list[tuple[float, FloatArray, FloatArray]]:
        at = new.number
        return [(w, s.mode.f[at], s.mode.precision.variances[at]) for w, s in self._solutions()]

    def _joints(self, new: Items, asked: Who | None) -> list[tuple[float, FloatArray, FloatArray]]:
        return [(w, s.mode.f[new.number], s.mode.precision.joint(new.number)) for w, s in self._solutions()]

    def _relative(self, new: Items, asked: Who | None) -> list[tuple[float, FloatArray, FloatArray]]:
        if self._exact(len(new.number)):
            return super()._relative(new, asked)
        variance = cast(SparsePrecision, self._mode.precision).relative(new.number)
        mean = self.utility_[new.number]
        return [(1.0, mean - mean.mean(), np.sqrt(np.maximum(variance, 0.0)))]

    def _draw(
        self,
        new: Items,
        n_samples: int,
        rng: np.random.Generator,
        asked: Who | None,
        pairs: tuple[IntArray, IntArray] | None = None,
    ) -> FloatArray:
        return draws_of(self._solutions(), new.number, n_samples, rng, self._dense)

    def _pairs(
        self, new: Items, low: IntArray, high: IntArray, asked: Who | None, total: int, **beside: Any
    ) -> list[tuple[float, FloatArray, FloatArray]]:
        return self._moments(new.number[low], new.number[high])

    def _differences_of(
        self, X: Comparisons, total: int, side: bool = False
    ) -> list[tuple[float, FloatArray, FloatArray]]:
        number = items_of_comparisons(self, X, np.arange(X.n_items)).number
        return self._moments(number[X.first], number[X.second])

    def _moments(self, first: IntArray, second: IntArray) -> list[tuple[float, FloatArray, FloatArray]]:
        return [(w, *differences_of(s.mode, first, second)) for w, s in self._solutions()]

    def _solutions(self) -> list[tuple[float, PairSolution]]:
        return cast(list[tuple[float, PairSolution]], self._mixture)
