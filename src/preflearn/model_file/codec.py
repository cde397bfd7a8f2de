"""Values as JSON and arrays, and back, through fixed tables of classes.

Plain values are themselves; anything else is an object ``{"$": kind, ...}``. Numbers keep every digit. What is not in
a table cannot be saved, and cannot be read: a file can name no class, function or module that is not listed here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from preflearn.data import Bags
from preflearn.exceptions import DataError
from preflearn.kernels.approximate import BasisMap, FourierMap, Nystroem, RandomFourier
from preflearn.kernels.factor import LinearMap
from preflearn.metrics import (
    RankingScorer,
    concordance_index,
    disagreement_error,
    kendall_tau_b,
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at_k,
    spearman,
    squared_difference_error,
    squared_margin_error,
)
from preflearn.models import KPCR, RLS, KPCRank, KPCRankCV, RankRLS, RankRLSCV
from preflearn.models._components import Components

__all__ = ["ESTIMATORS", "KERNELS", "Decoder", "Encoder"]


def _table(*classes: Any) -> dict[str, Any]:
    return {kind.__name__: kind for kind in classes}


ESTIMATORS = _table(RLS, RankRLS, RankRLSCV, KPCR, KPCRank, KPCRankCV)
KERNELS = _table(
    gp.ConstantKernel,
    gp.WhiteKernel,
    gp.DotProduct,
    gp.RBF,
    gp.Matern,
    gp.RationalQuadratic,
    gp.ExpSineSquared,
    gp.PairwiseKernel,
    gp.Sum,
    gp.Product,
    gp.Exponentiation,
)
# Dataclasses that fit leaves, by their fields; objects that parameters hold, by the arguments of their constructor.
_RECORDS = _table(LinearMap, BasisMap, FourierMap, Components)
_OBJECTS = _table(Nystroem, RandomFourier, RankingScorer, KFold, GroupKFold, LeaveOneGroupOut)
_FUNCTIONS = _table(
    concordance_index,
    disagreement_error,
    kendall_tau_b,
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at_k,
    spearman,
    squared_difference_error,
    squared_margin_error,
)
_SPARSE = _table(sp.csr_array, sp.csr_matrix)
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

Array = NDArray[Any]


class Encoder:
    """Turns values into JSON; the arrays are collected in ``arrays``."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.arrays: list[Array] = []

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` is the parameter or attribute, for messages."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if isinstance(value, list | tuple | range):
            items = [self.encode(item, where) for item in value]
            return {"$": "tuple", "items": items} if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return {"$": "dict", "items": [[self.encode(k, where), self.encode(v, where)] for k, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        return self._object(value, where)

    def _array(self, value: Array, where: str) -> dict[str, Any]:
        if value.dtype.kind in "OU":
            return {"$": "labels", "items": [self.encode(item, where) for item in value.tolist()]}
        if value.dtype.kind not in "biuf":
            raise self._refuse(value, where)
        value = value.astype(value.dtype.newbyteorder("<"), copy=False)
        self.arrays.append(value)
        return {"$": "array", "number": len(self.arrays) - 1, "dtype": value.dtype.str, "shape": list(value.shape)}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        name = type(value).__name__
        if _SPARSE.get(name) is type(value):
            parts = {part: self._array(getattr(value, part), where) for part in ("data", "indices", "indptr")}
            return {"$": "sparse", "class": name, "shape": list(value.shape), "parts": parts}
        if type(value) is Bags:
            return {"$": "bags", "points": self._array(value.points, where), "sizes": self._array(value.sizes, where)}
        if KERNELS.get(name) is type(value):
            return self._tagged("kernel", value, list(value.get_params(deep=False)), where)
        if _RECORDS.get(name) is type(value):
            return self._tagged("record", value, [field.name for field in fields(value)], where)
        if _OBJECTS.get(name) is type(value):
            return self._tagged("object", value, _arguments(type(value)), where)
        called = getattr(value, "__name__", None)
        if called is not None and _FUNCTIONS.get(called) is value:
            return {"$": "function", "name": called}
        if type(value) is np.random.RandomState:
            return {"$": "random", "state": self.encode(value.get_state(legacy=False), where)}
        raise self._refuse(value, where)

    def _tagged(self, tag: str, value: Any, names: list[str], where: str) -> dict[str, Any]:
        content = {name: self.encode(getattr(value, name), where) for name in names}
        return {"$": tag, "class": type(value).__name__, "fields": content}

    def _refuse(self, value: Any, where: str) -> DataError:
        cure = "Use a kernel of scikit-learn, or a metric of preflearn"
        if where in ESTIMATORS[self.owner]().get_params(deep=False) and not where.startswith("kernel"):
            cure = f"Predictions do not depend on it: call set_params({where}=...) with a plain value, then save"
        text = f"a {type(value).__name__}" if callable(value) or len(repr(value)) > 60 else repr(value)
        return DataError(
            f"{self.owner}: {where} holds {text}, which is code and not data, so it cannot be saved in a model file. "
            f"{cure}."
        )


class Decoder:
    """Turns JSON back into values; ``array`` returns an array by its number, dtype and shape, having checked them."""

    def __init__(self, array: Callable[[int, str, list[int]], Array]) -> None:
        self._array = array

    def decode(self, value: Any) -> Any:
        """Return the value of a JSON value."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        tag = value.get("$")
        if tag == "float":
            return _FLOATS[value["value"]]
        if tag == "tuple":
            return tuple(self.decode(item) for item in value["items"])
        if tag == "dict":
            return {self.decode(key): self.decode(item) for key, item in value["items"]}
        if tag == "labels":
            labels = np.empty(len(value["items"]), dtype=object)
            labels[:] = [self.decode(item) for item in value["items"]]
            return labels
        if tag == "array":
            return self._array(value["number"], value["dtype"], value["shape"])
        if tag == "sparse":
            return self._sparse(value)
        if tag == "bags":
            points, sizes = self.decode(value["points"]), self.decode(value["sizes"])
            if sizes.ndim != 1 or not len(sizes) or sizes.min() < 1 or sizes.sum() != len(points):
                raise DataError("sizes of bags that are not those of their points")
            return Bags(np.split(points, np.cumsum(sizes)[:-1]))
        if tag == "function":
            return _listed(_FUNCTIONS, value["name"])
        if tag == "random":
            state = np.random.RandomState()
            state.set_state(self.decode(value["state"]))
            return state
        if tag in ("kernel", "record", "object"):
            return self._tagged(value, {"kernel": KERNELS, "record": _RECORDS, "object": _OBJECTS}[tag])
        raise DataError(f"a value of the unknown kind {tag!r}")

    def _tagged(self, value: dict[str, Any], table: dict[str, Any]) -> Any:
        kind = _listed(table, value["class"])
        content = {name: self.decode(item) for name, item in value["fields"].items()}
        expected = [field.name for field in fields(kind)] if table is _RECORDS else _arguments(kind)
        if sorted(content) != sorted(expected):
            raise DataError(f"{kind.__name__} needs {', '.join(expected)}, the file has {', '.join(content)}")
        return kind(**content)

    def _sparse(self, value: dict[str, Any]) -> Any:
        kind = _listed(_SPARSE, value["class"])
        parts = [self.decode(value["parts"][name]) for name in ("data", "indices", "indptr")]
        n_rows, n_columns = value["shape"]
        matrix = kind(tuple(parts), shape=(int(n_rows), int(n_columns)))
        matrix.check_format(full_check=True)  # indices out of range would be read outside the arrays
        return matrix


def _listed(table: dict[str, Any], name: Any) -> Any:
    if not isinstance(name, str) or name not in table:
        raise DataError(f"{name!r} is not among {', '.join(table)}")
    return table[name]


def _arguments(kind: Any) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "args", "kwargs")]
