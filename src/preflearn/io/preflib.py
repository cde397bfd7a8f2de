"""PrefLib: files of rankings with counts (https://www.preflib.org), in the format of 2022 and the one before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflearn.exceptions import FileFormatError, Place
from preflearn.io.ranking_tables import Rankings
from preflearn.io.table import Table

_PREFLIB_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)")
_PREFLIB_COUNT = re.compile(r"#\s*NUMBER ALTERNATIVES\s*:\s*(\d{1,5})")
_PREFLIB_LINE = re.compile(r"(\d+)\s*[:,]\s*(.*)")


def preflib_rankings(text: str, source: str) -> tuple[Table, Rankings, list[str]]:
    """Return the rankings of a PrefLib file with their counts as weights, and the names of all alternatives."""
    names: dict[str, str] = {}
    ranks: list[list[list[str]]] = []
    counts: list[float] = []
    lines: list[int] = []
    for number, line in _preflib_lines(text, names, source):
        where = Place(source, number)
        match = _PREFLIB_LINE.fullmatch(line)
        if match is None or not match[2].strip():
            raise FileFormatError(code="preflib-line", where=where).says(
                f'"{line[:60]}" is not a count and a ranking', "Write it as in 3: 1,2,{4,5}"
            )
        if len(match[1]) > 12:
            raise FileFormatError(code="preflib-count-too-large", where=where).says(
                f"the count {match[1][:20]} is too large", "Correct it"
            )
        ranks.append([[_alternative(n, names, where) for n in rank] for rank in _preflib_ranks(match[2], where)])
        counts.append(float(match[1]))
        lines.append(number)
    if not ranks:
        raise FileFormatError(code="preflib-no-rankings", where=Place(source)).says(
            "there are no rankings below the header", "Add lines such as 3: 1,2,{4,5}"
        )
    if not any(counts):
        raise FileFormatError(code="preflib-all-counts-zero", where=Place(source)).says(
            "every ranking has the count 0", "Raise some of them"
        )
    table = Table(source, (), lambda name: [], lines, "line")
    how = f"counts before the rankings are weights, {sum(counts):g} in total; braces are ties"
    return table, Rankings(ranks, list(range(len(ranks))), counts, how), list(dict.fromkeys(names.values()))


def _preflib_lines(text: str, names: dict[str, str], source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with rankings, after the names of the alternatives have been read, in either format."""
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    head = [(number, match) for number, line in lines if (match := _PREFLIB_NAME.match(line))]
    body = [entry for entry in lines if not entry[1].startswith("#")]
    for number, line in lines:
        kind = re.fullmatch(r"#\s*DATA TYPE\s*:\s*(\w+)", line)
        if kind and kind[1].lower() not in ("soc", "soi", "toc", "toi"):
            raise FileFormatError(code="preflib-data-type", where=Place(source, number)).says(
                f'the data type is "{kind[1][:20]}", and rankings are soc, soi, toc or toi', "Give a file with rankings"
            )
    for number, match in head:
        _add_name(names, match[1], match[2], Place(source, number))
    for _, line in lines:
        count = _PREFLIB_COUNT.fullmatch(line)
        if count and not head:  # numbers are the names
            names |= {str(one): str(one) for one in range(1, int(count[1]) + 1)}
    if not head and body and re.fullmatch(r"\d{1,6}", body[0][1]):  # the old format: how many, then their names
        n_names = int(body[0][1])
        for number, line in body[1 : n_names + 1]:
            key, comma, name = line.partition(",")
            if not comma or not key.strip().isdecimal():
                raise FileFormatError(code="preflib-alternative-line", where=Place(source, number)).says(
                    f'"{line[:60]}" is not "number,name"', "Correct the line"
                )
            _add_name(names, key.strip(), name, Place(source, number))
        body = body[n_names + 2 :]  # a line with the numbers of voters and rankings follows the names
    yield from body


def _add_name(names: dict[str, str], key: str, name: str, where: Place) -> None:
    name = name.strip() or key
    key = str(int(key)) if len(key) < 10 else key
    if key in names:
        raise FileFormatError(code="preflib-alternative-repeated", where=where).says(
            f"alternative {key} was named already", "Name every alternative once"
        )
    names[key] = f"{name} ({key})" if name in names.values() else name


def _preflib_ranks(text: str, where: Place) -> list[list[str]]:
    if not re.fullmatch(r"(\{[^{}]*\}|[^{},]*)(,(\{[^{}]*\}|[^{},]*))*", text.strip()):
        raise FileFormatError(code="preflib-braces", where=where).says(
            "the braces of a tie do not match", "Write ties as in 1,{2,3},4"
        )
    ranks = []
    for match in re.finditer(r"\{([^{}]*)\}|[^{},]+", text):
        members = [part.strip() for part in (match[1] if match[1] is not None else match[0]).split(",")]
        members = [member for member in members if member]
        if members:
            ranks.append(members)
    return ranks


def _alternative(number: str, names: dict[str, str], where: Place) -> str:
    key = str(int(number)) if number.isdecimal() and len(number) < 10 else number
    if names and key not in names:
        raise FileFormatError(code="preflib-unknown-alternative", where=where).says(
            f'"{number[:40]}" is not among the {len(names)} alternatives of the header',
            "Correct the number, or add a line # ALTERNATIVE NAME",
        )
    return names.get(key, key)
