"""``preflearn fit``: read, learn, save, and say what was done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from preflearn.cli.console import facts, progress
from preflearn.cli.dialect import dialect_for
from preflearn.cli.options import (
    LEAST_SQUARES,
    Count,
    File,
    FitModel,
    Flag,
    Machine,
    ReadOptions,
    Source,
    Whole,
    given_options,
)
from preflearn.cli.sources import about, describe_data, is_svmlight, read_any, save_notes, titled
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.data import Comparisons
    from preflearn.io import Reading

USAGE = "preflearn fit DATA --save MODEL [OPTIONS]"
# Must be preflearn.kernels.KERNEL_NAMES, which would import scikit-learn; a test compares the two.
Kernel = Literal["linear", "poly2", "poly3", "rbf", "laplacian", "matern", "matern32", "matern52", "rational_quadratic"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Learning:
    """What is learned.

    Attributes
    ----------
    model
        As in preflearn rank (comparisons; default: auto); or least squares: rankrls (scored rows; default): score
        differences, with a penalty. kpcrank: the same, on few components. rls, kpcr: scores. Rows with labels: auto,
        label-gp, label-gp-ard, label-gp-linear, label-svm or label-frequencies.
    kernel
        Of least squares. Default: linear for rankrls and rls, rbf for kpcrank and kpcr.
    alpha
        Strength of the penalty of rankrls and rls: a positive number, or auto (default).
    components
        Number of components of kpcrank and kpcr: a whole number, or auto (default).
    ties
        Least squares: whether pairs with equal scores count (default: include); auto chooses.
    weighting
        Least squares: whether every pair weighs the same or every group (default: pairs).
    nystroem
        Approximate the kernel by its values against this many rows, for data of more than about 5,000 rows.
    scoring
        Measure for choosing alpha, components or ties: disagreement (default), map, ndcg@10, precision@5,
        kendall_tau_b, ...
    validation
        SVMlight file on which alpha, components or ties are chosen, in place of cross-validation.
    """

    model: FitModel | None = None
    kernel: Kernel | None = None
    alpha: str | None = None
    components: str | None = None
    ties: Literal["include", "exclude", "auto"] | None = None
    weighting: Literal["pairs", "groups"] | None = None
    nystroem: Count | None = None
    scoring: str | None = None
    validation: File | None = None

    @property
    def least_squares_options(self) -> list[str]:
        """Options that were given and that only models by least squares have."""
        return [option for option in given_options(self) if option != "--model"]

    @property
    def by_least_squares(self) -> bool:
        """Whether a model by least squares is asked for, by its name or by options that only such models have."""
        return self.model in LEAST_SQUARES or (self.model is None and bool(self.least_squares_options))

    def resolved(self) -> Learning:
        """Return the same with the model by least squares that these options are for, and its kernel."""
        model = self.model or ("rankrls" if self.components is None else "kpcrank")
        return replace(self, model=model, kernel=self.kernel or ("linear" if model in ("rankrls", "rls") else "rbf"))

    @property
    def regulariser(self) -> str:
        """The option that says how much is learned."""
        return "alpha" if self.penalised else "components"

    @property
    def penalised(self) -> bool:
        """Whether alpha regularises (and not the number of components)."""
        return self.model in ("rankrls", "rls")

    @property
    def on_pairs(self) -> bool:
        """Whether the model learns differences."""
        return self.model in ("rankrls", "kpcrank")


def fit(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    learning: Learning = Learning(),  # noqa: B008 - frozen
    *,
    save: File,
    n_features: Whole | None = None,
    zero_based: Flag = False,
    scheduler: str | None = None,
    machine: Machine = Machine(),  # noqa: B008 - frozen
    force: Flag = False,
) -> None:
    """Learn a model from a file and save it.

    DATA is a table of comparisons, as for preflearn rank, or a text file in
    SVMlight or LETOR format (score qid:Q index:value ..., may be gzip), or a table
    of rows with features and labels: a column "ranking" with a > b > c, columns
    such as rank_a,rank_b,rank_c, or a class (--columns class=COLUMN).

    Models of comparisons give probabilities and are chosen by evidence, as by
    preflearn rank. Scored rows are learned by least squares on differences. The
    penalty, or the number of components, is chosen by cross-validation, or on the
    rows of --validation, which are used for nothing else, unless it is given. The
    printed score is that of the best candidate and a little optimistic: use
    preflearn evaluate on other data. From rows with labels the model learns which
    labels suit which row.

    For example:

        preflearn fit matches.csv --save model.preflearn
        preflearn fit train.txt --save model.preflearn
        preflearn fit train.txt --validation vali.txt --save m.preflearn
        preflearn fit patients.csv --save m.preflearn --columns class=diagnosis
        preflearn fit matches.csv --items items.csv --model gp --save m.preflearn

    Parameters
    ----------
    data
        Table of comparisons, or SVMlight file; - for standard input.
    save
        File for the model. It holds data only, no code.
    n_features
        Number of features of SVMlight files, if later files may have larger feature numbers than DATA.
    zero_based
        Feature numbers of the SVMlight file start at 0, not at 1.
    scheduler
        Address of a Dask cluster, such as tcp://10.0.0.5:8786, whose workers count comparisons, those of each file in
        one task: a large file, or a directory or a pattern of files, which all workers see.
    force
        Replace the model file if there is one.
    """
    machine.apply()
    check_targets({"--save": save}, force, [data, reading.items, learning.validation])
    model, notes = _learn(data, reading, learning, n_features, zero_based, machine.seed, scheduler)
    with progress(f"Saving {save.name}"):
        from preflearn.files import save as save_model

        save_model(model, save, notes=notes, overwrite=force)
    facts([("Saved", f"{save} ({max(1, round(save.stat().st_size / 1000)):,} kB)")])


def _learn(
    source: str,
    options: ReadOptions,
    learning: Learning,
    n_features: int | None,
    zero_based: bool,
    seed: int,
    scheduler: str | None,
) -> tuple[Any, dict[str, Any]]:
    """Return a model, learned by evidence or by least squares, and what its file should say about it."""
    from preflearn.cli import fit_least_squares as least_squares
    from preflearn.cli import labels
    from preflearn.data import Comparisons, Ratings
    from preflearn.io.reading import MOST_FEATURES

    squares, asked = learning.by_least_squares, learning.model
    if squares:
        least_squares.check_options(learning.resolved())
    else:
        for option in learning.least_squares_options:
            raise DataError(
                f"{option} is for least-squares models, and --model {asked} does not use it. Leave it out, or use "
                "--model rankrls."
            )
    if n_features is not None and not 1 <= n_features <= MOST_FEATURES:
        raise DataError(f"--n-features is {n_features}; it must be at least 1 and at most {MOST_FEATURES:,}.")
    on_cluster = scheduler is not None  # the table is then counted, and not opened here
    if not is_svmlight(source, options):
        for option, given in (("--zero-based", zero_based), ("--n-features", n_features)):
            if given:
                raise DataError(f"{titled(source)}: {option} is for SVMlight files, and this is a table. Leave it out.")
    with progress(f"Reading {titled(source)}"):
        found = None if squares or on_cluster else labels.look_for_labels(source, options, [asked] if asked else [])
    if found is not None and found.layout is not None:
        return labels.learn(found, asked or "auto", seed)
    with progress(f"Reading {titled(source)}"), labels.guessing(found):
        opened = None if found is None else found.table
        reading = read_any(
            source,
            options,
            margins=squares,
            opened=opened,
            scheduler=scheduler,
            counted=on_cluster,
            n_features=n_features,
            zero_based=zero_based,
        )
    data, notes = reading.data, save_notes(reading) | {"zero_based": zero_based}
    if isinstance(data, Comparisons) and data.items is None and data.names is not None:
        notes["item_names"] = [str(name) for name in data.names]
    if isinstance(data, Ratings) and not squares and asked is not None:
        raise DataError(
            f"{reading.source}: --model {asked} learns from comparisons, and these are rows with scores. "
            "Use --model rankrls, or leave it out."
        )
    if squares or isinstance(data, Ratings):
        least_squares.check_data(reading.source, data, learning.resolved())
    validation = None
    if learning.validation is not None:
        with progress(f"Reading {learning.validation.name}"):
            validation = least_squares.read_validation(data, learning.validation, options, zero_based)
    facts([*(("Read", line) for line in reading.notes), ("Data", describe_data(data))])
    if squares or isinstance(data, Ratings):
        with progress(f"Learning from {reading.source}"), about(reading.source):
            found, lines = least_squares.train(data, learning, seed, validation)
        facts(lines)
        return found, notes
    return _by_evidence(reading, data, learning, seed), notes


def _by_evidence(reading: Reading, data: Comparisons, learning: Learning, seed: int) -> Any:
    """Return the model that evidence chooses, as ``preflearn rank`` does."""
    from preflearn.analysis.ranker import rank_comparisons

    with progress("Learning") as tell, about(reading.source):
        result = rank_comparisons(reading, model=learning.model or "auto", random_state=seed, progress=tell)
    warned = [("Warning", one.worded(dialect_for(fit))) for one in result.warnings]
    facts([("Model", f"{result.ladder.why}."), *warned])
    return result.model
