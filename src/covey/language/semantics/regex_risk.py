"""Regular expressions that no event can turn into endless work.

Java's matcher tries one possibility after another, and what it may still try is on its stack. How
much that can be is found by reading the pattern, without trying it:

- A repeated group, as in `(a|b)*`, needs a stack as deep as the text is long.
- A repetition inside a repetition, as in `(a+)+`, takes exponential time on some texts, and so does
  a choice that is repeated, as in `(a|ab){40}`.
- Repetitions one after another that can match the same characters, as in `.*a.*b.*c`, take a power
  of the length of the text, with the number of them as its exponent.
- A reference to a group makes all of that possible.

A repetition that ends where something else must begin, as in `[a-z]+@`, offers nothing to try.

Cost: linear in the length of the pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

__all__ = ["find_like_risk", "find_regex_risk"]

_MAX_REPEATS = 1_000  # of a group, for the depth of the stack
_MAX_CHOICES = 1_000_000  # besides those of repetitions without end
_MAX_OVERLAPS = 2  # repetitions without end that can match what follows; a search is one of them
_UNBOUNDED = 1 << 31

_TOKEN = re.compile(
    r"""\\(?P<reference>[1-9k])
      | (?P<assertion>[\^$]|\\b\{g\}|\\[bBAzZG])
      | \(\?(?P<flags>[a-zA-Z]*-?[a-zA-Z]*)\)                   # for what follows
      | (?P<open>\((?:\?(?:[=!>]|<[=!]|<\w+>|[a-zA-Z-]*:))?)
      | (?P<end>\))
      | (?P<branch>\|)
      | (?P<class>\[)
      | (?P<repeat>[*+?]|\{(?P<least>[0-9]+)(?P<to>,(?P<most>[0-9]*))?\})(?P<mode>[?+]?)
      | (?P<atom>\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|x..|u....|N\{[^}]*\}|0[0-7]{1,3}|c.|.)|.)""",
    re.DOTALL | re.VERBOSE,
)
_CLASS = re.compile(r"\^?(?:\\.|[^\]\[\\])+\]", re.DOTALL)  # after its first bracket
_SIMPLE = re.compile(r"(?:\\[dDwWsS]|\\[^a-zA-Z0-9]|[^\\])*", re.DOTALL)  # Python reads it as Java

_OTHER = "\N{EURO SIGN}"  # stands for all characters beyond ASCII
_ALL = frozenset(map(chr, range(128))) | {_OTHER}
Characters = frozenset[str]


class _DangerError(Exception):
    """What is dangerous about a pattern."""


@dataclass(frozen=True, slots=True)
class _Subpattern:
    """A part of a pattern: how it begins, and how many ways to match it a matcher may try.

    Args:
        first: the characters that it may begin with.
        is_optional: whether it matches the empty text.
        overlaps: its repetitions without end that can match what follows them in it.
        choices: the product of all other ways.
        ends: repetitions at its end, each with its characters and its number of ways, if bounded.
        depth: how often a group in it is repeated.
        is_group: whether it is in parentheses.
    """

    first: Characters = frozenset()
    is_optional: bool = True
    overlaps: int = 0
    choices: int = 1
    ends: tuple[tuple[Characters, int | None], ...] = ()
    depth: int = 1
    is_group: bool = False

    def concatenate(self, other: _Subpattern) -> _Subpattern:
        """Return both, one after the other."""
        met = [ways for characters, ways in self.ends if characters & other.first]
        kept = [end for end in self.ends if other.is_optional and not end[0] & other.first]
        choices = self.choices * other.choices
        for ways in met:
            choices *= ways or 1
        part = _Subpattern(
            self.first | other.first if self.is_optional else self.first,
            self.is_optional and other.is_optional,
            self.overlaps + other.overlaps + met.count(None),
            min(choices, _UNBOUNDED),
            (*kept, *other.ends),
            max(self.depth, other.depth),
        )
        part.check_limits()
        return part

    def check_limits(self) -> None:
        """Raise _DangerError where there is too much to try."""
        if self.choices > _MAX_CHOICES:
            raise _DangerError("too many choices")
        if self.overlaps > _MAX_OVERLAPS:
            raise _DangerError("repetitions that can match the same text")

    def alternate(self, other: _Subpattern) -> _Subpattern:
        """Return either of both."""
        pairs = zip_longest(self.ends, other.ends, fillvalue=(frozenset[str](), 1))
        ends = tuple(
            (a | b, None if m is None or n is None else max(m, n)) for (a, m), (b, n) in pairs
        )
        choices = min(self.choices + other.choices, _UNBOUNDED)
        return _Subpattern(
            self.first | other.first, self.is_optional or other.is_optional,
            max(self.overlaps, other.overlaps), choices, ends, max(self.depth, other.depth),
        )  # fmt: skip

    def repeat(self, min_count: int, max_count: int, is_possessive: bool) -> _Subpattern:
        """Return it so many times."""
        if not self.is_group:
            ways = None if max_count > _MAX_REPEATS else max_count - min_count + 1
            ends = () if is_possessive or ways == 1 else ((self.first, ways),)
            return _Subpattern(self.first, min_count == 0, ends=ends)
        if max_count <= 1:
            return replace(self, is_optional=self.is_optional or min_count == 0, is_group=False)
        is_endless = self.overlaps > 0 or any(ways is None for _, ways in self.ends)
        if is_endless and (max_count > _MAX_REPEATS or self.is_optional):
            raise _DangerError("a repetition inside a repetition")
        if max_count * self.depth > _MAX_REPEATS:
            raise _DangerError("a group that is repeated too often")
        whole = self
        for _ in range(max_count - 1):
            longer = whole.concatenate(self)
            if longer == whole:
                break
            whole = longer
        choices = whole.choices * (max_count - min_count + 1)
        again = replace(
            whole, is_optional=self.is_optional or min_count == 0, choices=choices,
            depth=max_count * self.depth,
        )  # fmt: skip
        again.check_limits()
        return again


def find_regex_risk(pattern: str) -> str | None:
    r"""Return what is dangerous about a pattern in Java's syntax, None if nothing is.

    >>> find_regex_risk(r"^([A-Z]{2}\d+)(-[a-z]+)?$"), find_regex_risk(r"(?i)(iphone|pixel) 1[2-5]")
    (None, None)
    >>> find_regex_risk("(a+)+$")
    'a repetition inside a repetition'
    >>> find_regex_risk(r"(.)\1"), find_regex_risk("(a|b)*")
    ('a reference to a group', 'a group that is repeated too often')
    >>> find_regex_risk("a.*b.*"), find_regex_risk("^.*a.*b"), find_regex_risk("a.*b.*c")
    (None, None, 'repetitions that can match the same text')
    """
    try:
        _check_pattern(_expand_quotes(pattern))
    except _DangerError as danger:
        return str(danger)
    return None


def find_like_risk(pattern: str) -> str | None:
    """Return what is dangerous about a pattern of LIKE, of which Spark makes a regular expression.

    >>> find_like_risk("%a%b%"), find_like_risk("%a%b%c")
    (None, 'more than 2 % before its end')
    """
    is_much = pattern.rstrip("%").count("%") > _MAX_OVERLAPS
    return f"more than {_MAX_OVERLAPS} % before its end" if is_much else None


def _expand_quotes(pattern: str) -> str:
    r"""Return a pattern with escapes in place of `\Q…\E`."""
    return re.sub(
        r"\\Q(.*?)(?:\\E|\Z)|\\.",
        lambda found: found.group() if found[1] is None else re.escape(found[1]),
        pattern,
        flags=re.DOTALL,
    )


@dataclass(slots=True)
class _OpenGroup:
    """A group that is not closed yet: the branches that are complete, and the parts of the last."""

    opener: str
    branches: list[_Subpattern]
    before: _Subpattern
    last: _Subpattern | None = None

    def add_part(self, part: _Subpattern) -> None:
        """Add a part; the last one may still be repeated."""
        self.settle_last()
        self.last = part

    def settle_last(self) -> None:
        """Add the last part to those before it."""
        if self.last is not None:
            self.before, self.last = self.before.concatenate(self.last), None

    def start_branch(self) -> None:
        """Begin another branch."""
        self.settle_last()
        self.branches.append(self.before)
        self.before = _Subpattern()

    def close(self) -> _Subpattern:
        """Return all of it as one part."""
        self.start_branch()
        whole, *others = self.branches
        for other in others:
            whole = whole.alternate(other)
        whole.check_limits()
        if self.opener.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            return replace(whole, first=_ALL, is_optional=True, ends=(), is_group=True)
        return replace(whole, is_group=True)


def _check_pattern(pattern: str) -> None:
    """Raise _DangerError if there is one."""
    groups, at = [_OpenGroup("", [], _Subpattern())], 0
    ignores_case = "(?" in pattern and any("i" in one for one in re.findall(r"\(\?(\w+)", pattern))
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        assert token is not None
        at = token.end()
        if token["reference"]:
            raise _DangerError("a reference to a group")
        opened = token["open"] or ""
        flags = token["flags"] or opened.partition("<")[0].strip("(?:=!>")
        if set(flags) - set("ims-"):
            raise _DangerError(f"the flag {(set(flags) - set('ims-')).pop()}")
        group = groups[-1]
        if token["class"]:
            end = _find_class_end(pattern, at)
            group.add_part(
                _Subpattern(_find_matching_characters(pattern[at - 1 : end], ignores_case), False)
            )
            at = end
        elif opened:
            groups.append(_OpenGroup(opened, [], _Subpattern()))
        elif token["end"]:
            if len(groups) > 1:
                groups.pop()
                groups[-1].add_part(group.close())
        elif token["branch"]:
            group.start_branch()
        elif token["assertion"]:
            group.add_part(_Subpattern(_ALL))
        elif token["repeat"]:
            least, most = _read_repeat_bounds(token)
            part = group.last or _Subpattern(_ALL, False)
            group.last = part.repeat(least, most, token["mode"] == "+")
        elif token["atom"]:
            group.add_part(
                _Subpattern(_find_matching_characters(token["atom"], ignores_case), False)
            )
    while len(groups) > 1:
        part = groups.pop().close()
        groups[-1].add_part(part)
    whole = groups[0].close()
    is_anchored = re.match(r"(\(\?[is]+\))?\^", pattern) and not re.search(r"\(\?\w*m", pattern)
    is_search = not is_anchored or len(groups[0].branches) > 1
    if whole.overlaps:
        replace(whole, overlaps=whole.overlaps + is_search).check_limits()


def _read_repeat_bounds(repeat: re.Match[str]) -> tuple[int, int]:
    """Return how often a quantifier repeats at least and at most."""
    if repeat["least"] is None:
        return {"?": (0, 1), "*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED)}[repeat["repeat"]]
    least = _read_count(repeat["least"])
    if repeat["to"] is None:
        return least, least
    return least, _read_count(repeat["most"]) if repeat["most"] else _UNBOUNDED


def _read_count(digits: str) -> int:
    """Return how often a quantifier repeats, by its digits, of which there may be many."""
    significant = digits.lstrip("0")
    return min(int(significant or "0"), _UNBOUNDED) if len(significant) <= 10 else _UNBOUNDED


def _find_class_end(pattern: str, at: int) -> int:
    """Return where a class of characters ends whose first bracket is before `at`."""
    found = _CLASS.match(pattern, at)
    if found is None or "&&" in found.group():
        raise _DangerError("a class inside a class")
    return found.end()


@lru_cache(maxsize=1 << 10)
def _find_matching_characters(atom: str, ignores_case: bool) -> Characters:
    """Return the characters that an atom or a class matches, or more."""
    inside = atom[1:-1] if len(atom) > 1 and atom[0] == "[" else atom
    if atom == "." or not _SIMPLE.fullmatch(inside):
        return _ALL
    flags = re.ASCII | re.DOTALL | (re.IGNORECASE if ignores_case else 0)
    try:
        one = re.compile(atom, flags)
    except re.error:
        return _ALL
    found = {character for character in _ALL if one.fullmatch(character)}
    if not inside.isascii():
        found.add(_OTHER)
    return frozenset(found)
