"""The entry point: runs a command, turns every failure into one message and an exit code (see ``preflearn --help``)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; by default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _collect_seldom()
    _open_streams()
    traceback = os.environ.get("PREFLEARN_TRACEBACK", "") not in ("", "0")
    if "--traceback" in tokens:
        tokens.remove("--traceback")
        traceback = True
    try:
        with _orderly_end():
            code = _run(tokens)
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would flush once more at exit: give it nowhere to fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):  # how rich ends when nobody reads the help
            raise
    except KeyboardInterrupt:
        _say("preflearn: interrupted.")
        return 130
    except _End as end:
        _say("preflearn: terminated.")
        return 128 + end.number
    except Exception as error:
        return _report(error, tokens, traceback)
    else:
        return code
    return 0


def _collect_seldom() -> None:
    """Look for garbage less often, and not once more at the end: that is 0.4 s of a process that lives for seconds."""
    import atexit
    import gc

    gc.set_threshold(100_000, 20, 100)
    atexit.register(gc.freeze)


class _End(BaseException):
    """A signal that asks the process to end; not an Exception, so that nothing but clean-up catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def _orderly_end() -> Iterator[None]:
    """Let the signals that end a process unwind it as an interrupt does, so that files half written are removed."""
    import signal

    def end(number: int, frame: object) -> None:
        raise _End(number)

    before = {}
    for name in ("SIGTERM", "SIGHUP"):  # not every system has both
        number = getattr(signal, name, None)
        # Outside the main thread nothing can be set; what is ignored (nohup) stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(ValueError):
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(tokens: list[str]) -> int:
    """Run a command and return its exit code."""
    import warnings

    from preflearn._disk import reading_once
    from preflearn.cli.app import app, options_of
    from preflearn.cli.console import warning_printer
    from preflearn.cli.dialect import dialect_of
    from preflearn.cli.options import STANDARD_INPUT
    from preflearn.exceptions import PreflearnWarning

    with warnings.catch_warnings(), reading_once():
        # What concerns the data is shown, once; what other libraries tell their developers is not.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PreflearnWarning)
        warnings.showwarning = warning_printer(dialect_of(lambda: options_of(_command(tokens))))
        read = [STANDARD_INPUT if token == "-" else token for token in tokens]
        found = app(read, print_error=False, exit_on_error=False, result_action="return_value")
    return found if isinstance(found, int) else 0


def _command(tokens: Sequence[str]) -> str | None:
    """Return the command that was asked for."""
    return next((token for token in tokens if not token.startswith("-")), None)


def _report(error: Exception, tokens: Sequence[str], traceback: bool) -> int:
    """Print one message about a failure and return the exit code."""
    from preflearn.cli.app import COMMANDS, options_of
    from preflearn.cli.dialect import dialect_of
    from preflearn.cli.failures import explain

    dialect = dialect_of(lambda: options_of(_command(tokens)))
    code, message = explain(error, dialect, lambda: {command: options_of(command) for command in COMMANDS})
    if traceback:
        import traceback as module

        module.print_exception(error)
    elif code == 1:
        message += " Run the same with --traceback to see where."
    _say(f"preflearn: {message}")
    return code


def _open_streams() -> None:
    """Open what the shell has closed (``>&-``), so that nobody has to ask whether it is there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end


def _say(message: str) -> None:
    """Print a line on standard error, if that can be written to."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)
