"""Regular expressions that no event can turn into endless work.

Java's matcher tries alternatives one after another and keeps them on its stack. A repetition
inside a repetition, as in `(a+)+`, takes exponential time on some texts; a repeated group with
alternatives, as in `(a|b)*`, needs a stack as deep as the text is long; a reference to a group
makes both possible. Such patterns are found by reading the pattern, without trying it.

Cost: linear in the length of the pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["problem_of"]

_MAX_REPEATS = 1000
_UNBOUNDED = 1 << 31
_FEW = 3  # repetitions of something unbounded: as slow as writing it so many times

_TOKEN = re.compile(
    r"""\\Q(?:.*?\\E|.*)                                        # quoted
      | \\(?P<reference>[1-9k])
      | \\.
      | \(\?(?P<flags>[a-zA-Z]*-?[a-zA-Z]*)\)                   # flags for what follows
      | (?P<open>\((?:\?(?:[=!>]|<[=!]|<\w+>|[a-zA-Z-]*:))?)
      | (?P<end>\))
      | (?P<branch>\|)
      | (?P<class>\[)
      | (?P<repeat>[*+?]|\{(?P<least>\d+)(?P<to>,(?P<most>\d*))?\})[?+]?
      | .""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(slots=True)
class _Group:
    """The largest repetition inside a group, or 0, and whether it has alternatives."""

    repeats: int = 0
    branches: bool = False


def problem_of(pattern: str) -> str | None:
    r"""Return what is dangerous about a pattern in Java's syntax, None if nothing is.

    >>> problem_of(r"^([A-Z]{2}\d+)(-[a-z]+)?$"), problem_of(r"(?i)(iphone|pixel) 1[2-5]")
    (None, None)
    >>> problem_of("(a+)+$")
    'a repetition inside a repetition'
    >>> problem_of(r"(.)\1"), problem_of("(a|b)*")
    ('a reference to a group', 'alternatives that are repeated')
    """
    groups, closed, at = [_Group()], None, 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        assert token is not None
        just_closed, closed, at = closed, None, token.end()
        if token["reference"]:
            return "a reference to a group"
        if "x" in (token["flags"] or (token["open"] or "").partition("<")[0]):
            return "the flag x"
        if token["class"]:
            at = _end_of_class(pattern, at)
        elif token["open"]:
            groups.append(_Group())
        elif token["end"] and len(groups) > 1:
            closed = groups.pop()
            groups[-1].repeats = max(groups[-1].repeats, closed.repeats)
            groups[-1].branches |= closed.branches
        elif token["branch"]:
            groups[-1].branches = True
        elif token["repeat"]:
            most = _most(token)
            if just_closed is not None and (problem := _repeated(just_closed, most)):
                return problem
            groups[-1].repeats = max(groups[-1].repeats, most)
    return None


def _most(repeat: re.Match[str]) -> int:
    """Return how often a quantifier repeats at most."""
    if repeat["least"] is None:
        return 1 if repeat["repeat"] == "?" else _UNBOUNDED
    if repeat["to"] is None:
        return min(int(repeat["least"]), _UNBOUNDED)
    return min(int(repeat["most"] or _UNBOUNDED), _UNBOUNDED)


def _repeated(group: _Group, most: int) -> str | None:
    """Return what is dangerous about repeating a group up to so many times."""
    if most <= 1:
        return None
    if group.branches and most > _MAX_REPEATS:
        return "alternatives that are repeated"
    if group.repeats and most * group.repeats > _MAX_REPEATS:
        is_slow_only = most <= _FEW and group.repeats == _UNBOUNDED
        return None if is_slow_only else "a repetition inside a repetition"
    return None


def _end_of_class(pattern: str, at: int) -> int:
    """Return where a class of characters ends whose first bracket is before `at`."""
    depth, first = 1, at + (pattern[at : at + 1] == "^")
    while depth and at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]" and at > first:
            depth -= 1
        at += 1
    return at
