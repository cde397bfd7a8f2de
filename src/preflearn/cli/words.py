"""Messages of the library in the words of the command line: options instead of arguments, one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["explain", "one_line", "visible", "without_owner"]

# Cures that name arguments of Python functions, as the options that do the same.
_OPTIONS = [
    (
        r"Use approximation=Nystroem\((\d+)\), or GridSearchCV over [^.]*\.",
        r"Use --nystroem \1, or give --alpha a number.",
    ),
    (r"approximation=Nystroem\((\d+)\)", r"--nystroem \1"),
    (r"read with zero_based=True if", "use --zero-based if"),
    (r", or give query_sizes=\S+ \([^)]*\)", ""),
    (
        r"is above (\d+) \(n_features=\d+\)\.",
        r"is above \1, the number of features of the model. Give the same features as in training, or train the model "
        "with a larger --n-features.",
    ),
    (r" Give n_features if they are all zero\.", " Write index:value after the qid."),
    (r', or build with self_comparisons="drop"', ""),
    (r'with (missing|self_comparisons)="drop"', "with --drop"),
    (r'outcomes="([^" ]*)"', r"--outcomes \1"),
    (r"Leave out outcomes\.", "Leave out --outcomes."),
    (r'repeated_rows="keep"', "--keep-repeats"),
    (r'ties="(include|exclude)"', r"--ties \1"),
    (r"fewer folds \(cv\), or groups \(qid\)", "groups (qid), or a number for --alpha or --components"),
    (r"Make one with preflearn\.save", "Make one with preflearn fit DATA --save FILE"),
    (r"get_scorer: ", "--scoring: "),
    (
        r"there is no column '([^']*)' \(([^)]*)\)\. Name one of these columns\.",
        r'there is no column "\1" (\2), and the model was trained with it. Give the same columns as in training.',
    ),
    (r"Unpack it first \(gzip is read as it is\)", "Unpack it, or save the sheet as CSV"),
    (r"Leave out columns\.", "Leave out --columns."),
    (r"Leave out the items\.", "Leave out --items."),
    (r"into int\.", "into a whole number."),
    (r"into float\.", "into a number."),
    (r", or keep one part \(see \.parts\(\)\)", ""),
    (r"between the parts, give features", "between the parts, or give features (--items)"),
    (r"is not in the items \(", "is not among the items of the model ("),
    (r"Check that y \(or outcome\) is the right column", "Check the scores (or outcomes) in the file"),
    (r"\bread_\w+: (columns|outcomes): ", r"--\1: "),
    (
        r"learn scores without uncertainty by RankRLSCV, which lists no pairs\.",
        "learn scores without uncertainty: preflearn fit DATA --save MODEL, and then preflearn predict MODEL DATA "
        "ranks the rows of each query.",
    ),
    (r"\((?:[A-Z]\w*Error|BadZipFile): ", "("),
    (r"\brank: model (\w)", r"--model \1"),
    (r"Give a table of items, or use bradley-terry\.", "Give it with --items ITEMS, or use --model bradley-terry."),
    (r"Name the column of the judges\.", "Name the column of the judges: --columns judge=COLUMN."),
    (
        r"Name the column of the (clusters|covariates)\.",
        r"A table cannot bring \1 yet, only Python can: choose another --model.",
    ),
]
# What a terminal would obey: controls, but for line ends and tabs, and what turns the direction of text around.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OWNER = re.compile(
    r"^(RLS|RankRLS|RankRLSCV|KPCR|KPCRank|KPCRankCV|Nystroem|Comparisons|Ratings|BradleyTerry|PreferenceGP|"
    r"ComparableClusters|ItemEncoder|read_\w+|from_\w+|rank|rankability|held_out|suggest|remaining_value|judge_report|"
    r"pairwise_accuracy): "
)
# Messages of the parser of the command line, with a cure.
_USAGE = [
    (r"Unused Tokens: \[.*?'[\u2013\u2014](\w+).*\]\.", r"an option starts with two hyphens, not with a dash: --\1."),
    (r"Unused Tokens: \[(.*)\]\.", r"too many arguments: \1. Leave out the rest, or put names with blanks in quotes."),
    (r'Command "\w+" parameter (\S+) requires an argument\.', r"\1 is missing."),
    (r"Parameter (\S+) specified multiple times\.", r"\1 is given twice. Give it once, with commas between its parts."),
    (
        r'Unknown command "(-[^"]*)"\..*',
        r'"\1" comes before the command. Options come after it, as in preflearn rank DATA \1.',
    ),
]


def one_line(message: str) -> str:
    """Return a message as one line that names options of the command line."""
    text = " ".join(str(message).split())
    for pattern, words in _OPTIONS:
        text = re.sub(pattern, words, text)
    return visible(text)


def without_owner(message: str) -> str:
    """Return a message without the class or function that raised it."""
    return _OWNER.sub("", message)


def explain(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message for a failure."""
    from cyclopts import CycloptsError

    from preflearn.exceptions import DataError

    if isinstance(error, CycloptsError):
        return 2, _usage(error)
    if isinstance(error, DataError) or type(error).__name__ == "InvalidParameterError":
        return 2, without_owner(one_line(str(error)))
    if isinstance(error, MemoryError):
        detail = f" ({one_line(str(error))})" if str(error) else ""
        return 2, f"there is not enough memory{detail}. Use fewer rows, a linear kernel, or --nystroem 1000."
    if isinstance(error, UnicodeEncodeError):
        return 2, (
            f"the output cannot show {error.object[error.start : error.end]!r} in {error.encoding}. "
            "Set PYTHONIOENCODING=utf-8, or write to a file with --out."
        )
    if isinstance(error, OSError):
        where = error.filename or "standard output"  # writers of files name them
        return 2, f"{where}: {error.strerror or error}. Check the path, the permissions and the free space."
    return 1, f"unexpected error, which is a bug of preflearn ({type(error).__name__}: {one_line(str(error))})."


def _usage(error: Exception) -> str:
    text = one_line(str(error))
    rest = re.fullmatch(r"Unused Tokens: \['([^']*)'.*\]\.", text)
    if rest and Path(rest[1]).is_file():
        text = (
            f"too many arguments: {rest[1]} is a further file, and one is read. Join files first, with one header: "
            f"(cat FIRST; tail -n +2 {rest[1]}) > ALL.csv."
        )
    for pattern, words in _USAGE:
        text = re.sub(f"^{pattern}", words, text)
    chain = getattr(error, "command_chain", None)
    unknown = re.match(r"Unknown option: (-[^\s=]*?)\.(?: |$)", text)
    if unknown:
        text = _unknown_option(unknown[1], chain) or text
    file = re.match(r'Unknown command "([^"]*)"\.', text)
    if file and Path(file[1]).is_file():
        text = f"{file[1]} is a file, and the command is missing, as in preflearn rank {file[1]}."
    command = " ".join(["preflearn", *chain]) if chain else "preflearn"
    if text[1:2].islower():  # not DATA
        text = text[0].lower() + text[1:]
    return f'{text} See "{command} --help".'


def _unknown_option(option: str, chain: Sequence[str] | None) -> str | None:
    """Return what to say about an option that this command does not have but that exists, or None."""
    from preflearn.cli.app import app

    known = {
        command: {name for argument in app[command].assemble_argument_collection() for name in argument.names}
        for command in app
        if not command.startswith("-")
    }
    here = known.get(chain[-1], set()) if chain else set()
    meant = f"-{option}"
    if not option.startswith("--") and meant in here:
        return f"unknown option: {option}. Write it with two hyphens: {meant}."
    if option.lower() in here:
        return f"unknown option: {option}. Write it in small letters: {option.lower()}."
    others = [command for command, names in known.items() if option in names]
    return f"unknown option: {option}. It belongs to {', '.join(others)}. Leave it out." if others else None


def visible(text: str) -> str:
    r"""Return a text with what a terminal would obey written out: names in files are anybody's.

    Examples
    --------
    >>> visible("cy" + chr(27) + "[31m")
    'cy\\x1b[31m'
    """
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
