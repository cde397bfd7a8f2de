"""Pictures of fitted models, by matplotlib (``pip install "preflearn[plot]"``).

Every function draws into ``ax`` (a new figure if None), returns the Axes and changes nothing else.
"""

from preflearn.plots.calibration import plot_calibration
from preflearn.plots.evidence import plot_evidence
from preflearn.plots.preferences import plot_comparison_graph, plot_preferences, plot_shares, plot_spectrum
from preflearn.plots.ranking import plot_ranking
from preflearn.plots.relevances import plot_relevances
from preflearn.plots.utility import plot_utility

__all__ = [
    "plot_calibration",
    "plot_comparison_graph",
    "plot_evidence",
    "plot_preferences",
    "plot_ranking",
    "plot_relevances",
    "plot_shares",
    "plot_spectrum",
    "plot_utility",
]
