"""Everything covey raises on purpose.

```
CoveyError
├── SchemaError            a schema, an attribute or a column of events does not fit
├── InvalidArgumentError   an argument that a function cannot use; a ValueError too
├── StoreError             a stored file is damaged, missing or foreign, or a store is not writable
├── StreamError            a topic is missing, cannot be read, or no longer has what is needed
├── ResultTooLargeError    an answer exceeds the bound that was given with the question
└── PredicateError         a predicate's text is wrong: says line, column and what to write instead
    └── CompilerError      covey failed on a text that may be right: a fault of covey
```

A message says what was wrong, where, and how to go on. Nothing of a library below covey reaches
a user who made a mistake.
"""

from __future__ import annotations

import re

__all__ = [
    "CompilerError",
    "CoveyError",
    "InvalidArgumentError",
    "PredicateError",
    "ResultTooLargeError",
    "SchemaError",
    "StoreError",
    "StreamError",
    "extract_worker_error",
]  # fmt: skip


class CoveyError(Exception):
    """The root of the tree: `except CoveyError` catches all that covey raises on purpose."""


class SchemaError(CoveyError):
    """A schema, an attribute or a column of events does not fit."""


class InvalidArgumentError(CoveyError, ValueError):
    """An argument that a function cannot use."""


class StoreError(CoveyError):
    """A stored file is damaged, missing or foreign, or a store cannot be written to."""


class StreamError(CoveyError):
    """A topic is missing, cannot be read, or no longer has what is needed."""


class ResultTooLargeError(CoveyError):
    """An answer exceeds the bound that was given with the question."""


class PredicateError(CoveyError):
    """A predicate's text is wrong.

    `problem` says what, `line` and `column` (both from 1) say where, `hint` what to write instead;
    `text` is the predicate, `row` its number if it is one of several. `str(error)` shows all of it
    with a mark under the place.

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
        """The error at a line and column, both from 1."""
        before = text.split("\n")[: line - 1]
        return cls(problem, text, sum(len(one) + 1 for one in before) + column - 1)

    def with_row(self, row: int) -> PredicateError:
        """Return the error of a predicate that is one of several, with its row from 0."""
        error = type(self)(self.problem, self.text, self.offset, self.hint, row)
        error.__cause__ = self.__cause__
        return error

    def __reduce__(self) -> tuple[type[PredicateError], tuple[str, str, int, str, int | None]]:
        return type(self), (self.problem, self.text, self.offset, self.hint, self.row)

    def _format_message(self) -> str:
        head = f"line {self.line}, column {self.column}: {self.problem}"
        if self.row is not None:
            head = f"predicate {self.row} (from 0): {head}"
        if self.hint:
            head += f"; {self.hint}"
        shown, mark = self._excerpt_line()
        return f"{head}\n  {shown}\n  {' ' * mark}^"

    def _excerpt_line(self, width: int = 90) -> tuple[str, int]:
        """The part of the line around the place, and where the mark stands in it."""
        line = self.text.split("\n")[self.line - 1] if self.text else ""
        start = max(0, min(self.column - 1 - width // 2, len(line) - width))
        return line[start : start + width], self.column - 1 - start


class CompilerError(PredicateError):
    """Covey failed on a predicate whose text may be right; others are not touched by it.

    It is a `PredicateError`, since the text is refused like a wrong one. Where it occurs, covey has
    a fault: tests count it as a failure.

    >>> print(CompilerError.from_failure(KeyError("x"), "price > 5").problem)
    covey failed on this predicate: KeyError('x')
    """

    @classmethod
    def from_failure(cls, failure: Exception, text: str) -> CompilerError:
        """Return the error of a text on which covey raised something unexpected."""
        error = cls(
            f"covey failed on this predicate: {failure!r:.200}", text, 0,
            "this is a fault of covey: please report it",
        )  # fmt: skip
        error.__cause__ = failure
        return error


def extract_worker_error(traceback_text: str) -> CoveyError | None:
    """Return what covey raised in another process, from the text of a traceback; None if nothing.

    >>> extract_worker_error("Traceback …\\ncovey.errors.StoreError: version 3 is gone\\n")
    StoreError('version 3 is gone')
    """
    raised = list(_ERROR_IN_TRACEBACK.finditer(traceback_text))
    if not raised:
        return None
    name, said, shown, before = raised[-1].group("name", "said", "shown", "before")
    with_text = {one.__name__: one for one in (PredicateError, CompilerError)}
    if name in with_text and shown is not None:
        problem = re.sub(r"^line \d+, column \d+: ", "", said)
        return with_text[name](problem, shown, len(before))
    classes = {one.__name__: one for one in CoveyError.__subclasses__()}
    return classes.get(name, CoveyError)(said)


_ERROR_IN_TRACEBACK = re.compile(
    r"^covey\.errors\.(?P<name>\w+): (?P<said>.+)$(?:\n  (?P<shown>.*)\n  (?P<before> *)\^$)?",
    re.MULTILINE,
)
