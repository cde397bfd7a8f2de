"""What a public layout of tables is: how it is recognised, which column is what, and a sample that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from preflearn.io.read_options import Scale
from preflearn.io.table import Table


@dataclass(frozen=True)
class Format:
    """A layout whose columns have no usual names, or whose description says what its numbers mean.

    Names of columns are compared without case, blanks and punctuation.

    Parameters
    ----------
    name : str
        Whose files these are, for the sentence "as in files of ...".
    columns : tuple of str
        Columns by which a table is recognised: all of them must be there.
    roles : mapping
        Column of each role, as in ``read_preferences(columns=...)``.
    sample : str
        About ten lines of such a file, CSV or JSON lines.
    says : tuple of str
        What the sample says, row by row: "ann > bob", or "ann = bob" for a tie. It is tested.
    scale : Scale, default=None
        What the numbers of the outcome column mean.
    words : mapping, default={}
        Further words of the winner or outcome column, without case and punctuation: 1 first, -1 second, 0 tie.
    fits : function of a Table, default=None
        What else to look at, such as the range of numbers; None is nothing.
    rewrite : function of a Table to a Table, default=None
        Rows in another form, such as those that do not count left out; None leaves them as they are.
    """

    name: str
    columns: tuple[str, ...]
    roles: Mapping[str, str]
    sample: str
    says: tuple[str, ...]
    scale: Scale | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    fits: Callable[[Table], bool] | None = None
    rewrite: Callable[[Table], Table] | None = None
