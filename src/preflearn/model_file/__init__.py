r"""Model files: fitted estimators as data, never as code.

A file is a zip archive of a JSON header (``header.json``) and ``.npy`` arrays, stored uncompressed so that no member
can be larger than the file. The header says which class of a fixed table it is, its parameters and what ``fit`` left;
reading builds only objects of fixed tables (`preflearn.model_file.codec`) and never unpickles or imports by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from preflearn._version import __version__
from preflearn.exceptions import DataError, FileFormatError
from preflearn.model_file.codec import ESTIMATORS, Decoder, Encoder
from preflearn.model_file.container import read_container, write_container
from preflearn.model_file.sizes import check_sizes

__all__ = ["FORMAT_VERSION", "load_model", "open_model", "save_model"]

FORMAT_VERSION = 1
_FORMAT = "preflearn model"
# Private, but what get_feature_names_out of the estimators on components reads.
_ALSO_FITTED = ("_n_features_out",)


def save_model(estimator: Any, path: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
    r"""Save a fitted estimator.

    Parameters
    ----------
    estimator : RLS, RankRLS, RankRLSCV, KPCR, KPCRank or KPCRankCV
        Fitted.
    path : str or Path
        Where to. An existing file is replaced in one step: at no time is there a half-written file under this name.
    notes : mapping, default=None
        What else `open_model` should return: strings, numbers, None, lists and mappings of these, such as the names of
        the items.

    Raises
    ------
    DataError
        If a parameter is not data (a splitter or a metric of your own); the message says how to save nevertheless.

    Notes
    -----
    Cost: one pass over the arrays. The training rows are part of the file where the kernel needs them
    (``X_fit_``): a kernel model of private data is private data.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn import RankRLS, load_model, save_model
    >>> model = RankRLS().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.preflearn")
    ...     save_model(model, path)
    ...     again = load_model(path)
    >>> bool((again.predict([[2.0]]) == model.predict([[2.0]])).all())
    True
    """
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"save_model: model files hold {', '.join(ESTIMATORS)}; this is a {name}. "
            "Gaussian processes, pipelines and other objects can be kept with joblib.dump, for people you trust."
        )
    check_is_fitted(estimator)
    encoder = Encoder(name)
    parameters = estimator.get_params(deep=False)
    fitted = {key: value for key, value in vars(estimator).items() if key not in parameters and _is_fitted_name(key)}
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "preflearn_version": __version__,
        "class": name,
        "parameters": {key: encoder.encode(value, key) for key, value in parameters.items()},
        "fitted": {key: encoder.encode(value, key) for key, value in fitted.items()},
        "notes": encoder.encode(dict(notes or {}), "notes"),
    }
    write_container(Path(path), header, encoder.arrays)


def load_model(path: str | Path) -> Any:
    """Return the estimator of a model file.

    Parameters
    ----------
    path : str or Path
        A file written by `save_model`.

    Returns
    -------
    estimator
        Fitted, with the same predictions as the one that was saved.

    Raises
    ------
    FileFormatError
        If the file is missing, not a model file, damaged, or from a newer version of preflearn.

    Notes
    -----
    No code of the file is executed, and declared sizes are checked before anything of that size is read.

    Examples
    --------
    >>> from preflearn import load_model
    >>> load_model("nowhere.preflearn")
    Traceback (most recent call last):
        ...
    preflearn.exceptions.FileFormatError: nowhere.preflearn: there is no such file...
    """
    return open_model(path)[0]


def open_model(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of a model file and the notes that were saved with it.

    Parameters
    ----------
    path : str or Path
        A file written by `save_model`.

    Returns
    -------
    estimator
        As from `load_model`.
    notes : dict
        As given to `save_model`.
    """
    container = read_container(Path(path))
    header = container.header
    if header.get("format") != _FORMAT:
        raise FileFormatError(f"{path}: this is not a model file of preflearn. Make one with save_model.")
    version = header.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise FileFormatError(f"{path}: the model file is damaged (format version {version!r}). Save the model again.")
    if version > FORMAT_VERSION:
        raise FileFormatError(
            f"{path}: this model was saved by preflearn {header.get('preflearn_version')} in format {version}, and "
            f"preflearn {__version__} reads formats up to {FORMAT_VERSION}. Upgrade it, or train the model again."
        )
    name = header.get("class")
    if name not in ESTIMATORS:
        raise FileFormatError(
            f"{path}: the model is of the unknown class {name!r}; preflearn {__version__} has {', '.join(ESTIMATORS)}. "
            "Upgrade it, or train the model again."
        )
    try:
        estimator, notes = _rebuild(ESTIMATORS[name], header, Decoder(container.array))
        check_sizes(estimator)
    except MemoryError:
        raise
    except Exception as error:  # a damaged header can fail anywhere; whatever it was, the file is to blame
        reason = str(error) or type(error).__name__
        raise FileFormatError(
            f"{path}: the model file is damaged or its parts do not belong together ({reason.rstrip('.')}). "
            "Save the model again."
        ) from error
    return estimator, notes


def _rebuild(kind: type[Any], header: dict[str, Any], decoder: Decoder) -> tuple[Any, dict[str, Any]]:
    parameters = {key: decoder.decode(value) for key, value in header["parameters"].items()}
    estimator = kind(**parameters)
    for key, value in header["fitted"].items():
        if not _is_fitted_name(key) or key in parameters:
            raise DataError(f"{key!r} is not the name of something that fit leaves")
        setattr(estimator, key, decoder.decode(value))
    check_is_fitted(estimator)
    notes = decoder.decode(header["notes"])
    if not isinstance(notes, dict):
        raise DataError("the notes are not a mapping")
    return estimator, notes


def _is_fitted_name(key: str) -> bool:
    return key in _ALSO_FITTED or (key.endswith("_") and not key.startswith("_"))
