"""Kernels: Gram matrices, their pullbacks, centring and factors, for scikit-learn's kernel objects.

In reading order: ``resolve`` (names to kernel objects; where parameters are learned, see `preflearn.terms.utility`),
``rules`` (Gram matrices and pullbacks, by a rule for each kernel, over ``distances``), ``precomputed`` (given values in
place of features), ``bag_means`` (kernels between samples of rows), ``centre``, ``factor`` and ``approximate`` (rows to
features).
"""

from preflearn.kernels.approximate import Nystroem, RandomFourier
from preflearn.kernels.centre import centre_cross, centre_gram
from preflearn.kernels.factor import FeatureMap, LinearMap, linear_map
from preflearn.kernels.precomputed import Precomputed
from preflearn.kernels.resolve import KERNEL_NAMES, resolve_kernel
from preflearn.kernels.rules import gram, gram_and_pullback, gram_diag, gram_listed

__all__ = [
    "KERNEL_NAMES",
    "FeatureMap",
    "LinearMap",
    "Nystroem",
    "Precomputed",
    "RandomFourier",
    "centre_cross",
    "centre_gram",
    "gram",
    "gram_and_pullback",
    "gram_diag",
    "gram_listed",
    "linear_map",
    "resolve_kernel",
]
