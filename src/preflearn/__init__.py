"""Learning from preferences: rankings from scores in groups and from pairwise comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from preflearn._version import __version__

if TYPE_CHECKING:
    from preflearn.analysis import Forecast, RankingsBy, RankResult, forecast, rank, rank_by
    from preflearn.data import Bags, Comparisons, LabelPreferences, Ratings
    from preflearn.files import load, save
    from preflearn.kernels import Nystroem, RandomFourier
    from preflearn.models import (
        KPCR,
        KPCRCV,
        RLS,
        RLSCV,
        BradleyTerry,
        KPCRank,
        KPCRankCV,
        LabelPreferenceGP,
        OnItems,
        PreferenceGP,
        RankRLS,
        RankRLSCV,
    )

__all__ = [
    "KPCR",
    "KPCRCV",
    "RLS",
    "RLSCV",
    "Bags",
    "BradleyTerry",
    "Comparisons",
    "Forecast",
    "KPCRank",
    "KPCRankCV",
    "LabelPreferenceGP",
    "LabelPreferences",
    "Nystroem",
    "OnItems",
    "PreferenceGP",
    "RandomFourier",
    "RankRLS",
    "RankRLSCV",
    "RankResult",
    "RankingsBy",
    "Ratings",
    "__version__",
    "forecast",
    "load",
    "rank",
    "rank_by",
    "save",
]

# Imported on first use: the command line must not wait for scikit-learn to say how it is called.
_HOME = {
    "Bags": "preflearn.data",
    "Comparisons": "preflearn.data",
    "LabelPreferences": "preflearn.data",
    "Ratings": "preflearn.data",
    "load": "preflearn.files",
    "save": "preflearn.files",
    "Forecast": "preflearn.analysis",
    "RankResult": "preflearn.analysis",
    "RankingsBy": "preflearn.analysis",
    "forecast": "preflearn.analysis",
    "rank": "preflearn.analysis",
    "rank_by": "preflearn.analysis",
    "Nystroem": "preflearn.kernels",
    "RandomFourier": "preflearn.kernels",
    "BradleyTerry": "preflearn.models",
    "KPCR": "preflearn.models",
    "KPCRCV": "preflearn.models",
    "KPCRank": "preflearn.models",
    "KPCRankCV": "preflearn.models",
    "LabelPreferenceGP": "preflearn.models",
    "OnItems": "preflearn.models",
    "PreferenceGP": "preflearn.models",
    "RLS": "preflearn.models",
    "RLSCV": "preflearn.models",
    "RankRLS": "preflearn.models",
    "RankRLSCV": "preflearn.models",
}


_ROOMS = (
    *("active", "analysis", "baselines", "data", "datasets", "exceptions", "io", "items", "kernels", "likelihoods"),
    *("metrics", "files", "models", "plots", "report", "reproduce", "scale", "selection", "structure"),
)


def __getattr__(name: str) -> Any:
    import importlib

    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
