"""Tables that do not fit in memory, read, learned from and predicted piece by piece; and what approximations cost."""

from preflearn.data.chunks import Chunk, Chunks
from preflearn.io.chunk_files import read_chunks
from preflearn.scale.comparing import BesideExact, compare_with_exact
from preflearn.scale.predicting import predict_to

__all__ = ["BesideExact", "Chunk", "Chunks", "compare_with_exact", "predict_to", "read_chunks"]
