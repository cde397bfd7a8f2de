"""Which comparison next: what outcomes would tell, which pairs and judges to ask, and when to stop."""

from preflearn.active.gains import information_gain, top_k_information
from preflearn.active.stopping import RemainingValue, remaining_value
from preflearn.active.suggesting import Suggestions, suggest

__all__ = [
    "RemainingValue",
    "Suggestions",
    "information_gain",
    "remaining_value",
    "suggest",
    "top_k_information",
]
