"""Kernels: Gram matrices, their pullbacks, centring and factors, for scikit-learn's kernel objects.

In reading order: ``resolve`` (names to kernel objects), ``rules`` (Gram matrices and pullbacks, by a rule for each
kernel, over ``distances``), ``bags`` (the same between samples of rows), ``centre``, ``factor`` and ``approximate``
(Gram matrix or rows to factors).
"""

from preflearn.kernels.approximate import Nystroem, RandomFourier
from preflearn.kernels.centre import centre_cross, centre_gram
from preflearn.kernels.factor import FeatureMap, LinearMap, cholesky_factor, leading_components, linear_map
from preflearn.kernels.resolve import KERNEL_NAMES, resolve_kernel
from preflearn.kernels.rules import gram, gram_and_pullback, gram_diag, pullback

__all__ = [
    "KERNEL_NAMES",
    "FeatureMap",
    "LinearMap",
    "Nystroem",
    "RandomFourier",
    "centre_cross",
    "centre_gram",
    "cholesky_factor",
    "gram",
    "gram_and_pullback",
    "gram_diag",
    "leading_components",
    "linear_map",
    "pullback",
    "resolve_kernel",
]
