r"""Model files: fitted estimators as data, never as code.

A file is a zip archive of a JSON header (``header.json``) and ``.npy`` arrays, stored uncompressed so that no member
can be larger than the file. The header says which class of a fixed table it is, its parameters and what ``fit`` left;
reading builds only objects of fixed tables (`preflearn.files.known_classes`) and never unpickles or imports by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from preflearn._version import __version__
from preflearn.exceptions import DataError, FileFormatError, Place, quiet
from preflearn.files.codec import Decoder, Encoder
from preflearn.files.container import Container, not_a_model, open_container, write_container
from preflearn.files.known_classes import ESTIMATORS

__all__ = ["FORMAT_VERSION", "load", "open_model", "save"]

FORMAT_VERSION = 5
_FORMAT = "preflearn model"


def save(estimator: Any, path: str | Path, notes: Mapping[str, Any] | None = None, *, overwrite: bool = True) -> None:
    r"""Save a fitted estimator as a file of data: no code is stored, and none is run when it is read.

    Parameters
    ----------
    estimator : estimator of preflearn, a scikit-learn Pipeline that ends with one, or a RankResult
        Fitted. Steps before it, and `OnItems`, may hold StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler,
        Normalizer, PCA, KernelPCA, TruncatedSVD, SimpleImputer and OneHotEncoder. Of what `preflearn.rank` returns the
        model is saved, with how new items are encoded, as ``preflearn rank --save`` does it: `load` returns the model.
        The table and the warnings are not kept; ``summary()`` has them as plain values.
    path : str or Path
        Where to. An existing file is replaced in one step: at no time is there a half-written file under this name.
    notes : mapping, default=None
        What else to write into it, for people and programs: strings, numbers, None, lists and mappings of these.
    overwrite : bool, default=True
        Whether an existing file is replaced; else it is an error.

    Raises
    ------
    DataError
        If a part is not data (a kernel, a transformer, a splitter or a metric of your own); the message says how to
        save nevertheless. If the file exists and ``overwrite`` is False.

    Notes
    -----
    Cost: one pass over the arrays. The training rows are part of the file where the kernel needs them, and of a
    Gaussian process the comparisons as well: a model of private data is private data. Files of Gaussian processes hold
    a few numbers for each comparison and item and no matrix; `load` factors the kernel matrix again, once for each
    solution, instead of learning.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import preflearn
    >>> matches = preflearn.Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> model = preflearn.PreferenceGP(hyperparameters="fixed").fit(matches)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.preflearn")
    ...     preflearn.save(model, path)
    ...     again = preflearn.load(path)
    >>> bool((again.predict_proba(matches) == model.predict_proba(matches)).all())
    True
    """
    if hasattr(estimator, "_file_model"):
        estimator, own = estimator._file_model()
        notes = {**own, **(notes or {})}
    kind, last = type(estimator), _last(estimator)
    if kind not in ESTIMATORS or type(last) not in ESTIMATORS:
        what = f"{kind.__name__} of {type(last).__name__}" if kind is Pipeline else kind.__name__
        raise TypeError(
            f"save: model files hold {', '.join(known.__name__ for known in ESTIMATORS)} (that ends with one of "
            f"these), and the model of what preflearn.rank returns; this is a {what}. Other objects can be kept with "
            "joblib.dump, for people you trust."
        )
    check_is_fitted(estimator)
    encoder = Encoder()
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "preflearn_version": __version__,
        "sklearn_version": sklearn.__version__,
        **encoder.estimator(estimator, "estimator"),
        "notes": encoder.encode(dict(notes or {}), "notes"),
    }
    write_container(Path(path), header, encoder.arrays, overwrite=overwrite)


def load(path: str | Path) -> Any:
    """Return the estimator of a model file.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    estimator
        Fitted: all that the saved one could answer it answers, and equally.

    Raises
    ------
    FileFormatError
        If the file is missing, not a model file, damaged, or of another version of the format.

    Notes
    -----
    No code of the file is executed, and declared sizes are checked before anything of that size is read.

    Examples
    --------
    >>> import preflearn
    >>> preflearn.load("nowhere.preflearn")
    Traceback (most recent call last):
        ...
    preflearn.exceptions.FileFormatError: nowhere.preflearn: there is no such file...
    """
    return open_model(path)[0]


def open_model(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of a model file, as `load` does, and the notes that were given to `save`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import preflearn
    >>> from preflearn.files import open_model
    >>> model = preflearn.BradleyTerry().fit(preflearn.Comparisons(None, ["ann", "bob"], ["bob", "cy"]))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.preflearn")
    ...     preflearn.save(model, path, notes={"season": 2024})
    ...     again, notes = open_model(path)
    >>> notes["season"]
    2024
    """
    with open_container(Path(path)) as container:
        _check_header(path, container.header)
        try:
            with quiet(Warning):  # given when the model was fitted
                return _rebuild(container)
        except MemoryError:
            raise FileFormatError(code="model-too-large", where=Place(str(path))).says(
                "the model does not fit into memory, or the file is damaged",
                "Use a larger machine, or save the model again",
            ) from None
        except Exception as error:  # a damaged header can fail anywhere; whatever it was, the file is to blame
            reason = str(error) or type(error).__name__
            other = container.header.get("sklearn_version")
            versions = f" It was saved with scikit-learn {other}, and this is {sklearn.__version__}."
            raise FileFormatError(code="model-parts-damaged", where=Place(str(path))).says(
                f"the model file is damaged or its parts do not belong together ({reason.rstrip('.')})",
                f"Save the model again.{versions if other != sklearn.__version__ else ''}",
            ) from error


def _check_header(path: str | Path, header: dict[str, Any]) -> None:
    """Raise FileFormatError unless a header is of this format and of a class that there is."""
    if header.get("format") != _FORMAT:
        raise not_a_model(path)
    version, saved_by = header.get("format_version"), header.get("preflearn_version")
    if type(version) is not int or version < 1:
        raise FileFormatError(code="model-version-damaged", where=Place(str(path))).says(
            f"the model file is damaged (format version {version!r})", "Save the model again"
        )
    if version != FORMAT_VERSION:
        cure = "Upgrade it, or train the model again" if version > FORMAT_VERSION else "Train the model again"
        raise FileFormatError(code="model-of-another-version", where=Place(str(path))).says(
            f"this model was saved by preflearn {saved_by} in format {version}, and preflearn {__version__} "
            f"reads format {FORMAT_VERSION}",
            cure,
        )
    name, known = header.get("class"), [kind.__name__ for kind in ESTIMATORS]
    if name not in known:
        raise FileFormatError(code="model-class-unknown", where=Place(str(path))).says(
            f"the model is of the unknown class {name!r}; preflearn {__version__} has {', '.join(known)}",
            "Upgrade it, or train the model again",
        )


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def _rebuild(container: Container) -> tuple[Any, dict[str, Any]]:
    decoder = Decoder(container.array)
    estimator = decoder.estimator(container.header)
    if type(_last(estimator)) not in ESTIMATORS:
        raise DataError("the last step of the pipeline is not a model")
    check_is_fitted(estimator)
    notes = decoder.decode(container.header["notes"])
    if not isinstance(notes, dict):
        raise DataError("the notes are not a mapping")
    return estimator, notes
