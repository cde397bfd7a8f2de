"""What the command line says about failures, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflearn.cli.dialect import COMMAND_LINE
from preflearn.table_format import visible

if TYPE_CHECKING:
    from cyclopts import CycloptsError

    from preflearn.messages import Dialect

Options = Mapping[str, frozenset[str]]  # by command

_DASHES = "\N{EN DASH}\N{EM DASH}"
_KINDS = {"int": "a whole number", "float": "a number"}


def one_line(text: str) -> str:
    """Return text as one line, safe to print."""
    return visible(" ".join(text.split()))


def explain(
    error: Exception, dialect: Dialect = COMMAND_LINE, options: Callable[[], Options] = dict
) -> tuple[int, str]:
    """Return the exit code and the message for a failure; ``options`` returns those of each command."""
    from cyclopts import CycloptsError

    from preflearn.exceptions import DataError
    from preflearn.messages import Message, Place, Setting

    if isinstance(error, CycloptsError):
        return 2, _usage(error, options)
    if isinstance(error, DataError):
        return 2, one_line(dialect.render(error.message))
    if type(error).__name__ == "InvalidParameterError":
        return 2, one_line(str(error))
    if isinstance(error, MemoryError):
        detail = f" ({one_line(str(error))})" if str(error) else ""
        message = Message(
            f"there is not enough memory{detail}",
            ("use fewer rows", "use " + Setting("kernel", "linear"), "use " + Setting("nystroem", 1000)),
            code="no-memory",
        )
        return 2, dialect.render(message)
    if isinstance(error, UnicodeEncodeError):
        return 2, (
            f"the output cannot show {error.object[error.start : error.end]!r} in {error.encoding}. "
            "Set PYTHONIOENCODING=utf-8, or write to a file with --out."
        )
    if isinstance(error, OSError):
        where = Place(str(error.filename or "standard output"))  # writers of files name them
        cure = "Check the path, the permissions and the free space"
        return 2, dialect.render(Message(str(error.strerror or error), (cure,), code="os-error", where=where))
    return 1, f"unexpected error, which is a bug of preflearn ({type(error).__name__}: {one_line(str(error))})."


def _usage(error: CycloptsError, options: Callable[[], Options]) -> str:
    """Return what is wrong with a command line, with where to read on."""
    chain = error.command_chain or ()
    text = one_line(_reworded(error, chain, options) or str(error))
    command = " ".join(["preflearn", *chain])
    if text[1:2].islower():  # not DATA
        text = text[0].lower() + text[1:]
    return f'{text} See "{command} --help".'


def _reworded(error: Any, chain: Sequence[str], options: Callable[[], Options]) -> str | None:
    """Return a mistake that the parser found in our words, with a cure; None where its own words will do."""
    import cyclopts

    unused = error.unused_tokens or [""]
    if isinstance(error, cyclopts.UnusedCliTokensError):
        return _too_many(unused)
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        return f"{error.keyword or error.argument.name} is missing."
    if isinstance(error, cyclopts.RepeatArgumentError):
        return f"{error.token.keyword} is given twice. Give it once, and put commas between several values."
    if isinstance(error, cyclopts.ValidationError) and error.argument is not None:
        token = error.argument.tokens[0]
        return f"{token.keyword} is {token.value}; it must be {error.exception_message}."
    if isinstance(error, cyclopts.UnknownOptionError):
        return _unknown_option((error.token.keyword or error.token.value).partition("=")[0], chain, options())
    if isinstance(error, cyclopts.UnknownCommandError):
        if unused[0].startswith("-"):
            return (
                f'"{unused[0]}" comes before the command. Options come after it, as in preflearn rank DATA {unused[0]}.'
            )
        if Path(unused[0]).is_file():
            return f"{unused[0]} is a file, and the command is missing, as in preflearn rank {unused[0]}."
    if isinstance(error, cyclopts.CoercionError) and error.msg is None and error.token is not None:
        wanted = _KINDS.get(getattr(error.target_type, "__name__", ""))
        return wanted and f'{error.token.keyword} is "{error.token.value}"; it must be {wanted}.'
    return None


def _too_many(unused: Sequence[str]) -> str:
    if unused[0][:1] in _DASHES:
        return f"an option starts with two hyphens, not with a dash: --{unused[0].lstrip(_DASHES)}."
    if Path(unused[0]).is_file():
        return (
            f"too many arguments: {unused[0]} is a further file, and one is read. Join files first, with one header: "
            f"(cat FIRST; tail -n +2 {unused[0]}) > ALL.csv."
        )
    rest = ", ".join(f"'{token}'" for token in unused)
    return f"too many arguments: {rest}. Leave out the rest, or put names with spaces in quotes."


def _unknown_option(option: str, chain: Sequence[str], known: Options) -> str | None:
    """Return what to say about an option that this command does not have but that exists, or None."""
    here = known.get(chain[-1], frozenset()) if chain else frozenset()
    meant = f"-{option}"
    if not option.startswith("--") and meant in here:
        return f"unknown option: {option}. Write it with two hyphens: {meant}."
    if option.lower() in here:
        return f"unknown option: {option}. Write it in small letters: {option.lower()}."
    others = [command for command, names in known.items() if option in names]
    return f"unknown option: {option}. It belongs to {', '.join(others)}. Leave it out." if others else None
