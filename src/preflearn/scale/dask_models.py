"""Estimators that learn from Dask collections: the workers count and sum, and one process solves.

Each makes an ordinary estimator, `to_local`, with the answers of the same data in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from preflearn.likelihoods import get_likelihood
from preflearn.models import RLS, BradleyTerry, PreferenceGP, RankRLS
from preflearn.scale.dask_counts import count_comparisons
from preflearn.scale.dask_rows import DaskRows, collection_of


class OnDask(BaseEstimator, ABC):
    """Base of the estimators that learn from Dask collections; not public."""

    client: Any
    _local: Any

    @abstractmethod
    def _ordinary(self) -> Any:
        """Return the estimator with these parameters that is to be fitted."""

    @property
    def client_(self) -> Any:
        """The client that computes: the given one, or that of this process; None without a cluster."""
        if self.client is not None:
            return self.client
        try:
            from distributed import get_client

            return get_client()
        except (ImportError, ValueError):  # Dask's own threads do
            return None

    def _run(self, task: Any) -> Any:
        client = self.client_
        return task.compute() if client is None else client.compute(task, sync=True)

    def to_local(self) -> Any:
        """Return the ordinary fitted estimator, which predicts, explains itself and can be saved."""
        check_is_fitted(self, "_local")
        return self._local

    def _parameters(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name != "client"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_local")


class OfDaskRows(OnDask):
    """Base of those that learn from rows; not public."""

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit on scored rows in Dask collections.

        Parameters
        ----------
        X : Dask array or data frame (n_items, n_features)
            Features.
        y, qid, sample_weight : Dask arrays or series (n_items,), default=None
            Scores, groups and weights of rows. Rows of a group may be in any partitions, in any order.

        Returns
        -------
        estimator
            Itself.
        """
        rows = collection_of(type(self).__name__, X, y, qid, sample_weight)
        self._local = self._ordinary().fit(DaskRows(type(self).__name__, rows, self._run))
        self.coef_, self.n_features_in_ = self._local.coef_, self._local.n_features_in_
        return self

    def predict(self, X: Any) -> Any:
        """Return the utilities of rows of a Dask collection, as a Dask array or series that is computed when asked for.

        Parameters
        ----------
        X : Dask array or data frame (n_items, n_features)
            Features; of a data frame the columns are matched by name.
        """
        check_is_fitted(self, "_local")
        model, names = self._local, getattr(self._local, "feature_names_in_", None)
        if hasattr(X, "map_partitions"):
            wanted = list(X.columns if names is None else names)
            return X[wanted].map_partitions(_utilities, model, meta=("utility", np.float64))
        if not hasattr(X, "map_blocks"):
            raise TypeError(
                f"{type(self).__name__}.predict takes a Dask array or data frame; X is {type(X).__name__}. "
                "Use to_local().predict for what is in memory."
            )
        return X.rechunk({1: -1}).map_blocks(model.predict, dtype=np.float64, drop_axis=1)


def _utilities(part: Any, model: Any) -> Any:
    import pandas as pd

    found = model.predict(part) if len(part) else np.empty(0)
    return pd.Series(found, index=part.index, name="utility")


class DaskRLS(OfDaskRows):
    """`RLS` on rows in a Dask collection.

    Answers: how do I regress scores on more rows than one machine holds?

    Parameters
    ----------
    alpha, kernel, approximation : as in `RLS`
        Penalty and features; kernels without features need an approximation.
    client : distributed.Client, default=None
        Who computes. None: the client of this process if there is one, else threads.

    Attributes
    ----------
    coef_ : ndarray (n_features,)
        Weights.
    client_ : distributed.Client or None
        Who computes.

    See Also
    --------
    DaskRankRLS : the same for differences of scores, with what is moved and held.

    Notes
    -----
    One pass over the rows; d² sums are moved for every few partitions. *Differences from the paper*: none.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from preflearn.scale import DaskRLS
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2) % 5, chunks=(2, 2))
    >>> DaskRLS(alpha=1e-6).fit(X, X[:, 0] - X[:, 1]).coef_.round(3)
    array([ 1., -1.])
    """

    def __init__(
        self, alpha: float = 1.0, kernel: Any = "linear", *, approximation: Any = None, client: Any = None
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.approximation = approximation
        self.client = client

    def _ordinary(self) -> RLS:
        return RLS(**self._parameters())


class DaskRankRLS(OfDaskRows):
    """`RankRLS` on rows in a Dask collection, with groups anywhere.

    Answers: how do I learn to rank from more rows than one machine holds?

    Parameters
    ----------
    alpha, kernel, ties, weighting, approximation : as in `RankRLS`
        Penalty, features and what pairs count; kernels without features need an approximation.
    client : distributed.Client, default=None
        Who computes. None: the client of this process if there is one, else threads.

    Attributes
    ----------
    coef_ : ndarray (n_features,)
        Weights.
    client_ : distributed.Client or None
        Who computes.

    See Also
    --------
    preflearn.scale.read_chunks : files larger than memory on one machine.

    Notes
    -----
    The answer is that of `RankRLS` on all rows at once, whatever the order of rows, with groups in several partitions
    too. Two passes over labels find these groups and their weights; one pass over the features sums d² numbers for each
    worker, and d for each group in several partitions (with ``ties="exclude"`` also for each of its scores that occurs
    twice). Rows themselves are never moved; they are read again for each pass, unless the collection is persisted. A
    worker that is lost is replaced by Dask, and its partitions are summed again. *Differences from the paper*: none
    beside those of `RankRLS`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from preflearn.scale import DaskRankRLS
    >>> X = da.from_array(np.arange(12.0).reshape(6, 2) % 5, chunks=(2, 2))
    >>> qid = da.from_array(np.array([0, 1, 0, 1, 0, 1]), chunks=2)
    >>> model = DaskRankRLS(alpha=1e-6).fit(X, X[:, 0] + 10 * qid, qid=qid)
    >>> model.to_local().predict([[3.0, 1.0], [1.0, 3.0]]).round(3)
    array([3., 1.])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        kernel: Any = "linear",
        *,
        ties: Literal["include", "exclude"] = "include",
        weighting: Literal["pairs", "groups"] = "pairs",
        approximation: Any = None,
        client: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.ties = ties
        self.weighting = weighting
        self.approximation = approximation
        self.client = client

    def _ordinary(self) -> RankRLS:
        return RankRLS(**self._parameters())


class OfDaskComparisons(OnDask):
    """Base of those that learn from comparisons; not public."""

    @property
    def _margins(self) -> bool:
        """Whether more of an outcome counts than its sign."""
        return False

    def fit(self, frame: Any, *, columns: Mapping[str, str] | None = None, items: Any = None) -> Self:
        """Fit on comparisons in a Dask data frame.

        Parameters
        ----------
        frame : Dask data frame
            A comparison in each row.
        columns : mapping, default=None
            Columns by role: first, second and outcome (positive: the first was preferred; 0: a tie), or winner and
            loser; weight, judge and cluster where there are some. By default the columns with these names.
        items : data frame or ItemTable, default=None
            Features of the items with their names, as in `Comparisons`.

        Returns
        -------
        estimator
            Itself.
        """
        model = self._ordinary()
        judges = model.side == "judge" or any(
            getattr(model, name, None) for name in ("judge_kernel", "judge_reliability")
        )
        beside = [name for name, wanted in (("judge", judges), ("cluster", model.cluster)) if wanted]
        owner = type(self).__name__
        counted = count_comparisons(owner, frame, columns, items, beside, self._run, margins=self._margins)
        self._local = model.fit(counted)
        return self


class DaskBradleyTerry(OfDaskComparisons):
    """`BradleyTerry` on comparisons in a Dask data frame.

    Answers: who is best, by more votes than one machine holds?

    Parameters
    ----------
    link, prior, inference, hyperparameters, ties, side, cluster : as in `BradleyTerry`
        The model.
    client : distributed.Client, default=None
        Who computes. None: the client of this process if there is one, else threads.

    Attributes
    ----------
    client_ : distributed.Client or None
        Who computes.

    Notes
    -----
    Workers count the votes of their partitions by pair, outcome and whatever else the model tells apart (Dask's
    group-by); counts are added and learned from in this process. Moved are at most as many numbers as there are
    different comparisons. *Differences from the paper*: none.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from preflearn.scale import DaskBradleyTerry
    >>> votes = pd.DataFrame({"winner": ["a", "a", "b", "c"], "loser": ["b", "c", "c", "a"]})
    >>> model = DaskBradleyTerry(prior=1.0).fit(dd.from_pandas(votes, npartitions=2)).to_local()
    >>> model.item_names_, model.utility_.round(2)
    (array(['a', 'b', 'c'], dtype=object), array([ 0.22,  0.  , -0.22]))
    """

    def __init__(
        self,
        link: Literal["logit", "probit"] = "logit",
        prior: Any = "auto",
        *,
        inference: Literal["auto", "laplace", "ep"] = "auto",
        hyperparameters: Literal["maximise", "average"] = "maximise",
        ties: bool = False,
        side: Any = False,
        cluster: bool = False,
        client: Any = None,
    ) -> None:
        self.link = link
        self.prior = prior
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.ties = ties
        self.side = side
        self.cluster = cluster
        self.client = client

    def _ordinary(self) -> BradleyTerry:
        return BradleyTerry(**self._parameters())


class DaskPreferenceGP(OfDaskComparisons):
    """`PreferenceGP` on comparisons in a Dask data frame, in the space of the weights of some functions.

    Answers: who is better, with what probability, by more comparisons than one machine reads?

    Parameters
    ----------
    kernel, likelihood, hyperparameters, ties, side, n_restarts, random_state : as in `PreferenceGP`
        The model.
    approximation : Nystroem, RandomFourier or None, default=None
        Functions whose sums utilities are. None is the exact model, for up to a few thousand items.
    client : distributed.Client, default=None
        Who computes. None: the client of this process if there is one, else threads.

    Attributes
    ----------
    client_ : distributed.Client or None
        Who computes.

    See Also
    --------
    DaskBradleyTerry : the same without features.

    Notes
    -----
    Workers merge equal comparisons of their partitions into weights (Dask's group-by), as `PreferenceGP` does with what
    it is given; the model is learned from these sums in this process, n r² for n items and r functions at each step,
    whatever the number of votes. Moved and held here are the different comparisons, and the table of the items.
    *Differences from the paper*: as `PreferenceGP`.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from preflearn import Nystroem
    >>> from preflearn.scale import DaskPreferenceGP
    >>> items = pd.DataFrame({"item": ["a", "b", "c"], "size": [1.0, 2.0, 3.0]})
    >>> votes = dd.from_pandas(pd.DataFrame({"winner": ["a", "b", "a"], "loser": ["b", "c", "c"]}), npartitions=2)
    >>> model = DaskPreferenceGP(approximation=Nystroem(3), hyperparameters="fixed").fit(votes, items=items)
    >>> ranking = model.to_local().rank()
    >>> ranking.names[0]
    'a'
    """

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        *,
        hyperparameters: Literal["maximise", "average", "fixed"] = "maximise",
        ties: bool = False,
        side: bool | Literal["judge"] = False,
        approximation: Any = None,
        n_restarts: int = 2,
        random_state: Any = None,
        client: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.hyperparameters = hyperparameters
        self.ties = ties
        self.side = side
        self.approximation = approximation
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.client = client

    @property
    def _margins(self) -> bool:
        return bool(get_likelihood(self.likelihood).margins)

    def _ordinary(self) -> PreferenceGP:
        return PreferenceGP(**self._parameters())
