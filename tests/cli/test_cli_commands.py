"""The commands do what their help says: the same numbers as the library, in the files and tables they promise."""

import csv
import gzip
import io
import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from cli_files import N_FEATURES, NAMES, matches
from scipy import stats

from preflearn import RankRLS, RankRLSCV
from preflearn.files import load, open_model
from preflearn.io import read_comparisons, read_svmlight
from preflearn.kernels import KERNEL_NAMES
from preflearn.metrics import disagreement_error, kendall_tau_b, mean_average_precision, ndcg, precision_at_k


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_fit_is_the_cv_estimator_of_the_library(run, folder):
    code, out, err = run("fit", "train.txt", "--save", "m.preflearn")
    data = read_svmlight("train.txt")
    model = RankRLSCV().fit(data)
    assert (code, err) == (0, "")
    np.testing.assert_allclose(load("m.preflearn").predict(data), model.predict(data), rtol=1e-12)
    assert "72 rows with 4 features in 12 groups" in out
    assert f"alpha = {model.alpha_:.4g}" in out
    assert f"disagreement error {-model.best_score_:.4f}" in out
    assert "m.preflearn" in out


def test_what_is_chosen_on_a_validation_file_is_learned_from_the_other_alone(run, folder):
    rng = np.random.default_rng(0)
    for name in ("noisy", "vali"):
        X = rng.normal(size=(60, 8)).round(3)
        y = np.clip(np.round(X[:, 0] + 2 * rng.normal(size=60) + 1), 0, 3)
        rows = [" ".join(f"{k}:{v}" for k, v in enumerate(x, 1)) for x in X]
        lines = [f"{grade:g} qid:{i // 10} {row}" for i, (grade, row) in enumerate(zip(y, rows, strict=True))]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    code, out, err = run("fit", "noisy.txt", "--validation", "vali.txt", "--ties", "auto", "--save", "m.preflearn")
    assert (code, err) == (0, "")
    train, validation = (read_svmlight(f"{name}.txt") for name in ("noisy", "vali"))
    model = load("m.preflearn")
    assert f"alpha = {model.alpha:.4g}" in out
    np.testing.assert_allclose(model.coef_, RankRLS(model.alpha, ties=model.ties).fit(train).coef_, rtol=1e-9)

    def error(alpha, ties):
        f = RankRLS(alpha, ties=ties).fit(train).predict(validation)
        return disagreement_error(validation.score, f, qid=validation.group)

    tried = model.alpha * 10.0 ** np.arange(-8, 9)  # some of the candidates, which are half as far apart
    found = [error(alpha, ties) for ties in ("include", "exclude") for alpha in tried]
    least = error(model.alpha, model.ties)
    assert least == min(found) < max(found)
    assert f"disagreement error {least:.4f} on vali.txt" in out


FITS = {
    "rankrls": (["--kernel", "rbf", "--ties", "auto", "--weighting", "groups"], "RankRLSCV"),
    "rankrls fixed": (["--alpha", "0.5", "--ties", "exclude"], "RankRLS"),
    "rankrls fixed, ties chosen": (["--alpha", "0.5", "--ties", "auto"], "RankRLSCV"),
    "rankrls nystroem": (["--kernel", "rbf", "--nystroem", "20", "--scoring", "ndcg@3"], "RankRLSCV"),
    "rls": (["--model", "rls", "--scoring", "map"], "RLSCV"),
    "rls fixed": (["--model", "rls", "--alpha", "2"], "RLS"),
    "rls on others": (["--model", "rls", "--validation", "test.txt", "--scoring", "ndcg@3"], "RLS"),
    "kpcr": (["--model", "kpcr", "--kernel", "linear"], "KPCRCV"),
    "kpcr fixed": (["--model", "kpcr", "--components", "3"], "KPCR"),
    "kpcrank": (["--model", "kpcrank", "--kernel", "linear", "--components", "auto"], "KPCRankCV"),
    "kpcrank ties": (["--model", "kpcrank", "--ties", "auto", "--scoring", "squared_error"], "KPCRankCV"),
    "kpcrank on others": (["--model", "kpcrank", "--ties", "auto", "--validation", "test.txt"], "KPCRank"),
    "kpcrank fixed": (["--model", "kpcrank", "--components", "3"], "KPCRank"),
    "kpcrank nystroem": (["--model", "kpcrank", "--nystroem", "20", "--components", "3"], "KPCRank"),
}


@pytest.mark.parametrize("name", FITS)
def test_every_model_can_be_fitted_saved_judged_and_used(name, run):
    options, kind = FITS[name]
    code, out, err = run("fit", "train.txt", *options, "--save", "m.preflearn")
    assert (code, err) == (0, "")
    assert type(load("m.preflearn")).__name__ == kind
    fixed = {"--alpha", "--components"} & set(options) and "auto" not in options
    assert ("nothing, as" in out) == bool(fixed)
    how = "on test.txt" if "--validation" in options else "in cross-validation"
    assert (how in out) != bool(fixed)
    assert "-0.0000" not in out
    code, out, err = run("evaluate", "m.preflearn", "test.txt", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["metrics"]["pairwise_accuracy"] > 0.7  # the first feature gives the order away
    code, out, err = run("predict", "m.preflearn", "test.txt")
    assert (code, err) == (0, "")
    np.testing.assert_allclose(
        [float(row["score"]) for row in rows_of(out)], load("m.preflearn").predict(read_svmlight("test.txt"))
    )


def test_documents_keep_their_names(run, folder):
    assert "docid" not in run("predict", "rows.preflearn", "test.txt")[1]
    lines = (folder / "test.txt").read_text().splitlines()
    (folder / "named.txt").write_text("\n".join(f"{line} #docid = d{i:02d}" for i, line in enumerate(lines)))
    found, plain = (rows_of(run("predict", "rows.preflearn", f"{name}.txt")[1]) for name in ("named", "test"))
    assert [row.pop("docid") for row in found] == [f"d{i:02d}" for i in range(len(lines))]
    assert found == plain


def test_the_same_seed_gives_the_same_model_and_another_seed_another(run):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run("fit", "train.txt", "--kernel", "rbf", "--nystroem", 9, "--seed", seed, "--save", name)[0] == 0
    a, b, c = (load(name).predict(read_svmlight("test.txt")) for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-6


def test_the_kernels_of_the_command_line_are_those_of_the_library():
    from typing import get_args

    from preflearn.cli.fit import Kernel

    assert get_args(Kernel) == KERNEL_NAMES


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.letor", "text"),
        ("data.txt.gz", "gzip"),
        ("data.gz", "gzip"),
        ("data", "text"),
        ("data.csv", "text"),  # a wrong name: the content is clear
    ],
)
def test_svmlight_is_recognised_by_content_and_name(name, content, run, folder):
    data = (folder / "train.txt").read_bytes()
    (folder / name).write_bytes(gzip.compress(data, mtime=0) if content == "gzip" else data)
    assert run("fit", name, "--alpha", 1, "--save", "m.preflearn")[0] == 0
    assert load("m.preflearn").n_features_in_ == N_FEATURES


@pytest.mark.parametrize("name", ["m.csv", "m.tsv", "m.txt", "m", "m.parquet"])
def test_tables_are_recognised_by_content_and_name(name, run, folder):
    lines = matches(0, 40)
    if name.endswith("parquet"):
        from pyarrow import parquet, table

        winner, loser = zip(*(line.split(",") for line in lines[1:]), strict=True)
        parquet.write_table(table({"winner": winner, "loser": loser}), folder / name)
    else:
        text = "\n".join(lines) + "\n"
        (folder / name).write_text(text.replace(",", "\t") if name == "m.tsv" else text)
    code, out, _ = run("fit", name, "--model", "rankrls", "--save", "m.preflearn")
    assert code == 0
    assert "40 comparisons of 12 items with no features" in out


def test_format_overrides_what_is_recognised(run, folder):
    (folder / "odd").write_text("1 2 3\n4 5 6\n")
    assert "not index:value" in run("fit", "odd", "--format", "svmlight", "--save", "m")[2]
    assert "there is one column" in run("fit", "odd", "--format", "comparisons", "--save", "m")[2]


def test_columns_can_be_named(run, folder):
    rows = [line.split(",") for line in (folder / "matches.csv").read_text().splitlines()[1:]]
    games = ["host,guest,goals", *(f"{b},{a},{-1 - i % 2}" for i, (a, b) in enumerate(rows))]
    (folder / "games.csv").write_text("\n".join(games) + "\n")
    code, _, err = run("fit", "games.csv", "--alpha", 1, "--save", "m.preflearn")
    assert code == 2
    assert "--columns winner=host,loser=guest" in err
    columns = "first=host,second=guest,outcome=goals"
    assert run("fit", "games.csv", "--columns", columns, "--alpha", 1, "--save", "m.preflearn")[::2] == (0, "")
    code, out, err = run("evaluate", "m.preflearn", "games.csv", "--columns", columns, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["metrics"]["pairwise_accuracy"] > 0.8
    assert "--columns is for tables" in run("fit", "train.txt", "--columns", columns, "--save", "n.preflearn")[2]


def test_features_that_occur_later_only_can_be_declared(run, folder):
    assert run("predict", "rows.preflearn", "wide.txt")[0] == 2
    assert run("fit", "train.txt", "--n-features", 9, "--alpha", 1, "--save", "wide.preflearn")[0] == 0
    assert run("fit", "train.txt", "--alpha", 1, "--save", "plain.preflearn")[0] == 0
    code, out, err = run("predict", "wide.preflearn", "wide.txt")
    assert (code, err) == (0, "")
    # In a linear model features that were never seen weigh nothing.
    X = read_svmlight("wide.txt").items[:, :N_FEATURES]
    np.testing.assert_allclose([float(r["score"]) for r in rows_of(out)], load("plain.preflearn").predict(X))


def test_zero_based_files_are_remembered_by_the_model(run, folder):
    lines = ["1 qid:1 0:1 1:0", "0 qid:1 0:0 1:1", "1 qid:2 0:2 1:0", "0 qid:2 0:0 1:2"]
    (folder / "zero.txt").write_text("\n".join(lines))
    assert run("fit", "zero.txt", "--zero-based", "--alpha", 1, "--save", "m.preflearn")[0] == 0
    code, out, err = run("predict", "m.preflearn", "zero.txt")
    assert (code, err) == (0, "")
    assert [row["rank"] for row in rows_of(out)] == ["1", "2", "1", "2"]


def test_rows_are_ranked_within_their_groups_and_ties_share_a_rank(run, folder):
    lines = ["0 qid:2 1:3", "0 qid:1 1:1", "0 qid:2 1:5", "0 qid:1 1:2", "0 qid:2 1:3", "0 qid:2 1:-1"]
    (folder / "new.txt").write_text("\n".join(f"{line} 4:0" for line in lines))
    code, out, _ = run("predict", "rows.preflearn", "new.txt")
    rows = rows_of(out)
    assert code == 0
    assert [row["row"] for row in rows] == list("123456")
    assert [row["qid"] for row in rows] == list("212122")
    assert [row["rank"] for row in rows] == list("221124")


def test_rows_without_qid_are_one_group_and_the_warning_speaks_of_the_file(run, folder):
    (folder / "new.txt").write_text("0 1:3 4:1\n0 1:4 4:1\n")
    code, out, err = run("predict", "rows.preflearn", "new.txt")
    assert code == 0
    assert [row["qid"] for row in rows_of(out)] == ["", ""]
    warnings = [line for line in err.splitlines() if "no line has a qid" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("preflearn: warning: new.txt")
    assert "query_sizes" not in err


def test_data_that_use_few_features_of_the_model_are_warned_about_once(run):
    code, _, err = run("predict", "rows.preflearn", "narrow.txt")
    assert code == 0
    assert err.count("\n") == 1
    assert "only features up to 1 occur" in err
    assert "trained on 4" in err


def test_items_are_listed_best_first(run):
    code, out, err = run("predict", "items.preflearn", "items.csv")
    rows = rows_of(out)
    assert (code, err) == (0, "")
    assert [row["item"] for row in rows] == NAMES[::-1]  # the later name always won
    assert [int(row["rank"]) for row in rows] == list(range(1, 13))
    assert [float(row["score"]) for row in rows] == sorted((float(row["score"]) for row in rows), reverse=True)


def test_columns_are_found_by_name_in_any_order(run, folder):
    before = run("predict", "items.preflearn", "items.csv")[1]
    table = [line.split(",") for line in (folder / "items.csv").read_text().splitlines()]
    (folder / "moved.csv").write_text("\n".join(f"{colour},7,{item},{size}" for item, size, colour in table))
    (folder / "moved.csv").write_text((folder / "moved.csv").read_text().replace(",7,", ",extra,", 1))
    assert run("predict", "items.preflearn", "moved.csv")[1] == before
    margins = run("predict", "items.preflearn", "pairs.csv", "--items", "items.csv")
    assert run("predict", "items.preflearn", "pairs.csv", "--items", "moved.csv") == margins
    judged = run("evaluate", "items.preflearn", "later.csv", "--items", "items.csv")
    assert run("evaluate", "items.preflearn", "later.csv", "--items", "moved.csv") == judged


def test_a_model_of_names_ranks_all_its_items_without_data(run):
    code, out, err = run("predict", "names.preflearn")
    assert (code, err) == (0, "")
    assert [row["item"] for row in rows_of(out)][:: len(NAMES) - 1] == ["C11", "C00"]  # never beaten, never won
    assert sorted(row["item"] for row in rows_of(out)) == NAMES


@pytest.mark.parametrize("model", ["names.preflearn", "items.preflearn"])
def test_margins_of_pairs_are_differences_of_scores(model, run):
    items = ["--items", "items.csv"] if model == "items.preflearn" else []
    code, out, err = run("predict", model, "pairs.csv", *items)
    assert (code, err) == (0, "")
    scores = {row["item"]: float(row["score"]) for row in rows_of(run("predict", model, *items[1:])[1])}
    for row in rows_of(out):
        assert float(row["margin"]) == pytest.approx(scores[row["first"]] - scores[row["second"]], abs=1e-12)
    assert [(row["first"], row["second"]) for row in rows_of(out)] == [("C01", "C02"), ("C09", "C03")]


def test_out_writes_the_same_as_standard_output_and_says_so(run, folder):
    text = run("predict", "rows.preflearn", "test.txt")[1]
    code, out, err = run("predict", "rows.preflearn", "test.txt", "--out", "scores.csv")
    assert (code, err) == (0, "")
    assert (folder / "scores.csv").read_text() == text
    assert "scores.csv: scores of 30 rows in 5 groups" in out
    assert run("predict", "rows.preflearn", "test.txt", "--out", "scores.csv", "--force")[0] == 0


def test_devices_are_written_to_and_not_replaced(run):
    assert run("predict", "rows.preflearn", "test.txt", "--out", os.devnull)[0] == 0
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_cell_that_a_spreadsheet_would_run_is_made_text(run, folder):
    lines = ["winner,loser", "=1+1,-2", "-2,@x", "@x,=1+1", "-2,=1+1"]
    (folder / "evil.csv").write_text("\n".join(lines))
    assert run("fit", "evil.csv", "--alpha", 1, "--save", "m.preflearn")[0] == 0
    items = {row["item"] for row in rows_of(run("predict", "m.preflearn")[1])}
    assert items == {"'=1+1", "-2", "'@x"}


def test_evaluate_gives_the_metrics_of_the_library(run, folder):
    lines = (folder / "test.txt").read_text().splitlines()
    (folder / "mixed.txt").write_text("\n".join(f"{i % 4}{line[1:]}" for i, line in enumerate(lines)))
    data = read_svmlight("mixed.txt")
    f, qid = load("rows.preflearn").predict(data), {"qid": data.group}
    code, out, err = run("evaluate", "rows.preflearn", "mixed.txt", "--relevant", 2, "--json")
    answer = json.loads(out)
    expected = {
        "disagreement": disagreement_error(data.score, f, **qid),
        "pairwise_accuracy": 1 - disagreement_error(data.score, f, **qid, average="pairs"),
        "kendall_tau_b": kendall_tau_b(data.score, f, **qid),
        "map": mean_average_precision(data.score, f, **qid, relevant=2),
        **{f"precision@{k}": precision_at_k(data.score, f, **qid, relevant=2, k=k) for k in (1, 5, 10)},
        **{f"ndcg@{k}": ndcg(data.score, f, **qid, k=k) for k in (1, 3, 5, 10)},
    }
    assert (code, err) == (0, "")
    assert (answer["n_rows"], answer["n_groups"], answer["notes"]) == (30, 5, [])
    assert answer["metrics"] == pytest.approx(expected, abs=1e-12)
    assert expected["map"] < 1
    table = run("evaluate", "rows.preflearn", "mixed.txt", "--relevant", 2)[1]
    for value in expected.values():
        assert f"{value:.4f}" in table
    for name in ("disagreement error", "Kendall tau_b", "MAP", "NDCG@10", "P@1"):
        assert name in table


def test_groups_without_a_relevant_row_are_said_with_means_without_them(run, folder):
    lines = [line.split(" ", 2) for line in (folder / "test.txt").read_text().splitlines()]
    empty = ("qid:1", "qid:4")
    lines = [f"{0 if qid in empty else i % 3} {qid} {rest}" for i, (_, qid, rest) in enumerate(lines)]
    (folder / "empty.txt").write_text("\n".join(lines))
    data = read_svmlight("empty.txt")
    f, qid = load("rows.preflearn").predict(data), {"qid": data.group}
    each = {"undefined": "skip", **qid}
    known = [ndcg(data.score, f, k=10, **each), mean_average_precision(data.score, f, **each)]
    precision = precision_at_k(data.score, f, k=1, average=None, **qid)[[1, 2, 4]].mean()
    notes = json.loads(run("evaluate", "rows.preflearn", "empty.txt", "--json")[1])["notes"]
    assert notes == [
        "2 of 5 groups have no score of 1 or more and count 0 in MAP, P@k, NDCG. Without them: "
        f"MAP {known[1]:.4f}, P@1 {precision:.4f}, NDCG@10 {known[0]:.4f}."
    ]
    notes = json.loads(run("evaluate", "rows.preflearn", "empty.txt", "--relevant", 2, "--json")[1])["notes"]
    assert [note.split(".")[0] for note in notes] == [
        f"2 of 5 groups have no score of {least} or more and count 0 in {what}"
        for least, what in ((2, "MAP, P@k"), (1, "NDCG"))
    ]
    (folder / "none.txt").write_text("0 qid:1 1:1 4:1\n0 qid:1 1:2 4:1\n")
    assert "1 of 1 group has no score of 1" in " ".join(run("evaluate", "rows.preflearn", "none.txt")[1].split())


def test_two_models_are_compared_group_by_group(run, folder):
    assert run("fit", "train.txt", "--alpha", 1e6, "--save", "flat.preflearn")[0] == 0
    lines = (folder / "test.txt").read_text().splitlines()
    (folder / "mixed.txt").write_text("\n".join(f"{i % 4}{line[1:]}" for i, line in enumerate(lines)))
    data = read_svmlight("mixed.txt")
    one, other = (load(f"{name}.preflearn").predict(data) for name in ("rows", "flat"))
    asked = ["evaluate", "rows.preflearn", "mixed.txt", "--against", "flat.preflearn"]
    answer = json.loads(run(*asked, "--json")[1])
    alone = json.loads(run("evaluate", "flat.preflearn", "mixed.txt", "--json")[1])
    assert answer["against"]["metrics"] == pytest.approx(alone["metrics"])
    each = [mean_average_precision(data.score, f, qid=data.group, average=None) for f in (one, other)]
    p = stats.wilcoxon(*each).pvalue
    assert 0 < p < 1
    assert answer["against"]["p_values"]["map"] == pytest.approx(p)
    assert answer["against"]["p_values"]["pairwise_accuracy"] is None, "it is no mean over groups"
    out = " ".join(run(*asked)[1].split())
    assert f"MAP {each[0].mean():.4f} {each[1].mean():.4f} {each[0].mean() - each[1].mean():+.4f} {p:.4f}" in out
    assert "Against flat.preflearn: RankRLS, trained on train.txt" in out
    same = json.loads(run(*asked[:3], "--against", "rows.preflearn", "--json")[1])["against"]
    assert same["p_values"]["map"] == 1.0
    assert same["metrics"] == pytest.approx(answer["metrics"])


def test_metrics_that_do_not_apply_are_left_out_with_a_note(run, folder):
    answer = json.loads(run("evaluate", "rows.preflearn", "real.txt", "--json")[1])
    assert sorted(answer["metrics"]) == ["disagreement", "kendall_tau_b", "pairwise_accuracy"]
    assert [note.split(" is ")[0].split(" are ")[0] for note in answer["notes"]] == ["MAP and P@k", "NDCG"]
    assert "NDCG is left out" in run("evaluate", "rows.preflearn", "real.txt")[1]
    answer = json.loads(run("evaluate", "rows.preflearn", "real.txt", "--relevant", "0.5", "--json")[1])
    assert "map" in answer["metrics"]
    assert "ndcg@1" not in answer["metrics"]
    answer = json.loads(run("evaluate", "rows.preflearn", "test.txt", "--relevant", 9, "--json")[1])
    assert "map" not in answer["metrics"]
    assert "no score reaches 9" in answer["notes"][0]


def test_metrics_without_any_pair_to_judge_are_left_out_with_a_note(run, folder):
    (folder / "tied.txt").write_text("1 qid:1 1:1 4:1\n1 qid:1 1:2 4:1\n0 qid:2 1:1 4:1\n")
    code, out, _ = run("evaluate", "rows.preflearn", "tied.txt", "--json")
    answer = json.loads(out)
    assert code == 0
    assert "disagreement" not in answer["metrics"]
    assert any(note.startswith("disagreement error is left out: ") for note in answer["notes"])
    assert 0 < answer["metrics"]["map"] <= 1


@pytest.mark.parametrize(("model", "items"), [("names.preflearn", []), ("items.preflearn", ["--items", "items.csv"])])
def test_comparisons_are_judged_by_accuracy(model, items, run):
    code, out, err = run("evaluate", model, "later.csv", *items, "--json")
    answer = json.loads(out)
    data = read_comparisons("later.csv", *items[1:])
    scores = {row["item"]: float(row["score"]) for row in rows_of(run("predict", model, *items[1:])[1])}
    right = [scores[data.names[a]] > scores[data.names[b]] for a, b in zip(data.first, data.second, strict=True)]
    assert (code, err) == (0, "")
    assert answer["n_comparisons"] == 25
    assert answer["metrics"]["pairwise_accuracy"] == pytest.approx(np.mean(right))
    assert answer["metrics"]["disagreement"] == pytest.approx(1 - np.mean(right))


def test_ties_and_groups_of_comparisons_are_named(run, folder):
    lines = ["first,second,winner,group", "C01,C00,C01,a", "C02,C01,tie,a", "C05,C06,first,b", "C07,C06,left,b"]
    (folder / "ties.csv").write_text("\n".join(lines))
    answer = json.loads(run("evaluate", "names.preflearn", "ties.csv", "--json")[1])
    assert answer["metrics"]["pairwise_accuracy"] == pytest.approx(2 / 3)
    assert answer["metrics"]["pairwise_accuracy_groups"] == pytest.approx(0.75)
    assert answer["notes"] == ["1 of 4 comparisons are ties and are left out."]


@pytest.mark.parametrize("model", ["rls", "kpcr"])
def test_scores_that_are_pure_noise_are_found_out_by_cross_validation(model, run, folder):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.standard_normal():.3f} qid:{i // 5} "
        + " ".join(f"{j + 1}:{rng.standard_normal():.3f}" for j in range(60))
        for i in range(200)
    ]
    (folder / "noise.txt").write_text("\n".join(lines))
    out = run("fit", "noise.txt", "--model", model, "--save", "m.preflearn")[1]
    error = float(re.search(r"disagreement error (\S+)", out)[1])
    assert 0.4 < error < 0.6  # judged on rows it was fitted on, it would be below 0.3


@pytest.mark.slow
def test_rows_in_one_group_are_cross_validated_by_folds_of_rows(run, folder):
    text = (folder / "train.txt").read_text()
    (folder / "one.txt").write_text(re.sub(r"qid:\d+", "qid:7", text))
    for model in ("rankrls", "rls", "kpcrank", "kpcr"):
        code, out, err = run("fit", "one.txt", "--model", model, "--kernel", "linear", "--save", f"{model}.preflearn")
        assert (code, err) == (0, "")
        assert "in one group" in out
        assert "folds of rows" in out


def test_force_replaces_a_model(run, folder):
    assert run("fit", "train.txt", "--alpha", 1, "--save", "m.preflearn")[0] == 0
    assert run("fit", "train.txt", "--alpha", 7, "--save", "m.preflearn", "--force")[0] == 0
    assert load("m.preflearn").alpha == 7


def test_a_model_of_the_library_without_notes_can_be_used(run):
    assert open_model("rows.preflearn")[1] == {}
    assert type(load("rows.preflearn")) is RankRLS
    assert run("predict", "rows.preflearn", "test.txt")[0] == 0


@pytest.mark.slow
def test_the_notes_hold_names_and_no_paths(run, folder):
    assert run("fit", folder / "matches.csv", "--items", folder / "items.csv", "--save", "m.preflearn")[0] == 0
    notes = open_model("m.preflearn")[1]
    assert notes["encoder"]["columns"] == ["size", "colour"]
    assert str(folder) not in json.dumps(notes)


def test_the_same_warning_is_shown_once(run, monkeypatch):
    import warnings

    import preflearn.cli.fit_least_squares
    from preflearn.exceptions import DataWarning

    fit = preflearn.cli.fit_least_squares.train

    def warn(*arguments):
        for text in ("odd", "odd", "odder"):
            warnings.warn(DataWarning(text, owner="Ratings"), stacklevel=1)
        for category in (FutureWarning, RuntimeWarning, UserWarning):
            warnings.warn("for developers", category, stacklevel=1)
        return fit(*arguments)

    monkeypatch.setattr(preflearn.cli.fit_least_squares, "train", warn)
    code, _, err = run("fit", "train.txt", "--alpha", 1, "--save", "m.preflearn")
    assert (code, err) == (0, "preflearn: warning: odd\npreflearn: warning: odder\n")


def test_odd_data_are_warned_about_once_in_the_words_of_the_command_line(run, folder):
    (folder / "odd.csv").write_text("first,second,outcome\na,b,1\nb,c,0\nx,y,1\nx,y,1\n")
    code, out, err = run("fit", "odd.csv", "--alpha", 1, "--save", "m.preflearn")
    lines = err.splitlines()
    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith("preflearn: warning: ")
    assert "share of the win" in out
    assert "--items" in err
    assert ".merged" not in err
