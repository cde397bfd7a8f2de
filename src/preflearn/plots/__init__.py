"""Pictures of fitted models, by matplotlib (``pip install "preflearn[plot]"``).

Every function draws into ``ax`` (a new figure if None), returns the Axes and changes nothing else.
"""

from preflearn.plots.calibration import plot_calibration
from preflearn.plots.evidence import plot_evidence
from preflearn.plots.ranking import plot_ranking
from preflearn.plots.relevances import plot_relevances
from preflearn.plots.utility import plot_utility

__all__ = ["plot_calibration", "plot_evidence", "plot_ranking", "plot_relevances", "plot_utility"]
