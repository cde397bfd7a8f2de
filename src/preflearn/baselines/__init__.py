"""Methods that the papers compare with, for comparisons in the same terms."""

from preflearn.baselines.constraint_svm import ConstraintSVM, ConstraintSVMCV
from preflearn.baselines.label_constraint_svm import LabelConstraintSVM
from preflearn.baselines.label_frequencies import LabelFrequencies
from preflearn.baselines.page_rank import PageRank
from preflearn.baselines.pair_augmented import PairAugmented
from preflearn.baselines.rank_boost import RankBoost
from preflearn.baselines.rank_centrality import RankCentrality
from preflearn.baselines.rank_svm import RankSVM
from preflearn.baselines.serial_rank import SerialRank
from preflearn.baselines.svd_rank import SVDRank

__all__ = [
    "ConstraintSVM",
    "ConstraintSVMCV",
    "LabelConstraintSVM",
    "LabelFrequencies",
    "PageRank",
    "PairAugmented",
    "RankBoost",
    "RankCentrality",
    "RankSVM",
    "SVDRank",
    "SerialRank",
]
