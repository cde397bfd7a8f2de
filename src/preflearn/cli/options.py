"""Options that several commands share; imports nothing heavy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from preflearn.table_format import TextTable

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
STANDARD_INPUT = "\0-"  # stands for a hyphen until options, which start with one, are parsed


def _source(kind: Any, tokens: Any) -> str:
    """Return the name of a file, or ``-`` for standard input."""
    value: str = tokens[0].value
    if not value.strip():
        raise ValueError("the name of the file is empty. Give the path of a file.")
    return "-" if value == STANDARD_INPUT else value


def _file(kind: Any, tokens: Any) -> Path:
    return Path(_source(kind, tokens))


def _whole(kind: Any, tokens: Any) -> int:
    """Return a whole number; 1.5 is none."""
    text: str = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a whole number.') from None


def within(low: float, high: float | None = None, cure: str = "") -> Parameter:
    """Return the limits of a number: what is outside is answered with them."""

    def check(kind: Any, value: Any) -> None:
        if value is not None and not low <= value <= (float("inf") if high is None else high):
            limits = f"{low} or more" if high is None else f"from {low} to {high:,}"
            raise ValueError(f"{limits}{cure and f'. {cure}'}")

    return Parameter(validator=check)


Source = Annotated[str, Parameter(converter=_source)]
Whole = Annotated[int, Parameter(converter=_whole)]
Count = Annotated[Whole, within(1)]
Folds = Annotated[Whole, within(2)]
Seed = Annotated[Whole, within(0, 2**32 - 1)]
File = Annotated[Path, Parameter(converter=_file)]
# Must be the names of preflearn.analysis.model_names, which would import scikit-learn; a test compares the two.
UTILITIES = ("bradley-terry", "thurstone", "gp", "gp-ard", "gp-own", "gp-ard-own", "gpgp")
OF_FEATURES = UTILITIES[2:6]  # which need them
BESIDE = ("side", "covariates", "clusters", "reliability", "tastes", "circles")
ALIASES = ("judges", "both", "both-judges")
LEAST_SQUARES = ("rankrls", "rls", "kpcrank", "kpcr")
OF_COMPARISONS = ("rankrls", "kpcrank")  # those of preflearn.analysis.cross_validated
# And of preflearn.analysis.label_models.
LABEL_MODELS = ("label-gp", "label-gp-ard", "label-gp-linear", "label-svm", "label-frequencies")


def _model_of(*others: str, title: str = "") -> Any:
    """Return a converter of names of models: a utility, the terms added to it, or one of some others."""

    def convert(kind: Any, tokens: Any) -> str:
        text: str = tokens[0].value
        parts = text.split("+")
        wrong = [part for part in (parts[1:] if parts[0] in UTILITIES else parts) if part not in BESIDE]
        if wrong and text not in (*others, *ALIASES):
            raise ValueError(f"{title}{_not_a_model(wrong[0], others, added=wrong[0] != parts[0])}")
        return text

    return convert


def _not_a_model(name: str, others: tuple[str, ...], *, added: bool) -> str:
    """Return what to say of a name that means nothing; ``added``: it stands behind a plus."""
    from difflib import get_close_matches

    known = BESIDE if added else (*others, *UTILITIES, *BESIDE)
    near = get_close_matches(name, known, n=1)
    meant = f' Did you mean "{near[0]}"?' if near else ""
    if added:
        return f'"{name}" is not a term of a model.{meant} Choose from: {", ".join(BESIDE)}.'
    return (
        f'"{name}" is not a model.{meant} Choose from: {", ".join((*others, *UTILITIES))}. The last {len(UTILITIES)} '
        f"take further terms, as in {UTILITIES[0]}+{BESIDE[0]}: {', '.join(BESIDE)}."
    )


RankModel = Annotated[str, Parameter(converter=_model_of("auto"))]
FitModel = Annotated[str, Parameter(converter=_model_of("auto", *LEAST_SQUARES, *LABEL_MODELS))]
EvaluatedModel = Annotated[str, Parameter(converter=_model_of("auto", *OF_COMPARISONS, *LABEL_MODELS))]
ComparedModel = Annotated[str, Parameter(converter=_model_of(*OF_COMPARISONS, *LABEL_MODELS, title="MODELS: "))]
Unit = Literal["pair", "item", "judge"]
Form = Literal["comparisons", "rankings", "preflib", "svmlight"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a file is read.

    Attributes
    ----------
    items
        Table of the compared items: a column of names and their features, numbers or words.
    columns
        Which column has which role, if that is not recognised, such as first=home,second=away,winner=result.
        Numbers to hold equal must be named: covariates=length_diff+days_home-days_away.
    outcomes
        What the numbers of an outcome column mean: a clear win of each side, such as first=1,second=2, or the side of
        positive numbers, such as second=positive.
    format
        How to read the file, if it is not recognised.
    lower_wins
        Of two scores the lower one wins, as in golf.
    drop
        Leave out rows without a side, an outcome, a covariate or a category (--by), and comparisons of an item with
        itself.
    keep_repeats
        Count rows that repeat an earlier row in every column (also judge, time or id) as further answers.
    """

    items: File | None = None
    columns: str | None = None
    outcomes: str | None = None
    format: Form | None = None
    lower_wins: Flag = False
    drop: Flag = False
    keep_repeats: Flag = False

    @property
    def given(self) -> list[str]:
        """The options that were given, as they are written."""
        return given_options(self)

    def keywords(self) -> dict[str, Any]:
        """Return the options of `preflearn.io.read_preferences`."""
        incomplete = "drop" if self.drop else "error"
        return {
            "columns": self.columns,
            "outcomes": self.outcomes,
            "form": self.format,
            "lower_wins": self.lower_wins,
            "missing": incomplete,
            "self_comparisons": incomplete,
            "repeated_rows": "keep" if self.keep_repeats else "drop",
        }


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a table goes.

    Attributes
    ----------
    out
        File for the table: .csv, .tsv, .md (Markdown), .tex (LaTeX), .json, .jsonl, .parquet or .xlsx by its ending; -
        for CSV on standard output.
    bom
        Start a .csv or .tsv with a byte-order mark, which some spreadsheets need to read letters such as é.
    force
        Replace files that exist.
    """

    out: File | None = None
    bom: Flag = False
    force: Flag = False

    @property
    def to_file(self) -> bool:
        """Whether the table goes to a file, and not to standard output by any of its names."""
        from preflearn._disk import open_stream

        return self.out is not None and str(self.out) != "-" and open_stream(self.out) != 1

    def write(self, columns: Mapping[str, Any], shown: TextTable | None = None) -> bool:
        """Write a table to its file, or as CSV to standard output, and return whether it went to a file.

        ``shown`` is the table for people (Markdown, LaTeX).
        """
        from preflearn.io.export import csv_text, write_table

        if self.out is not None and self.to_file:
            write_table(columns, self.out, shown=shown, overwrite=self.force, bom=self.bom)
        else:  # a terminal would obey what names say
            sys.stdout.write(("\ufeff" if self.bom else "") + csv_text(columns, shown=sys.stdout.isatty()))
        return self.to_file


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Machine:
    """How the work is done.

    Attributes
    ----------
    seed
        Seed of random choices; the same seed gives the same numbers.
    threads
        Most threads to use (default: what the machine has).
    """

    seed: Seed = 0
    threads: Count | None = None

    def apply(self) -> None:
        """Hold the numerical libraries to so many threads; before they are imported."""
        if self.threads is None:
            return
        import os

        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
            os.environ[name] = str(self.threads)
        if "numpy" in sys.modules:  # loaded already, with as many threads as it likes
            from threadpoolctl import threadpool_limits

            threadpool_limits(self.threads)


def given_options(options: Any) -> list[str]:
    """Return those of a group of options that were given, as they are written."""
    names = (field.name for field in fields(options) if getattr(options, field.name) not in (None, False))
    return [f"--{name.replace('_', '-')}" for name in names]
