"""Values as JSON and arrays, and back, through the tables of `preflearn.files.known_classes`: nothing else is named."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from preflearn.exceptions import DataError
from preflearn.files.known_classes import (
    ESTIMATORS,
    FUNCTIONS,
    OBJECTS,
    PARTS,
    SPARSE,
    TRANSFORMERS,
    checked,
)
from preflearn.files.tabular import BUILDERS, fields_of

_CLASSES = {kind.__name__: kind for kind in (*ESTIMATORS, *TRANSFORMERS, *PARTS)}
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_NAME = re.compile(r"_?[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*_?")
_SMALLEST, _LARGEST = 1e-100, 1e100  # parameters of kernels, whose squares should be numbers

Array = NDArray[Any]


class Encoder:
    """Turns values into JSON; the arrays are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._inside: list[Any] = []  # estimators, for messages

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` is the parameter or attribute, for messages."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if type(value).__name__ in BUILDERS and not isinstance(value, BaseEstimator):
            return self._tagged("data", value, fields_of(value), where)
        if isinstance(value, list | tuple | range):
            items = [self.encode(item, where) for item in value]
            return {"$": "tuple", "items": items} if isinstance(value, tuple) else items
        if isinstance(value, dict):
            return {"$": "dict", "items": [[self.encode(k, where), self.encode(v, where)] for k, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, BaseEstimator) and type(value) not in OBJECTS.values():
            return {"$": "estimator", **self.estimator(value, where)}
        return self._object(value, where)

    def estimator(self, value: Any, where: str) -> dict[str, Any]:
        """Return an estimator, fitted or not: its class, its parameters and what ``fit`` left."""
        kind = type(value)
        if checked(kind) is None:
            raise self._refuse(value, where)
        self._inside.append(value)
        parameters = value.get_params(deep=False)
        left = {name: item for name, item in vars(value).items() if name not in parameters}
        found: dict[str, Any] = {"class": kind.__name__, "fitted": {}}
        found["parameters"] = {name: self.encode(item, name) for name, item in parameters.items()}
        if left and hasattr(kind, "_file_state"):
            found["state"] = self.encode(value._file_state(), "its state")
        else:
            found["fitted"] = {name: self.encode(item, name) for name, item in left.items()}
        self._inside.pop()
        return found

    def _array(self, value: Array, where: str) -> dict[str, Any]:
        if value.dtype.kind in "OU" and value.ndim == 1:
            items = [self.encode(item, where) for item in value.tolist()]
            return {"$": "labels", "words": value.dtype.kind == "U", "items": items}
        if value.dtype.kind not in "biuf":
            raise self._refuse(value, where)
        value = value.astype(value.dtype.newbyteorder("<"), copy=False)
        self.arrays.append(value)
        return {"$": "array", "number": len(self.arrays) - 1, "dtype": value.dtype.str, "shape": list(value.shape)}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        name = type(value).__name__
        if SPARSE.get(name) is type(value):
            parts = {part: self._array(getattr(value, part), where) for part in ("data", "indices", "indptr")}
            return {"$": "sparse", "class": name, "shape": list(value.shape), "parts": parts}
        if OBJECTS.get(name) is type(value):
            return self._tagged("object", value, {one: getattr(value, one) for one in _arguments(type(value))}, where)
        if isinstance(value, np.dtype) and value.type in FUNCTIONS.values():
            return {"$": "dtype", "name": value.name}
        called = getattr(value, "__name__", "")
        if FUNCTIONS.get(called) is value:
            return {"$": "function", "name": called}
        if type(value) is np.random.RandomState:
            return {"$": "random", "state": self.encode(value.get_state(legacy=False), where)}
        raise self._refuse(value, where)

    def _tagged(self, tag: str, value: Any, content: dict[str, Any], where: str) -> dict[str, Any]:
        encoded = {name: self.encode(item, where) for name, item in content.items()}
        return {"$": tag, "class": type(value).__name__, "fields": encoded}

    def _refuse(self, value: Any, where: str) -> DataError:
        name = type(value).__name__
        owner = type(self._inside[-1]).__name__ if self._inside else "save"
        if isinstance(value, BaseEstimator):
            known = ", ".join(kind.__name__ for kind in TRANSFORMERS)
            return DataError(code="model-part-unknown", owner=owner).says(
                f"{where} holds a {name}, which model files do not hold; they hold estimators of preflearn and {known}",
                "Use one of these, or keep the model with joblib.dump, for people you trust",
            )
        cure = "Use a kernel of scikit-learn, or a likelihood or a metric of preflearn"
        if self._inside and where in ("cv", "scoring", "random_state", "memory"):
            cure = f"Predictions do not depend on it: call set_params({where}=...) with a plain value, then save"
        text = f"a {name}" if callable(value) or len(repr(value)) > 60 else repr(value)
        return DataError(code="model-holds-code", owner=owner).says(
            f"{where} holds {text}, which is code and not data, so it cannot be saved in a model file", cure
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
            return self._labels(value)
        if tag == "array":
            return self._array(value["number"], value["dtype"], value["shape"])
        if tag == "sparse":
            return self._sparse(value)
        if tag == "data":
            content = {name: self.decode(item) for name, item in value["fields"].items()}
            return _listed(BUILDERS, value["class"])(**content)
        if tag in ("dtype", "function"):
            found = _listed(FUNCTIONS, value["name"])
            return np.dtype(found) if tag == "dtype" else found
        if tag == "random":
            state = np.random.RandomState()
            state.set_state(self.decode(value["state"]))
            return state
        if tag == "object":
            return self._built(value)
        if tag == "estimator":
            return self.estimator(value)
        raise DataError(f"a value of the unknown kind {tag!r}")

    def estimator(self, value: dict[str, Any]) -> Any:
        """Return an estimator with what ``fit`` left, its parts checked against each other."""
        kind = _listed(_CLASSES, value["class"])
        parameters = {name: self.decode(item) for name, item in value["parameters"].items()}
        estimator = kind(**parameters)
        state, fitted = value.get("state"), value["fitted"]
        if state is not None and (fitted or not hasattr(kind, "_from_file_state")):
            raise DataError(f"{kind.__name__} has no state")
        for name, item in fitted.items():
            if name in parameters or hasattr(kind, name) or not _NAME.fullmatch(name):
                raise DataError(f"{name!r} is not the name of something that fit leaves")
            setattr(estimator, name, self.decode(item))
        if state is not None:
            estimator._from_file_state(self.decode(state))
        elif fitted and hasattr(kind, "_from_file_state"):
            raise DataError(f"{kind.__name__} should have a state")
        check = checked(kind)
        if check is not None and (fitted or state is not None or kind.__name__ == "Pipeline"):
            if fitted and hasattr(kind, "_parameter_constraints"):
                estimator._validate_params()
            check(estimator)
        return estimator

    def _labels(self, value: dict[str, Any]) -> Array:
        items = [self.decode(item) for item in value["items"]]
        if value["words"]:
            if not all(isinstance(item, str) for item in items):
                raise DataError("a word is not text")
            return np.array(items, dtype=np.str_)
        labels = np.empty(len(items), dtype=object)
        labels[:] = items
        return labels

    def _built(self, value: dict[str, Any]) -> Any:
        kind = _listed(OBJECTS, value["class"])
        content = {name: self.decode(item) for name, item in value["fields"].items()}
        expected = _arguments(kind)
        if sorted(content) != sorted(expected):
            raise DataError(f"{kind.__name__} needs {', '.join(expected)}, the file has {', '.join(content)}")
        built = kind(**content)
        if isinstance(built, Kernel):
            _check_kernel(built)
        return built

    def _sparse(self, value: dict[str, Any]) -> Any:
        kind = _listed(SPARSE, value["class"])
        parts = [self.decode(value["parts"][name]) for name in ("data", "indices", "indptr")]
        n_rows, n_columns = value["shape"]
        matrix = kind(tuple(parts), shape=(int(n_rows), int(n_columns)))
        matrix.check_format(full_check=True)  # indices out of range would be read outside the arrays
        return matrix


def _check_kernel(kernel: Any) -> None:
    values = kernel.get_params(deep=False)
    for free in kernel.hyperparameters:
        if free.name in values:  # others are those of its parts
            found = np.asarray(values[free.name])
            if found.dtype.kind not in "iuf" or not ((found == 0) | ((found >= _SMALLEST) & (found <= _LARGEST))).all():
                raise DataError(f"{free.name} of {type(kernel).__name__} is {values[free.name]!r}")


def _listed(table: dict[str, Any], name: Any) -> Any:
    if not isinstance(name, str) or name not in table:
        raise DataError(f"{name!r} is not among {', '.join(table)}")
    return table[name]


def _arguments(kind: Any) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "args", "kwargs")]
