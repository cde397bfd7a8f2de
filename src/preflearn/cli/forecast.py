"""``preflearn forecast``: probabilities of fixtures, and who ends where in the final table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from preflearn.cli.console import facts, plain, progress, width
from preflearn.cli.dialect import dialect_for
from preflearn.cli.options import Count, File, Machine, Output, RankModel, ReadOptions, Source
from preflearn.cli.sources import Saved, about, describe_data, is_model, open_saved, read_comparisons, save_notes
from preflearn.cli.targets import check_targets, write_all
from preflearn.exceptions import DataError
from preflearn.table_format import plural

USAGE = "preflearn forecast DATA FIXTURES [OPTIONS]"
PRINTED = 20  # fixtures of a long list
ASKED = ("first", "second", "judge", "cluster", "covariates")  # roles of columns that fixtures may have


def forecast(
    data: Source,
    fixtures: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    played: Source | None = None,
    points: str = "3,1,0",
    top: Count = 3,
    places: File | None = None,
    model: RankModel | None = None,
    level: float = 0.9,
    output: Output = Output(),  # noqa: B008 - frozen
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Forecast fixtures: how likely each outcome is, and who ends where in the final table.

    DATA are results so far (a table that preflearn rank reads), or a model file of
    preflearn fit. FIXTURES are the games to come: a table home,away or
    first,second. An advantage of the home side counts if the model has learned
    one. The season is simulated 10,000 times; equal points are put in random order.

    For example:

        preflearn forecast results.csv fixtures.csv
        preflearn forecast results.csv fixtures.csv --played season.csv --top 4
        preflearn forecast league.preflearn fixtures.csv --out fixtures-forecast.csv

    Parameters
    ----------
    data
        Results, or a model file that was learned from some; - for standard input.
    fixtures
        Games to come.
    played
        Games of this season that are over: their points count in the final table.
        The model learns from DATA only.
    points
        Points for a win, a tie and a loss.
    top
        How many places count as the top.
    places
        File for the final table; --out has the fixtures.
    model
        As in preflearn rank (default: auto).
    level
        Probability of the intervals.
    """
    machine.apply()
    read_too = [data, fixtures, played, reading.items]
    check_targets({"--out": output.out, "--places": places}, output.force, read_too, bom=output.bom)
    if data == fixtures:
        raise DataError(f"{data}: this file is given both as DATA and as FIXTURES. Give results and games to come.")
    if not 0 < level < 1:
        raise DataError(f"--level is {level:g}; it must be between 0 and 1, such as 0.9.")
    prizes = _points(points)
    printed = output.out is None or output.to_file  # else standard output has the table that programs read
    from preflearn.analysis import forecast as forecast_fixtures
    from preflearn.cli.model_answers import read_for
    from preflearn.data import Comparisons

    with progress("Reading") as tell:
        saved = _learned(data, reading, model, machine.seed, printed=printed)
        tell("Reading fixtures", 0.8)
        games = read_for(saved, fixtures, _of_fixtures(reading), outcomes=False)
        assert isinstance(games, Comparisons)
        over = None if played is None else read_comparisons(played, replace(reading, items=None))[1]
        tell("Simulating", 0.9)
        with about(fixtures):
            found = forecast_fixtures(
                saved.estimator, games, over, points=prizes, k=top, level=level, random_state=machine.seed
            )
        what = f"{plural(len(games), 'fixture')}"
        listings = found.fixture_listing(), found.place_listing()
        table = replace(output, out=places)
        written, failed = write_all(
            (output.out, what, lambda _: output.write(found.fixtures(), listings[0])),
            (places, "the final table", lambda _: table.write(found.places(), listings[1])),
        )
    if printed:
        room = width()
        plain(f"\n{listings[0].top(PRINTED).text(room)}\n")
        if len(games) > PRINTED:
            facts([("", f"and {plural(len(games) - PRINTED, 'more fixture')}: --out FILE writes all.")])
        plain(f"\n{listings[1].text(room)}\n")
        facts(written)
    if failed is not None:
        raise failed


def _learned(data: str, reading: ReadOptions, model: str | None, seed: int, *, printed: bool) -> Saved:
    """Return the model of a file, or the one that the evidence chooses for the results in it."""
    if is_model(data):
        if model is not None:
            raise DataError(f"{data}: this is a model already. Leave out --model.")
        saved = open_saved(Path(data))
        if not saved.probable:
            raise DataError(f"{data}: this model gives no probabilities. Give a table of results instead.")
        return saved
    from preflearn.analysis.ranker import rank_comparisons

    read, X = read_comparisons(data, reading)
    if printed:
        facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    with about(read.source):
        result = rank_comparisons(read, model=model or "auto", random_state=seed)
    if printed:
        serious = [one for one in result.warnings if one.kind not in ("side", "alike")]  # these are about places
        warned = [("Warning", one.worded(dialect_for(forecast))) for one in serious]
        facts([("Model", f"{result.ladder.why}."), *warned])
    return Saved(Path(data), result.model, save_notes(read))


def _of_fixtures(reading: ReadOptions) -> ReadOptions:
    """Return how fixtures are read: as results are, but for what says who won."""
    kept = [part for part in (reading.columns or "").split(",") if part.partition("=")[0].strip() in ASKED]
    return replace(reading, columns=",".join(kept) or None, outcomes=None, format=None, lower_wins=False)


def _points(text: str) -> list[float]:
    """Return the points of a win, a tie and a loss."""
    try:
        prizes = [float(part) for part in text.split(",")]
    except ValueError:
        prizes = []
    if len(prizes) != 3 or not prizes[0] >= prizes[1] >= prizes[2]:
        raise DataError(f'--points is "{text}"; give points for a win, a tie and a loss, such as 3,1,0.')
    return prizes
