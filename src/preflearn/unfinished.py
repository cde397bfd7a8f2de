"""The warning of a computation that stopped too early: ours, and scikit-learn's for those who filter by that."""

from sklearn.exceptions import ConvergenceWarning

from preflearn.exceptions import PreflearnWarning

__all__ = ["UnfinishedWarning"]


class UnfinishedWarning(PreflearnWarning, ConvergenceWarning):
    """An iteration stopped before it reached its tolerance; the message says how far it came."""
