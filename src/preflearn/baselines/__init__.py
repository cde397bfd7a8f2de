"""Methods that the papers compare with, for comparisons in the same terms."""

from preflearn.baselines.constraint_svm import ConstraintSVM, ConstraintSVMCV
from preflearn.baselines.pair_augmented import PairAugmented

__all__ = ["ConstraintSVM", "ConstraintSVMCV", "PairAugmented"]
