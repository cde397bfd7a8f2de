"""Pictures of fitted models, by matplotlib (``pip install "preflearn[plot]"``).

Every function draws into ``ax`` (a new figure if None), returns the Axes and changes nothing else.
"""

from preflearn.plots.plot_calibration import plot_calibration
from preflearn.plots.plot_evidence import plot_evidence
from preflearn.plots.plot_preferences import plot_comparison_graph, plot_preferences, plot_shares, plot_spectrum
from preflearn.plots.plot_ranking import plot_ranking
from preflearn.plots.plot_relevances import plot_relevances
from preflearn.plots.plot_utility import plot_utility

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
