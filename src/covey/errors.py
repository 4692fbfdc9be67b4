"""Tree of the exceptions with which covey reports problems to its users.

```
CoveyError
├── SchemaError            a schema, an attribute or a column of events is missing or wrong
├── InvalidArgumentError   an argument, option or setting cannot be used; also a ValueError
├── StoreError             a stored file or version is missing or invalid, or cannot be written
├── StreamError            Kafka cannot be read, needed data was deleted, or no batch completes
├── ResultTooLargeError    a result has more pairs than a limit allows
└── PredicateError         a predicate's text is wrong; has line, column and a suggestion
    └── CompilerError      covey failed on a text that may be correct: a bug in covey
```

A message says what is wrong, where, and what to do. A mistake of a user never ends in an exception
of a library that covey uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "CompilerError",
    "CoveyError",
    "InvalidArgumentError",
    "PredicateError",
    "ResultTooLargeError",
    "SchemaError",
    "StoreError",
    "StreamError",
    "UnknownTypeError",
    "extract_worker_error",
    "prefix_errors",
]  # fmt: skip


class CoveyError(Exception):
    """Base class: `except CoveyError` catches all exceptions with which covey reports problems."""


class SchemaError(CoveyError):
    """Raised if a schema, an attribute or a column of events is missing or wrong."""


class InvalidArgumentError(CoveyError, ValueError):
    """Raised if an argument, an option or a setting has a type or a value that cannot be used."""


class StoreError(CoveyError):
    """Raised if a stored file or version is missing or invalid, or if it cannot be written.

    For example, a file is damaged, a version was vacuumed, or another writer has the store open.
    """


class StreamError(CoveyError):
    """Raised if a stream, or a question about its past decisions, cannot go on.

    For example, a topic does not exist or cannot be read, events or batch decisions that are needed
    were deleted, or no batch completes before a deadline.
    """


class ResultTooLargeError(CoveyError):
    """Raised if a result has more pairs than a limit allows."""


class PredicateError(CoveyError):
    """Raised if a predicate's text is wrong.

    Attributes:
        problem: what is wrong.
        text: the predicate.
        offset: the character of `text`, from 0, at which the error lies.
        line: the line of `text`, from 1.
        column: the character of that line, from 1.
        hint: what to do, such as what to write instead; may be empty.
        row: the row number, from 0, of a predicate that was parsed together with others; None if
            it is not known.

    `str(error)` contains the position, the problem and the hint, and below these the line of the
    text with a caret under the wrong character.

    >>> print(PredicateError("no column 'prise'", "prise > 5", 0, "did you mean price?"))
    line 1, column 1: no column 'prise'; did you mean price?
      prise > 5
      ^
    """

    def __init__(
        self, problem: str, text: str, offset: int = 0, hint: str = "", row: int | None = None
    ) -> None:
        offset = max(0, min(offset, len(text)))
        before = text[:offset]
        self.problem, self.text, self.hint, self.row = problem, text, hint, row
        self.offset = offset
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(self._format_message())

    @classmethod
    def from_position(cls, problem: str, text: str, line: int, column: int) -> PredicateError:
        """Return the error for a line and a column of a text, both counted from 1."""
        lines_before = text.split("\n")[: line - 1]
        return cls(problem, text, sum(len(row) + 1 for row in lines_before) + column - 1)

    def with_row(self, row: int) -> PredicateError:
        """Return a copy of this error with a row number, counted from 0, of the predicate."""
        error = type(self)(self.problem, self.text, self.offset, self.hint, row)
        error.__cause__ = self.__cause__
        return error

    def __reduce__(self) -> tuple[type[PredicateError], tuple[str, str, int, str, int | None]]:
        return type(self), (self.problem, self.text, self.offset, self.hint, self.row)

    def _format_message(self) -> str:
        """Return the position, the problem and the hint, then the wrong line with a caret."""
        head = f"line {self.line}, column {self.column}: {self.problem}"
        if self.row is not None:
            head = f"predicate {self.row} (from 0): {head}"
        if self.hint:
            head += f"; {self.hint}"
        excerpt, caret_column = self._excerpt_line()
        return f"{head}\n  {excerpt}\n  {' ' * caret_column}^"

    def _excerpt_line(self, width: int = 90) -> tuple[str, int]:
        """Return up to `width` characters of the wrong line, and the offset of the error in them.

        The offset, from 0, is the column of the caret.
        """
        line = self.text.split("\n")[self.line - 1] if self.text else ""
        start = max(0, min(self.column - 1 - width // 2, len(line) - width))
        return line[start : start + width], self.column - 1 - start


class UnknownTypeError(PredicateError):
    """Raised for an expression whose type only Spark knows, if Spark cannot be queried."""


class CompilerError(PredicateError):
    """Raised if covey itself fails on a predicate whose text may be correct.

    Other predicates are not affected. The error is a `PredicateError`, because the text is rejected
    like a wrong one. Every occurrence is a bug in covey: tests count it as a failure.

    >>> print(CompilerError.from_failure(KeyError("x"), "price > 5").problem)
    covey failed on this predicate: KeyError('x')
    """

    @classmethod
    def from_failure(cls, failure: Exception, text: str) -> CompilerError:
        """Return the error for a predicate on which covey raised an unexpected exception."""
        error = cls(
            f"covey failed on this predicate: {failure!r:.200}", text, 0,
            "this is a fault of covey: please report it",
        )  # fmt: skip
        error.__cause__ = failure
        return error


@contextmanager
def prefix_errors(prefix: str) -> Iterator[None]:
    """Put `prefix` and a colon before the messages of InvalidArgumentError and StreamError.

    >>> with prefix_errors("alerts.toml"):
    ...     raise InvalidArgumentError("[kafka] lacks servers")
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: alerts.toml: [kafka] lacks servers
    """
    try:
        yield
    except (InvalidArgumentError, StreamError) as error:
        raise type(error)(f"{prefix}: {error}") from None


def extract_worker_error(traceback_text: str) -> CoveyError | None:
    """Return the error that covey raised in another process, parsed from the text of a traceback.

    Returns:
        The last error of covey in the text; None if the text contains none.

    >>> extract_worker_error("Traceback …\\ncovey.errors.StoreError: version 3 is missing\\n")
    StoreError('version 3 is missing')
    """
    matches = list(_ERROR_IN_TRACEBACK.finditer(traceback_text))
    if not matches:
        return None
    name, message, excerpt, indent = matches[-1].group("name", "message", "excerpt", "indent")
    predicate_errors = {cls.__name__: cls for cls in (PredicateError, CompilerError)}
    if name in predicate_errors and excerpt is not None:
        position = _POSITION.match(message)
        row = int(position["row"]) if position and position["row"] else None
        problem = message[position.end() :] if position else message
        return predicate_errors[name](problem, excerpt, len(indent), "", row)
    classes = {cls.__name__: cls for cls in CoveyError.__subclasses__()}
    return classes.get(name, CoveyError)(message)


_POSITION = re.compile(r"(?:predicate (?P<row>\d+) \(from 0\): )?line \d+, column \d+: ")
_ERROR_IN_TRACEBACK = re.compile(
    r"^covey\.errors\.(?P<name>\w+): (?P<message>.+)$"
    r"(?:\n  (?P<excerpt>.*)\n  (?P<indent> *)\^$)?",
    re.MULTILINE,
)
