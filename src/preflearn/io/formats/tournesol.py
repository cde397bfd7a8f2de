"""Tournesol's comparisons.csv: scores from -10 to 10, where a positive one prefers the second video."""

import numpy as np

from preflearn.data.sides import normal
from preflearn.io.formats.format import Format
from preflearn.io.read_options import Scale
from preflearn.io.table import Table


def _has_signs_or_criteria(table: Table) -> bool:
    """Tell a slider from a count of points: it goes below 0, or stands beside other columns of Tournesol."""
    column = table.find("score")
    values = table.as_numbers(column, table.cells(column))
    if values is None or not np.isfinite(values).any():
        return False
    others = {normal(other) for other in table.columns}
    return bool(np.nanmin(values) < 0) or bool({"criteria", "publicusername"} & others)


TOURNESOL = Format(
    "Tournesol",
    columns=("video_a", "video_b", "score"),
    roles={"first": "video_a", "second": "video_b", "outcome": "score"},
    scale=Scale(-1.0, 1.0, ends=False),
    fits=_has_signs_or_criteria,
    sample="""
public_username,video_a,video_b,criteria,score,week_date
ann,yT1aa,yT2bb,largely_recommended,-8.0,2024-01-01
ann,yT2bb,yT3cc,largely_recommended,3.0,2024-01-01
ann,yT1aa,yT3cc,largely_recommended,-2.0,2024-01-08
bob,yT1aa,yT2bb,largely_recommended,0.0,2024-01-08
bob,yT3cc,yT4dd,largely_recommended,10.0,2024-01-15
bob,yT2bb,yT4dd,largely_recommended,5.0,2024-01-15
cy,yT1aa,yT4dd,largely_recommended,-1.0,2024-01-22
cy,yT4dd,yT2bb,largely_recommended,-4.0,2024-01-22
""",
    says=(
        *("yT1aa > yT2bb", "yT3cc > yT2bb", "yT1aa > yT3cc", "yT1aa = yT2bb"),
        *("yT4dd > yT3cc", "yT4dd > yT2bb", "yT1aa > yT4dd", "yT4dd > yT2bb"),
    ),
)
