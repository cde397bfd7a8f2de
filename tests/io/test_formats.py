"""Public layouts: every format reads its own sample as it says, from a file and from a data frame, and no other's."""

import io

import numpy as np
import pandas as pd
import pytest
from layout_samples import SAMPLES

from preflearn.exceptions import DataError
from preflearn.io import read_preferences
from preflearn.io.formats import FORMATS, fitting_formats
from preflearn.io.opening import open_bytes

BY_NAME = {one.name: one for one in FORMATS}


def find_format(table, given):
    return next(fitting_formats(table, given), None)


def is_json(sample: str) -> bool:
    return sample.lstrip().startswith("{")


def frame(sample: str) -> pd.DataFrame:
    text = io.StringIO(sample.strip())
    return pd.read_json(text, lines=True) if is_json(sample) else pd.read_csv(text)


def said(data) -> tuple[str, ...]:
    rows = zip(data.names[data.first], data.names[data.second], data.outcome, strict=True)
    return tuple(f"{a} = {b}" if y == 0 else f"{a} > {b}" if y > 0 else f"{b} > {a}" for a, b, y in rows)


def in_any_order(statements: tuple[str, ...]) -> list[str]:
    """Ties are the same both ways."""
    return [" = ".join(sorted(one.split(" = "))) if " = " in one else one for one in statements]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_sample_says_what_its_format_says(name, tmp_path):
    form, (sample, says) = BY_NAME[name], SAMPLES[name]
    path = tmp_path / ("sample.jsonl" if is_json(sample) else "sample.csv")
    path.write_text(sample.lstrip())
    for reading in (read_preferences(path), read_preferences(frame(sample))):
        assert in_any_order(said(reading.data)) == in_any_order(says)
        assert any(f"as in files of {name}" in note for note in reading.notes)
        assert {role: reading.columns[role] for role in form.roles} == dict(form.roles)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_sample_has_one_format(name):
    table = open_bytes(SAMPLES[name][0].strip().encode(), "sample")
    assert [one.name for one in fitting_formats(table, {})] == [name]


@pytest.mark.parametrize("name", BY_NAME)
def test_without_one_of_its_columns_a_table_has_another_layout(name):
    form = BY_NAME[name]
    for column in form.columns:
        table = open_bytes(frame(SAMPLES[name][0]).drop(columns=column).to_csv(index=False).encode(), "sample")
        assert find_format(table, {}) is not form


@pytest.mark.parametrize("name", BY_NAME)
def test_other_columns_that_a_person_names_overrule_a_format(name):
    form = BY_NAME[name]
    table = open_bytes(SAMPLES[name][0].strip().encode(), "sample")
    assert find_format(table, dict(form.roles)) is form
    assert find_format(table, {"judge": "somebody"}) is form
    role = next(iter(form.roles))
    assert find_format(table, dict(form.roles) | {role: "another"}) is None
    assert find_format(table, {"ranking": form.columns[0]}) is None


def test_pairs_to_predict_need_no_answers():
    table = frame(SAMPLES["GenAI-Bench"][0])
    reading = read_preferences(table, need_outcomes=False)
    assert not reading.data.outcome.any()
    np.testing.assert_array_equal(
        read_preferences(table.drop(columns="vote_type"), need_outcomes=False).data.first, reading.data.first
    )


def test_a_preference_beyond_the_scale_of_a_format_is_asked_about():
    table = frame(SAMPLES["AlpacaEval"][0])
    table.loc[0, "preference"] = 5.0
    with pytest.raises(DataError, match="which of these mean that the second side won"):
        read_preferences(table)


def test_the_scale_of_a_person_comes_before_that_of_a_format():
    table = frame(SAMPLES["AlpacaEval"][0])
    turned = read_preferences(table, outcomes="first=2,second=1").data
    np.testing.assert_array_equal(turned.outcome, -read_preferences(table).data.outcome)
