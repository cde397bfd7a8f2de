"""Tables beyond memory: read in pieces or by a Dask cluster, learned from, predicted; and what approximations cost."""

from preflearn.data.chunks import Chunk, Chunks
from preflearn.io.chunk_files import read_chunks
from preflearn.scale.comparing import BesideExact, compare_with_exact
from preflearn.scale.dask_models import DaskBradleyTerry, DaskPreferenceGP, DaskRankRLS, DaskRLS
from preflearn.scale.predicting import predict_to

__all__ = [
    "BesideExact",
    "Chunk",
    "Chunks",
    "DaskBradleyTerry",
    "DaskPreferenceGP",
    "DaskRLS",
    "DaskRankRLS",
    "compare_with_exact",
    "predict_to",
    "read_chunks",
]
