"""Messages of the library in the words of the command line: options instead of arguments, one line each."""

from __future__ import annotations

import re

__all__ = ["explain", "one_line", "without_owner"]

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
    (r', or (read|build) with self_comparisons="drop"', ""),
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
]
_OWNER = re.compile(r"^(RLS|RankRLS|RankRLSCV|KPCR|KPCRank|KPCRankCV|Nystroem|Comparisons|Ratings|read_\w+): ")


def one_line(message: str) -> str:
    """Return a message as one line that names options of the command line."""
    text = " ".join(str(message).split())
    for pattern, words in _OPTIONS:
        text = re.sub(pattern, words, text)
    return text


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
        where = f"{error.filename}: " if error.filename else ""
        return 2, f"{where}{error.strerror or error}. Check the path, the permissions and the free space."
    return 1, f"unexpected error, which is a bug of preflearn ({type(error).__name__}: {one_line(str(error))})."


def _usage(error: Exception) -> str:
    text = one_line(str(error))
    unused = re.match(r"Unused Tokens: \[(.*)\]\.", text)
    if unused:
        text = f"too many arguments: {unused[1]}. Put names with blanks in quotes."
    missing = re.match(r'Command "(\w+)" parameter (\S+) requires an argument\.(.*)', text)
    if missing:
        text = f"{missing[2]} is missing.{missing[3]}"
    chain = getattr(error, "command_chain", None)
    command = " ".join(["preflearn", *chain]) if chain else "preflearn"
    if text[1:2].islower():  # not DATA
        text = text[0].lower() + text[1:]
    return f'{text} See "{command} --help".'
