r"""Static detection of regular expressions that can take very long or overflow the stack.

Java's matcher tries the ways to match one after another, and stores untried ways on its stack. From
the tree of a pattern, upper bounds of the time and of the stack for any text are computed:

- A repeated group, as in `(a|b)*`, needs a stack that is as deep as the text is long. Spark does
  not recover from a stack overflow, so a pattern may use 1,000 of the 7,000 frames that Java has. A
  possessive group, as in `(a|b)*+`, needs no stack.
- A choice that the next character does not decide multiplies the steps of the parts after it: `a?a`
  has 2 ways to match, `.*x` has one way for each character of the text, and `(a|ab){40}` has 2 to
  the power of 40. A search starts at each character of the text, which multiplies the steps again.
- A choice that the next character decides, as in `[a-z]+@`, multiplies nothing. A choice after
  which nothing can fail, such as the last one in `a.*b.*`, does not multiply anything either.

On a text of 100 characters, a pattern may take at most 400,000 steps. If the steps grow with the
cube of the length of the text, or faster, they exceed this number.

Cost: linear in the length of the pattern, and bounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, assert_never

from covey.language.semantics.regex_characters import ALL_CHARACTERS, ANYTHING
from covey.language.semantics.regex_syntax import (
    UNBOUNDED,
    Alternation,
    Assertion,
    Character,
    Concatenation,
    Group,
    Lookaround,
    Node,
    RegexSyntaxError,
    Repetition,
    Text,
    Traits,
    make_concatenation,
    make_repetition,
    make_text,
    parse_regex,
)

__all__ = ["find_like_risk", "find_regex_risk"]

_TEXT_LENGTH = 100
_MAX_STEPS = 40 * _TEXT_LENGTH**2
"""The largest number of steps that a pattern may need on a text of `_TEXT_LENGTH` characters.

If the steps grow with the cube of the length of the text, or faster, they exceed this number.
"""
_MORE_THAN_SQUARE = 300
"""If a text becomes ten times longer and the steps grow by more than this factor, they are reported
as growing faster than the square of the length."""
_MAX_DEPTH = 1_000  # frames of 130 bytes; Spark has already used a part of the stack of 1 MiB
_MAX_WILDCARDS = 2  # % before the end of a LIKE pattern

_MAX_COMPARED = 200  # distinct first sets of branches; beyond that all branches count as equal

_TOO_OFTEN = "may overflow Java's stack: a part is repeated too often"
_NESTED = "may overflow Java's stack: a repetition is inside a repetition"
_TOO_LONG = "may overflow Java's stack: there are too many parts in a row"
_SAME_TEXT = "may take very long: several repetitions can match the same text"
_TOO_MANY_CHOICES = "may take very long: there are too many choices"


class _Follow(NamedTuple):
    """What follows a part of a pattern. If nothing that follows can fail, None is used instead.

    Args:
        first: the set of characters with which the following parts can start.
        entry_steps: the number of steps after which the matcher knows that the following parts do
            not match at a position.
    """

    first: int
    entry_steps: int

    @staticmethod
    def before(part: Traits, follow: _Follow | None) -> _Follow | None:
        """Return what follows a position just before `part`, if `follow` follows `part`."""
        if follow is None:
            return None if part.cannot_fail else _Follow(part.first, part.entry_steps)
        if not part.can_be_empty:
            return _Follow(part.first, part.entry_steps)
        return _Follow(part.first | follow.first, part.entry_steps + follow.entry_steps)


class _Cost(NamedTuple):
    """Cost of a part of a pattern at one position of a text.

    Args:
        ways: the number of times that the parts after it are tried beyond their first character.
        steps: the number of steps inside the part.
    """

    ways: float
    steps: float


_ANYTHING = _Follow(ANYTHING, 1)
_STEP = _Cost(1, 1)


@lru_cache(maxsize=1 << 12)
def find_regex_risk(pattern: str) -> str | None:
    r"""Return the risk of a pattern in Java's syntax, as the end of a message, or None.

    A pattern that is not valid, or that cannot be checked, counts as a risk.

    >>> find_regex_risk(r"^([A-Z]{2}\d+)(-[a-z]+)?$"), find_regex_risk(r"(?i)(iphone|pixel) 1[2-5]")
    (None, None)
    >>> find_regex_risk("(a+)+$")
    "may overflow Java's stack: a repetition is inside a repetition"
    >>> find_regex_risk(r"(.)\1"), find_regex_risk("(a)(b")
    ('cannot be checked: it has a reference to a group', 'is not valid: a group has no closing )')
    >>> find_regex_risk("(a|b)*+"), find_regex_risk("(a|b)*")
    (None, "may overflow Java's stack: a part is repeated too often")
    >>> find_regex_risk("a.*b.*"), find_regex_risk("^.*a.*b"), find_regex_risk("a.*b.*c")
    (None, None, 'may take very long: several repetitions can match the same text')
    """
    try:
        root = parse_regex(pattern)
    except RegexSyntaxError as error:
        return str(error)
    return _find_tree_risk(root, None, is_search=not _is_anchored(root))


def find_like_risk(pattern: str) -> str | None:
    """Return the risk of a LIKE pattern, as the end of a message, or None.

    Spark converts the pattern to a regular expression. Escapes are not interpreted, because an
    escaped wildcard, which matches only itself, does not cost more than a wildcard.

    >>> find_like_risk("%a%b%"), find_like_risk("%a%b%c")
    (None, 'may take very long: more than 2 wildcards % before its end')
    """
    if pattern.rstrip("%").count("%") > _MAX_WILDCARDS:
        return f"may take very long: more than {_MAX_WILDCARDS} wildcards % before its end"
    any_character = Character(Traits(ALL_CHARACTERS))
    parts: list[Node] = []
    for n, text in enumerate(pattern.split("%")):
        if n:
            parts.append(make_repetition(any_character, 0, UNBOUNDED, ""))
        for m, literal in enumerate(text.split("_")):
            parts += [any_character] if m else []
            parts += [make_text(literal)] if literal else []
    follow = None if pattern.endswith("%") else _ANYTHING
    return _find_tree_risk(make_concatenation(parts), follow, is_search=False)


def _find_tree_risk(root: Node, follow: _Follow | None, *, is_search: bool) -> str | None:
    """Return the risk of the pattern of a tree, or None.

    `follow` is what follows the pattern, and `is_search` says whether a match can start at any
    position of the text.
    """
    for repetition in _list_repetitions(root):
        if repetition.traits.depth > _MAX_DEPTH:
            is_nested = any(map(_is_variable, _list_repetitions(repetition.body)))
            is_nested &= _is_variable(repetition)
            return _NESTED if is_nested else _TOO_OFTEN
    if root.traits.depth > _MAX_DEPTH:
        return _TOO_LONG
    steps = _count_steps(root, follow, is_search, _TEXT_LENGTH)
    if steps <= _MAX_STEPS:
        return None
    grows = steps > _MORE_THAN_SQUARE * _count_steps(root, follow, is_search, _TEXT_LENGTH // 10)
    return _SAME_TEXT if grows else _TOO_MANY_CHOICES


def _count_steps(root: Node, follow: _Follow | None, is_search: bool, length: int) -> float:
    """Return an upper bound of the matcher's steps on a text of `length` characters."""
    cost = _Counter(length).count(root, follow)
    return (cost.steps + cost.ways) * (length if is_search else 1)


def _is_anchored(node: Node) -> bool:
    """Return whether a pattern can match only at the beginning of a text."""
    match node:
        case Assertion():
            return node.is_begin
        case Concatenation():
            return bool(node.parts) and _is_anchored(node.parts[0])
        case Group():
            return _is_anchored(node.body)
        case Alternation():
            return all(map(_is_anchored, node.branches))
        case _:
            return False


def _children(node: Node) -> Sequence[Node]:
    """Return the direct parts of a node; for a node without parts, an empty sequence."""
    match node:
        case Concatenation():
            return node.parts
        case Alternation():
            return node.branches
        case Group() | Lookaround() | Repetition():
            return (node.body,)
        case _:
            return ()


def _list_repetitions(root: Node) -> list[Repetition]:
    """Return all repetitions of a pattern."""
    repetitions, stack = [], [root]
    while stack:
        node = stack.pop()
        stack += _children(node)
        if isinstance(node, Repetition):
            repetitions.append(node)
    return repetitions


def _is_variable(repetition: Repetition) -> bool:
    """Return whether a repetition has no upper bound and is not possessive."""
    return repetition.max_count >= UNBOUNDED and not repetition.is_possessive


class _Counter:
    """Counter of the ways and steps of a pattern on texts of one length."""

    def __init__(self, length: int) -> None:
        self._length = length

    def count(self, node: Node, follow: _Follow | None) -> _Cost:
        """Return the cost of a part; `follow` is what follows it."""
        match node:
            case Character() | Assertion():
                return _STEP
            case Text():
                return _Cost(1, 1 + len(node.text) // 8)
            case Lookaround():
                return self._count_lookaround(node)
            case Group():
                cost = self.count(node.body, None if node.is_atomic else follow)
                return _Cost(1 if node.is_atomic else cost.ways, cost.steps + 1)
            case Concatenation():
                return self._count_concatenation(node, follow)
            case Alternation():
                return self._count_alternation(node, follow)
            case Repetition():
                if isinstance(node.body, Character):
                    return self._count_repeated_character(node, follow)
                return self._count_repeated_group(node, follow)
            case _:
                assert_never(node)

    def _count_lookaround(self, node: Lookaround) -> _Cost:
        """Return the cost of a lookaround; a lookbehind is tried at several positions."""
        if not node.is_behind:
            return _Cost(1, 1 + self.count(node.body, None).steps)
        positions = 1 + min(node.body.traits.max_length, self._length)
        return _Cost(1, 1 + positions * self.count(node.body, _ANYTHING).steps)

    def _count_concatenation(self, node: Concatenation, follow: _Follow | None) -> _Cost:
        """Return the cost of parts in sequence."""
        follows = [follow]
        for part in reversed(node.parts):
            follows.append(_Follow.before(part.traits, follows[-1]))
        ways, steps = 1.0, 0.0
        for part, before, after in zip(node.parts, follows[:0:-1], follows[-2::-1], strict=True):
            cost = self.count(part, after)
            # If nothing from this part on can fail, only the first way to it is tried.
            steps += cost.steps * (1 if before is None else ways)
            ways *= cost.ways
        return _Cost(ways, steps)

    def _count_alternation(self, node: Alternation, follow: _Follow | None) -> _Cost:
        """Return the cost of branches.

        Only the ways of branches that can start with the same character are added up.
        """
        costs = [self.count(branch, follow) for branch in node.branches]
        steps = sum(cost.steps for cost in costs) + len(costs)
        if follow is None:
            return _Cost(1, steps)
        ways_by_first: dict[int, float] = defaultdict(float)
        words_by_first: dict[int, list[str]] = defaultdict(list)
        for branch, cost in zip(node.branches, costs, strict=True):
            first = branch.traits.first
            if isinstance(branch, Text) and branch.text.isascii():
                words_by_first[first].append(branch.text)
            else:
                first |= follow.first if branch.traits.can_be_empty else 0
                ways_by_first[first] += cost.ways
        for first, words in words_by_first.items():
            ways_by_first[first] += _count_prefixes(words)
        return _Cost(_find_most_ways(ways_by_first), steps)

    def _count_repeated_character(self, node: Repetition, follow: _Follow | None) -> _Cost:
        """Return the cost of a repeated character before `follow`."""
        max_count = min(node.max_count, self._length)
        if follow is None or node.is_possessive:
            return _Cost(1, max_count + 1)
        # exits: the number of counts at which the repetition can end.
        exits = min(node.max_count - node.min_count + 1, self._length)
        is_decided = not node.traits.first & follow.first
        return _Cost(1 if is_decided else exits, max_count + exits * follow.entry_steps)

    def _count_repeated_group(self, node: Repetition, follow: _Follow | None) -> _Cost:
        """Return the cost of a repeated group before `follow`."""
        body, max_count = node.body.traits, min(node.max_count, self._length)
        if node.is_possessive:
            return _Cost(1, (max_count + 1) * (self.count(node.body, None).steps + 1))
        first_of_turn = ANYTHING if body.can_be_empty else body.first
        inner = follow
        if node.max_count > 1 and (follow is not None or node.min_count > 1):
            entry_steps = body.entry_steps + (follow.entry_steps if follow else 0)
            inner = _Follow(first_of_turn | (follow.first if follow else 0), entry_steps)
        cost = self.count(node.body, inner)
        if inner is None:
            return _Cost(1, max_count * (cost.steps + 1) + 1)
        # exits: the number of ways in which the repetition can end.
        ways, steps, exits = 1.0, 0.0, 0.0
        for turn in range(node.max_count + 1):
            exits += ways if turn >= node.min_count else 0
            steps += ways * (cost.steps + inner.entry_steps)
            if turn == node.max_count or ways > _MAX_STEPS:
                break
            ways *= cost.ways
        if follow is None:
            return _Cost(1, steps)
        return _Cost(exits if first_of_turn & follow.first else ways, steps)


def _find_most_ways(ways_by_first: Mapping[int, float]) -> float:
    """Return the largest number of ways that can start with the same character.

    `ways_by_first` contains numbers of ways by the set of characters with which these can start.
    """
    if len(ways_by_first) > _MAX_COMPARED:
        return sum(ways_by_first.values())
    return max(
        sum(ways for first, ways in ways_by_first.items() if first >> bit & 1)
        for bit in range(ANYTHING.bit_length())
    )


def _count_prefixes(words: Sequence[str]) -> int:
    """Return the largest number of words, counting repetitions, that are prefixes of one text.

    >>> _count_prefixes(["pixel", "pixel pro", "phone", "pixel 7", "pixel"])
    3
    """
    max_count, chain = 0, list[str]()
    for word in sorted(words):
        while chain and not word.startswith(chain[-1]):
            chain.pop()
        chain.append(word)
        max_count = max(max_count, len(chain))
    return max_count
