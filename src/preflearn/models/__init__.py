"""Estimators: each chooses an operator, a form of the kernel and a way to solve, and nothing else."""

from preflearn.models._preference import Effect, UnfinishedWarning
from preflearn.models.bradley_terry import BradleyTerry
from preflearn.models.gp import PreferenceGP
from preflearn.models.kpc import KPCR, KPCRCV, KPCRank, KPCRankCV
from preflearn.models.label_gp import LabelPreferenceGP
from preflearn.models.on_items import OnItems
from preflearn.models.rank_rls import RLS, RLSCV, RankRLS, RankRLSCV
from preflearn.models.ranking import PreferenceMatrix, Ranking

__all__ = [
    "KPCR",
    "KPCRCV",
    "RLS",
    "RLSCV",
    "BradleyTerry",
    "Effect",
    "KPCRank",
    "KPCRankCV",
    "LabelPreferenceGP",
    "OnItems",
    "PreferenceGP",
    "PreferenceMatrix",
    "RankRLS",
    "RankRLSCV",
    "Ranking",
    "UnfinishedWarning",
]
