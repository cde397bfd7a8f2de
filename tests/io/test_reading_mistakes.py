"""What people do wrong with files: each mistake gets one message with the file, the line, the cause and the cure."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import read_items, read_preferences
from preflearn.io.table import parse_csv

ITEMS = b"item,size,kind\nann,1,cat\nbob,2,dog\ncy,3,cat\n"


def archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name in names:
            file.writestr(name, "<x/>")
    return stream.getvalue()


# what went wrong -> (name of the file, its bytes, pattern of the message); "line" is in the pattern where there is one
MISTAKES = {
    # files that are no text
    "empty": ("m.csv", b"", r"empty"),
    "blank": ("m.csv", b"\n  \n", r"empty"),
    "only a mark": ("m.csv", b"\xef\xbb\xbf\n", r"the file is empty.*Give a file with data"),
    "spreadsheet": ("m.xlsx", archive("xl/workbook.xml"), r"spreadsheet.*Save the sheet as CSV"),
    "spreadsheet called csv": ("m.csv", archive("xl/workbook.xml"), r"spreadsheet.*Save the sheet as CSV"),
    "zip": ("m.zip", archive("m.csv"), r"zip archive.*Unpack it first"),
    "broken zip": ("m.csv", b"PK\x03\x04junk", r"zip archive.*Unpack it first"),
    "model": ("m.csv", archive("header.json"), r"model file of preflearn.*Give a data file"),
    "old spreadsheet": ("m.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", r"old Excel workbook.*Save the sheet as CSV"),
    "pdf": ("m.csv", b"%PDF-1.4 ...", r"PDF document.*Save the data as CSV"),
    "picture": ("m.csv", b"\x89PNG\r\n\x1a\n", r"picture.*Save the data as CSV"),
    "pickle": ("m.csv", b"\x80\x04\x95\x10", r"pickle.*Save the data as CSV or Parquet"),
    "web page": ("m.csv", b"<!DOCTYPE html><html></html>", r"web page.*Download the data file itself"),
    "bzip2": ("m.csv.bz2", b"BZh91AY", r"compressed by bzip2.*Unpack it first"),
    "broken gzip": ("m.csv.gz", b"\x1f\x8b\x08\x00junk", r"gzip data are damaged.*Download or copy it again"),
    "cut gzip": (
        "m.csv.gz",
        gzip.compress(b"winner,loser\nann,bob\n" * 99, mtime=0)[:-9],
        r"gzip data.*Download or copy it again",
    ),
    "broken parquet": ("m.parquet", b"PAR1 nonsense", r"not a readable Parquet file.*Write it again"),
    "binary": ("m.csv", b"winner,loser\nann\x00,bob\n", r"line 2: byte 16 is zero.*Give a text file"),
    "latin 1": ("m.csv", b"winner,loser\nann,bob\nzw\xf6lf,ann\n", r"line 3: byte 23 \(0xf6\).*Save the file as UTF-8"),
    "half of utf-16": ("m.csv", "winner,loser\n".encode("utf-16")[:-1], r"UTF-16.*Save the file as UTF-8"),
    # the table as such
    "no rows": ("m.csv", b"winner,loser\n", r"a header but no rows below it.*Check that the file"),
    "too many cells": ("m.csv", b"winner,loser\nann,bob\ncy,ann,x\n", r"line 3: 3 cells.*2 columns.*quotes"),
    "too few cells": ("m.csv", b"winner,loser\nann,bob\ncy\n", r"line 3: 1 cell,.*complete the line"),
    "ragged after two lines in quotes": ("m.csv", b'winner,loser\n"a\nb",c\nd\n', r"line 4: 1 cell,"),
    "open quote": ("m.csv", b'winner,loser\nann,bob\n"cy,ann\n', r"line 3: a quote is opened.*Check the quotes"),
    "text after a quote": ("m.csv", b'winner,loser\n"ann"x,bob\n', r"line 2: .*Check the quotes"),
    "repeated column": (
        "m.csv",
        b"winner,loser,loser\nann,bob,cy\n",
        r'line 1: several columns are called "loser".*Rename',
    ),
    "blanks as delimiter": (
        "m.csv",
        b"winner loser\nann bob\n",
        r'line 1: there is one column \("winner loser"\).*comma',
    ),
    "colons as delimiter": ("m.csv", b"winner:loser\nann:bob\n", r"line 1: there is one column.*Separate columns by"),
    "a title": (
        "m.csv",
        b"Results 2020\n\nwinner,loser\nann,bob\n",
        r'line 1: there is one cell \("Results 2020"\).*Delete the lines',
    ),
    "no header, below a blank line": ("m.csv", b"\n3,5,1\n4,3,-1\n", r"line 2: .*look like data.*header is missing"),
    "no header, names": ("m.csv", b"ann,bob\ncy,ann\n", r"line 1: .*look like data.*header is missing.*winner,loser"),
    "no header, numbers": ("m.csv", b"3,5,1\n4,3,-1\n", r"line 1: .*header is missing.*first,second,winner"),
    "no header, ragged": ("m.csv", b"3,5,1\n4,3,-1,7\n", r"line 1: there are only numbers.*line 2.*Add a first line"),
    "unknown columns": ("m.csv", b"p,q\nann,bob\n", r'do not say who was preferred.*columns="winner=p,loser=q"'),
    "three of a kind": (
        "m.csv",
        b"variety_a,variety_b,variety_c,best\nu,v,w,A\n",
        r'do not say who was preferred.*most of them in both.*columns="first=COLUMN',
    ),
    "no outcome": ("m.csv", b"home,away\nann,bob\n", r'two sides.*do not say who.*columns="winner=home,loser=away"'),
    "sides of two kinds": (
        "m.csv",
        b"left,right,home,away,winner\nann,bob,ann,bob,left\n",
        r'several pairs of columns could be the two sides.*columns="first=left,second=right"',
    ),
    "two winners": (
        "m.csv",
        b"left,right,chosen,preferred\nann,bob,ann,ann\n",
        r'2 columns could be the winner: "chosen", "preferred".*columns="winner=chosen"',
    ),
    "two scores": (
        "m.csv",
        b"home,away,home_goals,away_goals,home_points,away_points\nann,bob,1,2,0,3\n",
        r'several pairs of columns could be the scores.*columns="score_first=home_goals,score_second=away_goals"',
    ),
    "items or a feature": (
        "m.csv",
        b"price_left,price_right,outcome\n1,2,-1\n3,2,1\n",
        r'could be items or a feature.*columns="first=price_left,second=price_right".*columns="features=price"',
    ),
    "two judges": ("m.csv", b"winner,loser,worker,user\nann,bob,1,2\n", r'could be the judge.*columns="judge=worker"'),
    # cells of the comparisons
    "empty winner": (
        "m.csv",
        b"winner,loser\nann,bob\n,cy\n",
        r'line 3: winner \(column.*empty.*Fill the cell.*missing="drop"',
    ),
    "empty outcome": ("m.csv", b"first,second,outcome\nann,bob,1\ncy,bob,\n", r"line 3: outcome.*empty.*Fill the cell"),
    "empty score": ("m.csv", b"home,away,score1,score2\nann,bob,1,\n", r"line 2: score .*empty.*Fill the cell"),
    "empty judge": (
        "m.csv",
        b"winner,loser,judge\nann,bob,\n",
        r"line 2: judge.*empty.*Fill the cell, or delete the row\.$",
    ),
    "compared with itself": (
        "m.csv",
        b"winner,loser\nann,bob\ncy,cy\n",
        r'line 3: "cy" is compared with itself.*Delete the rows.*self_comparisons="drop"',
    ),
    "one item": ("m.csv", b"winner,loser\nann,ann\nann,ann\n", r"line 2: .*itself \(2 of 2 rows\).*different columns"),
    "winner is neither": (
        "m.csv",
        b"left,right,winner\nann,bob,cy\n",
        r'line 2: winner "cy" is neither.*Write the winner',
    ),
    "winner in capitals": (
        "m.csv",
        b"left,right,winner\nann,bob,ANN\n",
        r'line 2: winner "ANN" is neither.*"ann" is written differently.*Write',
    ),
    "unknown word": ("m.csv", b"left,right,winner\nann,bob,left\nann,cy,lft\n", r'line 3: winner "lft".*left or right'),
    "skipped question": ("m.csv", b"left,right,label\nann,bob,left\nann,cy,skip\n", r'line 3: outcome "skip".*Write'),
    "outcome is a word": ("m.csv", b"first,second,outcome\nann,bob,1\nann,cy,yes\n", r'line 3: outcome "yes".*Write'),
    "outcome not finite": (
        "m.csv",
        b"first,second,outcome\nann,bob,1\nann,cy,inf\n",
        r'line 3: outcome \(column "[a-z_1]+"\) holds "inf".*Correct',
    ),
    "outcome missing": (
        "m.csv",
        b"first,second,outcome\nann,bob,1\nann,cy,NA\n",
        r'line 3: outcome "NA".*Write.*missing="drop"',
    ),
    "winner 0 and 1": (
        "m.csv",
        b"left,right,winner\nann,bob,0\nann,cy,1\n",
        r'not clear which side.*If 1 says.*"first=1,second=0" and if 0 does, use outcomes="first=0,second=1"\.$',
    ),
    "scale from 1 to 5": (
        "m.csv",
        b"left,right,label\nann,bob,1\nann,cy,5\nbob,cy,3\n",
        r'holds 1, 3, 5 \(line 2: 1, line 3: 5\).*second side.*"first=1,second=5".*codes.*write first, second or tie.*'
        r'use outcomes="first=positive"\.$',
    ),
    "1, 2 and 3": (
        "m.csv",
        b"left,right,label\nann,bob,1\nann,cy,2\nbob,cy,3\n",
        r"holds 1, 2, 3 \(line.*second side won.*\"first=1,second=3\".*codes.*write first, second or tie",
    ),
    "1 and 2": (
        "m.csv",
        b"left,right,label\nann,bob,1\nann,cy,2\n",
        r'holds 1, 2 \(line.*win of the first \("left"\).*"first=1,second=2".*"first=2,second=1".*"first=positive"\.$',
    ),
    "winner 0, 1 and 2": (
        "m.csv",
        b"left,right,winner\nann,bob,0\nann,cy,1\nbob,cy,2\n",
        r"holds 0, 1, 2, and it is not clear which side.*Write first, second or tie",
    ),
    "shares": (
        "m.csv",
        b"first,second,outcome\nann,bob,0.7\nann,cy,0.2\n",
        r'holds 0.2, 0.7 \(line 2: 0.7, line 3: 0.2\), no negative numbers.*"first=0,second=1" or.*"first=1,second=0"',
    ),
    "a slider": (
        "m.csv",
        b"left,right,score\nann,bob,-3\nann,cy,7\nbob,cy,-10\n",
        r"holds -10, -3, 7 \(line 2: -3, line 3: 7, line 4: -10\): does a positive number mean the first side or the "
        r'second.*first \("left"\), use outcomes="first=positive".*use outcomes="second=positive"\.$',
    ),
    "grades of both signs": (
        "m.csv",
        b"worker,left,right,label\nw1,ann,bob,2\nw2,ann,cy,-1\nw2,bob,cy,0\n",
        r'does a positive number mean.*outcomes="first=positive".*outcomes="second=positive"',
    ),
    "signs of a preference": (
        "m.csv",
        b"response1,response2,overall_preference\nann,bob,-3\nann,cy,1\nbob,cy,2\n",
        r'does a positive number mean.*outcomes="second=positive"',
    ),
    "0 and 1 of a label": (
        "m.csv",
        b"left,right,label\nann,bob,0\nann,cy,1\n",
        r'holds 0, 1 .*second side won.*"first=0,second=1" or the other way round, outcomes="first=1,second=0"',
    ),
    "a score without sign": (
        "m.csv",
        b"left,right,score\nann,bob,35\nann,cy,82.5\nbob,cy,50\n",
        r'holds 35, 50, 82.5 .*no negative numbers.*outcomes="first=35,second=83"',
    ),
    "a margin without sign": (
        "m.csv",
        b"first,second,margin\nann,bob,12\nann,cy,0.5\n",
        r'no negative numbers.*If the first side won every time, use outcomes="first=positive"',
    ),
    "always 1": (
        "m.csv",
        b"left,right,preference\nann,bob,1\nann,cy,1\n",
        r'holds 1 \(line 2: 1\), no negative numbers.*outcomes="first=positive"',
    ),
    "winner number": (
        "m.csv",
        b"left,right,winner\n7,8,7\n7,9,8\n",
        r'line 3: winner "8" is neither "7" nor "9".*Write',
    ),
    "score is a word": (
        "m.csv",
        b"home,away,score1,score2\nann,bob,1,2\nann,cy,won,0\n",
        r'line 3: score \(column "[a-z_1]+"\) holds "won".*Correct',
    ),
    "score missing": (
        "m.csv",
        b"home,away,score1,score2\nann,bob,NA,2\n",
        r'line 2: score \(column "[a-z_1]+"\) holds "NA".*Fill the cell.*missing="drop"',
    ),
    "scores against the winner": (
        "m.csv",
        b"home,away,winner,home_score,away_score\nann,bob,ann,2,1\nann,cy,ann,0,1\n",
        r'line 3: the winner .*and the scores.*disagree.*1 of 2 rows.*columns="winner=winner" or columns="score',
    ),
    "a draw with a winner": (
        "m.csv",
        b"winner,loser,result\nann,bob,won\ncy,bob,draw\n",
        r'line 3: .*"draw".*columns="ties=result"',
    ),
    "ties in words": ("m.csv", b"winner,loser,tie\nann,bob,maybe\n", r'line 2: ties.*"maybe".*Write yes or no'),
    "weight negative": ("m.csv", b"winner,loser,weight\nann,bob,1\ncy,bob,-1\n", r"line 3: weight.*negative.*>= 0"),
    "weight a word": (
        "m.csv",
        b"winner,loser,weight\nann,bob,much\n",
        r'line 2: weight \(column "[a-z_1]+"\) holds "much".*Correct',
    ),
    "weights zero": ("m.csv", b"winner,loser,weight\nann,bob,0\n", r"all 1 weights.*zero.*Raise some"),
    "wins negative": ("m.csv", b"team1,team2,wins1,wins2\nann,bob,-1,2\n", r"line 2: wins_first.*negative.*correct it"),
    "wins zero": ("m.csv", b"team1,team2,wins1,wins2\nann,bob,0,0\n", r"all counts of wins are zero.*Give some"),
    # rankings
    "item twice in a ranking": (
        "m.csv",
        b"ranking\na > b\na > b > a\n",
        r'line 3: the ranking lists "a" more than once.*once',
    ),
    "a gap in a ranking": ("m.csv", b"ranking\na > b\na > > c\n", r"line 3: .*place without an item.*Write it as in"),
    "one item in a ranking": (
        "m.csv",
        b"voter,ranking\nv,a\n",
        r'line 2: ranking "a" lists one item.*Write the items best',
    ),
    "nothing ranked": ("m.csv", b"1,2,3\na,,\nb,,\n", r"no ranking lists two items or more.*Give a ranking of two"),
    "item twice in places": ("m.csv", b"1,2,3\na,b,c\na,b,a\n", r'line 3: the ranking lists "a" more than once'),
    "item twice in a race": (
        "m.csv",
        b"race,driver,place\nr,a,1\nr,b,2\nr,a,3\n",
        r'line 4: "a" has a place already \(line 2\).*once',
    ),
    "place is a word": (
        "m.csv",
        b"race,driver,place\nr,a,1\nr,b,last\n",
        r'line 3: place \(column "[a-z_1]+"\) holds "last".*Correct',
    ),
    "preflib without rankings": ("m.soc", b"# ALTERNATIVE NAME 1: a\n", r"no rankings below the header.*Add lines"),
    "preflib unknown": ("m.soc", b"# ALTERNATIVE NAME 1: a\n2: 1,7\n", r'line 2: "7" is not among the 1 alt.*Correct'),
    "preflib beyond its number": (
        "m.soc",
        b"# NUMBER ALTERNATIVES: 3\n1: 1,2,9\n",
        r'line 2: "9" is not among the 3 alternatives.*Correct the number',
    ),
    "0, 1 and 2": (
        "m.csv",
        b"first,second,outcome\na,b,0\na,c,1\nb,c,2\n",
        r"holds 0, 1, 2 \(line.*second side won.*\"first=0,second=2\".*write first, second or tie",
    ),
    "preflib of another type": ("m.toc", b"# DATA TYPE: wmd\n1: 1,2\n", r'line 1: the data type is "wmd".*Give a file'),
    "league table": ("m.csv", b"team,won,lost\nann,3,1\nbob,1,3\n", r"do not say who was preferred.*columns="),
    "preflib braces": ("m.toc", b"# ALTERNATIVE NAME 1: a\n2: 1,{7\n", r"line 2: the braces.*Write ties as in"),
    "preflib line": ("m.soc", b"# ALTERNATIVE NAME 1: a\nhello\n", r'line 2: "hello" is not a count.*Write it as in'),
    "preflib name twice": ("m.soc", b"# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 1: b\n1: 1\n", r"line 2: .*once"),
    # JSON and SVMlight
    "json comma": (
        "m.jsonl",
        b'{"winner": "a", "loser": "b"}\n{"winner": "a",\n',
        r"line 2: this is not JSON.*one object per line",
    ),
    "json numbers": ("m.jsonl", b"3\n", r"line 1: '3' is not an object.*Write one object per line"),
    "json list broken": ("m.json", b'[{"winner": "a"', r"this is not JSON.*Check the file"),
    "json list empty": ("m.json", b"[ ]", r"there are no rows.*Give at least one"),
    "svmlight number": ("m.txt", b"1 qid:1 1:0.5\n2 qid:1 1:x\n", r'line 2: feature 1 .*"x".*Impute'),
    "svmlight qid": ("m.txt", b"1 qid:1 1:0.5\n2 1:1\n", r"line 2: qid is missing.*Add qid"),
}
ITEM_MISTAKES = {
    "unknown item": (
        ITEMS,
        b"winner,loser\nann,bob\nbobb,cy\n",
        r'm.csv, line 3: "bobb" is not in .*i.csv.*"bob".*Correct',
    ),
    "item twice": (ITEMS + b"ann,4,dog\n", None, r'i.csv, line 5: item "ann" was listed already \(line 2\).*once'),
    "name empty": (b"item,size\nann,1\nbob,2\n,3\n", None, r'i.csv, line 4: name \(column "item"\) is empty.*Fill'),
    "word among numbers": (
        ITEMS.replace(b"3", b"tall"),
        None,
        r'i.csv, line 4: column "size" holds "tall".*columns="without=size"',
    ),
    "infinite": (ITEMS.replace(b"3", b"inf"), None, r'i.csv, line 4: column "size" holds "inf".*Correct it'),
    "beyond scaling": (
        ITEMS.replace(b"3", b"1e200"),
        None,
        r'i.csv: the standard deviation of column "size" is.*columns="without=size"',
    ),
    "items without names": (b"x,y\n0.5,2\n0.25,3\n", None, r"i.csv: no column holds the names.*Add a column item"),
    "two columns of numbers": (
        b"rank,no,x\n2,1,5\n1,2,6\n",
        b"winner,loser\n1,2\n",
        r'i.csv: the columns "rank", "no" could all hold the names.*columns="name=rank"',
    ),
    "the same item twice": (
        b"no,x\n1,5.5\n2,6.5\n",
        b"winner,loser\n1,2\n1.0,1\n",
        r'm.csv, line 3: "1.0" and "1" are the same item. Delete the row',
    ),
    "items empty": (b"", None, r"i.csv: the file is empty"),
    "items are a spreadsheet": (archive("xl/a.xml"), None, r"i.csv: .*spreadsheet.*Save the sheet"),
    "ragged items": (ITEMS + b"dee\n", None, r"i.csv, line 5: 1 cell,.*complete the line"),
}
CURE = re.compile(
    r"(Give|Save|Unpack|Download|Fetch|Write|Check|Rename|Separate|Add|Name|Fill|Delete|Correct|Raise|Put|Choose|Say|List"
    r"|Use|Impute|Change|use|complete|give values|correct it|name the columns)\b"
)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_message_with_file_line_cause_and_cure(name: str, tmp_path: Path) -> None:
    file, content, pattern = MISTAKES[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        read_preferences(tmp_path / file)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / file)), message
    assert re.search(pattern, message), message
    assert CURE.search(message), message
    assert "\n" not in message


@pytest.mark.parametrize("name", ITEM_MISTAKES)
def test_mistakes_in_the_table_of_items(name: str, tmp_path: Path) -> None:
    items, matches, pattern = ITEM_MISTAKES[name]
    (tmp_path / "i.csv").write_bytes(items)
    (tmp_path / "m.csv").write_bytes(matches or b"winner,loser\nann,bob\ncy,ann\n")
    with pytest.raises(FileFormatError) as caught:
        read_preferences(tmp_path / "m.csv", tmp_path / "i.csv")
    assert re.search(pattern, str(caught.value)), str(caught.value)
    assert CURE.search(str(caught.value))


def test_there_are_enough_mistakes() -> None:
    assert len(MISTAKES) + len(ITEM_MISTAKES) >= 90


GAMES = pd.DataFrame({"home": ["ann", "bob"], "away": ["bob", "cy"], "result": [1, -1]})
CALLS = {
    "no such file": (lambda: read_preferences("nowhere.csv"), r"nowhere.csv: there is no such file.*Check the path"),
    "a directory": (
        lambda: read_preferences("tests"),
        r"tests: no file in this directory ends in .parquet, .*Give one file",
    ),
    "unknown column": (
        lambda: read_preferences(GAMES, columns="first=home,second=awy"),
        r"data frame: there is no column 'awy' for second.*nearest names: \"away\".*Name one",
    ),
    "unknown role": (
        lambda: read_preferences(GAMES, columns="frist=home"),
        r'"frist" is not a role.*"first".*Roles are',
    ),
    "no role": (lambda: read_preferences(GAMES, columns="home"), r'"home" does not say.*Write role=column'),
    "a list by commas": (
        lambda: read_preferences(GAMES, columns="covariates=home,away"),
        r'"away" does not say.*Write role=column.*join columns of one role by \+, as in covariates=home\+away',
    ),
    "role twice": (lambda: read_preferences(GAMES, columns="first=home,first=away"), r'"first" is named twice'),
    "one side": (lambda: read_preferences(GAMES, columns="first=home"), r"first is named and second is not. Name both"),
    "only the loser": (lambda: read_preferences(GAMES, columns="loser=home"), r"loser is named and winner is not"),
    "no feature": (
        lambda: read_preferences(GAMES, columns="features=speed"),
        r'no two columns for the feature "speed".*columns="features=none"',
    ),
    "frame without rows": (lambda: read_preferences(GAMES[:0]), r"there are no rows. Give at least one"),
    "frame as svmlight": (
        lambda: read_preferences(GAMES, form="svmlight"),
        r"cannot be a svmlight file.*Leave out form",
    ),
    "form": (lambda: read_preferences(GAMES, form="csv"), r"form must be 'comparisons' or"),
    "missing": (lambda: read_preferences(GAMES, missing="ignore"), r"missing must be 'error' or 'drop'"),
    "not rankings": (lambda: read_preferences(GAMES, form="rankings"), r'hold no rankings.*columns="ranking=COLUMN"'),
    "row of a frame": (
        lambda: read_preferences(GAMES.assign(winner=["ann", "ann"]), columns="winner=winner"),
        r'data frame, row 1: winner "ann" is neither "bob" nor "cy"',
    ),
    "item not in the array": (
        lambda: read_preferences(pd.DataFrame({"winner": [0, 3], "loser": [1, 2]}), np.eye(3)),
        r'data frame, row 1: "3" is not in the list of known items \(3 items, numbered 0..2\)',
    ),
    "items for features on rows": (
        lambda: read_preferences(
            pd.DataFrame({"x_left": [0.5], "x_right": [1.5], "y_left": [1], "y_right": [2], "winner": ["left"]}),
            np.eye(3),
        ),
        r"have features but no names, so .* Leave out the table of items",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_mistakes_of_a_call(name: str) -> None:
    call, pattern = CALLS[name]
    with pytest.raises(ValueError) as caught:
        call()
    assert re.search(pattern, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("source", [3, None, {("a", "b")}, object()])
def test_other_kinds_of_source_are_refused(source: object) -> None:
    with pytest.raises(TypeError, match=r"source must be a path, -, a data frame|Give a list"):
        read_preferences(source)
    with pytest.raises(TypeError, match="columns must map roles to columns"):
        read_preferences(GAMES, columns=["home", "away"])


def test_options_of_svmlight_files_are_for_those_only(tmp_path: Path) -> None:
    table, rows = tmp_path / "m.csv", tmp_path / "m.txt"
    table.write_text("winner,loser\nann,bob\n")
    rows.write_text("1 qid:1 1:2\n0 qid:1 1:1\n")
    for call in (
        lambda: read_preferences(table, n_features=3),
        lambda: read_preferences(table, zero_based=True),
        lambda: read_preferences(rows, table),
        lambda: read_preferences(rows, columns="winner=a,loser=b"),
    ):
        with pytest.raises(DataError, match="Leave"):
            call()


@pytest.mark.parametrize("header", ["left,right,winner", "winner,loser", "home_team,away_team,home_score,away_score"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_header_in_the_middle_is_told_from_data(header: str, times: int, tmp_path: Path) -> None:
    rows = "ann,bob,left\n" if "right" in header else "ann,bob\n" if "loser" in header else "ann,bob,1,2\n"
    path = tmp_path / "m.csv"
    path.write_text(f"{header}\n{rows}" + f"{header}\n{rows}{rows}" * times)
    more = r" \(2 such lines\)" if times == 2 else ""
    with pytest.raises(FileFormatError, match=rf"line 3: this line repeats the first one.*\"{more}\. .*tail -n \+2"):
        read_preferences(path)


def test_a_header_in_the_middle_of_a_table_of_items_is_found(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,price\nann,1\nitem,price\nbob,2\n")
    with pytest.raises(FileFormatError, match=r"line 3: this line repeats the first one"):
        read_items(path)


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser\nwinner,loser\nwinner,ann\n",  # an item called winner
        "1,2,3\n1,2,3\n2,3,1\n",  # places, and items that are numbers
        "ranking\nranking\n",
    ],
)
def test_rows_that_may_be_data_are_not_taken_for_a_header(text: str) -> None:
    table = parse_csv(text, "m.csv")
    columns = [table.cells(name) for name in table.columns]
    assert [",".join(row) for row in zip(*columns, strict=True)] == text.splitlines()[1:]
