"""BayesMallows (R): data frames of pairwise preferences, the loser in the column before the winner."""

from preflearn.io.formats.format import Format

BAYES_MALLOWS = Format(
    "BayesMallows",
    columns=("assessor", "bottom_item", "top_item"),
    roles={"winner": "top_item", "loser": "bottom_item", "judge": "assessor"},
    sample="""
assessor,bottom_item,top_item
1,2,15
1,5,3
1,13,3
1,4,7
1,5,15
2,12,1
2,4,9
2,15,2
3,3,10
3,1,12
""",
    says=("15 > 2", "3 > 5", "3 > 13", "7 > 4", "15 > 5", "1 > 12", "9 > 4", "2 > 15", "10 > 3", "12 > 1"),
)
