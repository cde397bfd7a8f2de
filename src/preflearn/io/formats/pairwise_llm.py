"""The pairwiseLLM package (R): two ids and the id of the better one."""

from preflearn.io.formats.format import Format

PAIRWISE_LLM = Format(
    "pairwiseLLM",
    columns=("ID1", "ID2", "better_id"),
    roles={"first": "ID1", "second": "ID2", "winner": "better_id"},
    sample="""
ID1,ID2,better_id
S01,S02,S02
S01,S03,S01
S02,S03,S02
S04,S01,S04
S04,S02,S02
S03,S04,S04
S05,S01,S01
S05,S03,S05
""",
    says=("S02 > S01", "S01 > S03", "S02 > S03", "S04 > S01", "S02 > S04", "S04 > S03", "S01 > S05", "S05 > S03"),
)
