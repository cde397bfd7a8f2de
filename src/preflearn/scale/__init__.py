"""Tables that do not fit in memory: read in pieces or by a Dask cluster, learned from and predicted piece by piece."""

from preflearn.data.chunks import Chunk, Chunks
from preflearn.io.chunk_files import read_chunks
from preflearn.scale.dask_models import DaskBradleyTerry, DaskPreferenceGP, DaskRankRLS, DaskRLS
from preflearn.scale.predicting import predict_to

__all__ = [
    "Chunk",
    "Chunks",
    "DaskBradleyTerry",
    "DaskPreferenceGP",
    "DaskRLS",
    "DaskRankRLS",
    "predict_to",
    "read_chunks",
]
