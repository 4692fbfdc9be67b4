r"""Parser from regular expressions, as Java reads them, to trees.

A tree overestimates what a pattern matches: it contains the characters with which a part can begin
under any flags and any collation, so letters match in both cases and a dot matches every character.
Patterns are refused if their meaning in Java is not certain. Examples are classes inside classes,
references to groups, flags other than i, m and s, `\R`, `\X`, `\b{g}`, and a quantifier directly
after another quantifier or after an assertion.

Cost: linear in the length of a pattern, and bounded, because patterns with too many parts are
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from covey.language.semantics.regex_characters import (
    ALL_CHARACTERS,
    ANYTHING,
    END_OF_LINE,
    END_OF_TEXT,
    ESCAPED_CLASSES,
    SUPPLEMENTARY,
    add_other_case,
    characters_between,
    characters_of_property,
)

__all__ = [
    "UNBOUNDED",
    "Alternation",
    "Assertion",
    "Character",
    "Concatenation",
    "Group",
    "Lookaround",
    "Node",
    "RegexSyntaxError",
    "Repetition",
    "Text",
    "Traits",
    "make_concatenation",
    "make_repetition",
    "make_text",
    "parse_regex",
]

UNBOUNDED = 1 << 31
"""The largest count of a repetition without an upper bound."""
_MAX_PARTS = 1_500
_MAX_NESTING = 50  # nested groups; with 1,800, the stack of Java's compiler is full
_MAX_CLASS_ITEMS = 500  # an item may be a frame of Java's matcher; with 4,500, the stack is full

_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)
_LITERALS = re.compile(r"[^\\\[(){.*+?^$|]+")
_GROUP = re.compile(
    r"\((?:\?(?:(?P<look><?[=!])|(?P<atomic>>)|<[a-zA-Z]\w*>|(?P<flags>[a-zA-Z-]*)(?P<end>[:)])))?",
    re.ASCII,
)
_QUANTIFIER = re.compile(
    r"(?:([*+?])|\{([0-9]{1,9})(?:(,)([0-9]{1,9})?)?\})([?+]?)(?P<more>[*+?{])?"
)
_ESCAPE = re.compile(
    r"""\\(?:x\{(?P<braced>[0-9a-fA-F]{1,6})\} | x(?P<hex>[0-9a-fA-F]{2})
      | u(?P<unicode>[0-9a-fA-F]{4}) | 0(?P<octal>[0-3][0-7]{2}|[0-7]{1,2}) | c(?P<control>.)
      | [pP](?:\{(?P<property>[^}]*)\}|(?P<letter>[A-Z])) | (?P<one>.))""",
    re.DOTALL | re.VERBOSE,
)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


_REPEATS_NOTHING = "cannot be checked: a *, +, ? or { does not repeat a character or a group"
_CLASS_IN_CLASS = "cannot be checked: it has a class inside a class"


class RegexSyntaxError(Exception):
    """Error of a pattern that is not valid, too large, or whose meaning in Java is not certain.

    The message is the end of a sentence that begins with `this pattern`. If Java certainly refuses
    the pattern, the message starts with `is not valid`.
    """


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a part of a pattern that its cost depends on.

    Args:
        first: the set of characters with which a match can start; for some assertions, it contains
            the end of the text.
        can_be_empty: whether the part can match the empty text.
        cannot_fail: whether the part matches at every position, even if only the empty text.
        entry_steps: the number of steps after which Java's matcher knows that no match starts at a
            position.
        depth: the number of frames that the part has on Java's stack while the parts after it are
            tried.
        max_length: the largest number of characters of a match.
    """

    first: int
    can_be_empty: bool = False
    cannot_fail: bool = False
    entry_steps: int = 1
    depth: int = 1
    max_length: int = 1


@dataclass(frozen=True, slots=True)
class Character:
    """One character of a set."""

    traits: Traits


@dataclass(frozen=True, slots=True)
class Text:
    """Several literal characters; `text` contains them in lower case."""

    traits: Traits
    text: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """The beginning or end of a text, a line or a word."""

    traits: Traits
    is_begin: bool


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A part that must match, or must not match, before or after a position."""

    traits: Traits
    body: Node
    is_behind: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A part in parentheses; the matcher never backtracks into an atomic group."""

    traits: Traits
    body: Node
    is_atomic: bool


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Several parts in sequence."""

    traits: Traits
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """A choice between several branches, as in `a|b`."""

    traits: Traits
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A character or a group that is repeated."""

    traits: Traits
    body: Node
    min_count: int
    max_count: int
    is_possessive: bool


Node = Character | Text | Assertion | Lookaround | Group | Concatenation | Alternation | Repetition

_ANY = Character(Traits(ALL_CHARACTERS))


def _make_assertion(first: int, *, is_begin: bool = False) -> Node:
    """Return an assertion; only characters in the set `first` can follow the asserted position."""
    return Assertion(Traits(first, can_be_empty=True, max_length=0), is_begin)


def parse_regex(pattern: str) -> Node:
    """Return the tree of a pattern.

    Raises:
        RegexSyntaxError: Java refuses the pattern, the pattern is too large, or its meaning in Java
            is not certain.
    """
    return _Reader(_expand_quotes(pattern)).read()


def make_concatenation(parts: Sequence[Node]) -> Node:
    """Return parts in sequence as one part."""
    if len(parts) == 1:
        return parts[0]
    first = entry_steps = depth = max_length = 0
    can_be_empty = cannot_fail = True
    for part in parts:
        traits = part.traits
        if can_be_empty:
            first, entry_steps = first | traits.first, entry_steps + traits.entry_steps
        can_be_empty &= traits.can_be_empty
        cannot_fail &= traits.cannot_fail
        depth, max_length = depth + traits.depth, max_length + traits.max_length
    traits = Traits(first, can_be_empty, cannot_fail, max(entry_steps, 1), depth, max_length)
    return Concatenation(traits, tuple(parts))


def make_alternation(branches: Sequence[Node]) -> Node:
    """Return several branches as one part."""
    if len(branches) == 1:
        return branches[0]
    first = 0
    for branch in branches:
        first |= branch.traits.first
    branch_traits = [branch.traits for branch in branches]
    traits = Traits(
        first,
        any(t.can_be_empty for t in branch_traits),
        any(t.cannot_fail for t in branch_traits),
        sum(t.entry_steps for t in branch_traits),
        max(t.depth for t in branch_traits) + 2,
        max(t.max_length for t in branch_traits),
    )
    return Alternation(traits, tuple(branches))


def make_text(text: str) -> Node:
    """Return literal characters as one part."""
    first = add_other_case(characters_between(text[0], text[0]))
    if len(text) == 1:
        return Character(Traits(first))
    return Text(Traits(first, max_length=len(text)), text.lower())


def make_repetition(body: Node, min_count: int, max_count: int, mode: str) -> Node:
    """Return a part that is repeated between `min_count` and `max_count` times.

    `mode` is the sign after the quantifier: `+` for possessive, `?` for lazy, otherwise empty.
    """
    inner, is_possessive = body.traits, mode == "+"
    if is_possessive or (mode == "?" and isinstance(body, Character)) or max_count == 1:
        depth = inner.depth + 3
    elif isinstance(body, Character):
        # Java counts characters of equal length in one frame; a change of the length needs another.
        is_counted = max_count < UNBOUNDED and inner.first & SUPPLEMENTARY
        depth = max(max_count, 1) if is_counted else 1
    else:
        depth = max_count * (inner.depth + 3)
    traits = Traits(
        inner.first,
        inner.can_be_empty or min_count == 0,
        inner.cannot_fail or min_count == 0,
        inner.entry_steps,
        depth,
        inner.max_length * max_count,
    )
    return Repetition(traits, body, min_count, max_count, is_possessive)


def _expand_quotes(pattern: str) -> str:
    r"""Return a pattern in which `\Q…\E` is replaced by escaped characters."""
    if "\\Q" not in pattern:
        return pattern
    return _QUOTED.sub(
        lambda match: match.group() if match[1] is None else re.escape(match[1]), pattern
    )


@dataclass(slots=True)
class _OpenGroup:
    """A group that is not closed yet: its complete branches, and the parts of the current one."""

    opener: re.Match[str] | None
    branches: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    can_be_repeated: bool = False
    """Whether the last part may have a quantifier."""

    def add_part(self, part: Node, can_be_repeated: bool = True) -> None:
        """Add a part to the current branch."""
        self.parts.append(part)
        self.can_be_repeated = can_be_repeated

    def end_branch(self) -> None:
        """Complete the current branch and start the next one."""
        self.branches.append(make_concatenation(self.parts))
        self.parts, self.can_be_repeated = [], False

    def close(self) -> Node:
        """Return the whole group as one part."""
        self.end_branch()
        return make_alternation(self.branches)


class _Reader:
    """Reader of one pattern, without `\\Q`, from left to right.

    `_at` is the position of the next character.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at, self._parts = pattern, 0, 0
        self._groups = [_OpenGroup(None)]
        self._has_lines = False  # whether ^ may match at the beginning of a line

    def read(self) -> Node:
        """Return the tree of the pattern."""
        while self._at < len(self._pattern):
            self._parts += 1
            if self._parts > _MAX_PARTS:
                raise RegexSyntaxError(f"is too large: it has more than {_MAX_PARTS:,} parts")
            self._read_part(self._pattern[self._at])
        if len(self._groups) > 1:
            raise RegexSyntaxError("is not valid: a group has no closing )")
        return self._groups[0].close()

    def _read_part(self, character: str) -> None:
        """Read the next part of the pattern, which starts with `character`."""
        group = self._groups[-1]
        if character == "(":
            self._open_group()
        elif character == ")":
            self._close_group()
        elif character == "|":
            self._at += 1
            group.end_branch()
        elif character in "*+?{":
            self._repeat_last()
        elif character == "[":
            group.add_part(self._read_class())
        elif character == "\\":
            self._read_escape()
        elif character == ".":
            self._at += 1
            group.add_part(_ANY)
        elif character in "^$":
            self._at += 1
            is_begin = character == "^" and not self._has_lines
            first = END_OF_LINE if character == "$" else ANYTHING
            group.add_part(_make_assertion(first, is_begin=is_begin), can_be_repeated=False)
        else:
            self._read_literals()

    def _read_literals(self) -> None:
        """Read literal characters; a quantifier after them applies only to the last one."""
        match = _LITERALS.match(self._pattern, self._at)
        assert match is not None
        text, self._at = match.group(), match.end()
        is_repeated = self._pattern[self._at : self._at + 1] in set("*+?{")
        if is_repeated and len(text) > 1:
            self._groups[-1].add_part(make_text(text[:-1]))
            text = text[-1]
        self._groups[-1].add_part(make_text(text))

    def _open_group(self) -> None:
        """Read an opening parenthesis with its flags."""
        opener = _GROUP.match(self._pattern, self._at)
        if opener is None or (opener.group() == "(" and self._pattern[opener.end() :][:1] == "?"):
            raise RegexSyntaxError("cannot be checked: it has an unknown kind of group")
        self._at = opener.end()
        flags = opener["flags"] or ""
        if refused_flags := sorted(set(flags) - set("ims-")):
            raise RegexSyntaxError(f"cannot be checked: it has the flag {refused_flags[0]}")
        self._has_lines |= "m" in flags
        if opener["end"] == ")":
            self._groups[-1].can_be_repeated = False
            return
        self._groups.append(_OpenGroup(opener))
        if len(self._groups) > _MAX_NESTING:
            raise RegexSyntaxError(f"is too large: it has more than {_MAX_NESTING} nested groups")

    def _close_group(self) -> None:
        """Read a closing parenthesis and add the group to the one around it."""
        self._at += 1
        if len(self._groups) == 1:
            raise RegexSyntaxError("is not valid: a ) closes no group")
        closed = self._groups.pop()
        body, opener = closed.close(), closed.opener
        assert opener is not None
        if look := opener["look"]:
            is_behind = look[0] == "<"
            if is_behind and body.traits.max_length >= UNBOUNDED:
                raise RegexSyntaxError(
                    "cannot be checked: it has a lookbehind without a maximum length"
                )
            depth = body.traits.depth + 1
            traits = Traits(ANYTHING, can_be_empty=True, depth=depth, max_length=0)
            self._groups[-1].add_part(Lookaround(traits, body, is_behind), can_be_repeated=False)
            return
        inner = body.traits
        traits = Traits(
            inner.first, inner.can_be_empty, inner.cannot_fail, inner.entry_steps + 1,
            inner.depth + 2, inner.max_length,
        )  # fmt: skip
        self._groups[-1].add_part(Group(traits, body, bool(opener["atomic"])))

    def _repeat_last(self) -> None:
        """Read a quantifier and repeat the last part."""
        group = self._groups[-1]
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None or match["more"] or not group.can_be_repeated:
            raise RegexSyntaxError(_REPEATS_NOTHING)
        self._at = match.end()
        sign, min_digits, comma, max_digits, mode, _ = match.groups()
        if sign:
            min_count, max_count = {"?": (0, 1), "*": (0, UNBOUNDED), "+": (1, UNBOUNDED)}[sign]
        else:
            min_count = int(min_digits)
            max_count = int(max_digits or UNBOUNDED) if comma else min_count
        if max_count < min_count:
            raise RegexSyntaxError(
                "is not valid: the bounds of a repetition are in the wrong order"
            )
        body = group.parts.pop()
        group.add_part(make_repetition(body, min_count, max_count, mode), can_be_repeated=False)

    def _read_escape(self) -> None:
        """Read an escape outside of a class: an assertion or a character."""
        escape = self._match_escape()
        name = escape["one"]
        if name is not None and name in "AbBzZG":
            self._at = escape.end()
            if self._pattern.startswith("{", self._at):
                raise RegexSyntaxError(_REPEATS_NOTHING)
            first = {"z": END_OF_TEXT, "Z": END_OF_LINE}.get(name, ANYTHING)
            assertion = _make_assertion(first, is_begin=name == "A")
            self._groups[-1].add_part(assertion, can_be_repeated=False)
            return
        members, _, _ = self._read_escaped(escape)
        self._groups[-1].add_part(Character(Traits(add_other_case(members))))

    def _match_escape(self) -> re.Match[str]:
        """Return the match of the escape at the next character."""
        escape = _ESCAPE.match(self._pattern, self._at)
        if escape is None:
            raise RegexSyntaxError("is not valid: it ends with a backslash")
        return escape

    def _read_escaped(self, found: re.Match[str]) -> tuple[int, int, str]:
        """Return what an escape matches.

        Returns:
            The set of characters that the escape may match, the set of those that it certainly
            matches, and its character; the last is empty if the escape matches several characters.
        """
        self._at = found.end()
        if (name := found["property"] or found["letter"]) is not None:
            is_inverted = found.group()[1] == "P"
            return (ALL_CHARACTERS if is_inverted else characters_of_property(name)), 0, ""
        escaped: str = found["one"] or ""
        if escaped in ESCAPED_CLASSES:
            return *ESCAPED_CLASSES[escaped], ""
        code = found["braced"] or found["hex"] or found["unicode"]
        if code is not None:
            if int(code, 16) > 0x10FFFF:
                raise RegexSyntaxError("is not valid: a character code is larger than 10FFFF")
            character = chr(int(code, 16))
        elif found["octal"]:
            character = chr(int(found["octal"], 8))
        elif found["control"]:
            character = chr(ord(found["control"]) ^ 64)
        elif escaped in _CONTROLS:
            character = _CONTROLS[escaped]
        elif escaped in "123456789k":
            raise RegexSyntaxError("cannot be checked: it has a reference to a group")
        elif escaped.isascii() and escaped.isalnum():
            raise RegexSyntaxError(f"cannot be checked: it has the escape \\{escaped}")
        else:
            character = escaped
        if 0xD800 <= ord(character) <= 0xDFFF:
            return ALL_CHARACTERS, 0, ""  # a surrogate, which Java may combine with the next one
        members = characters_between(character, character)
        return members, members if character.isascii() else 0, character

    def _read_class(self) -> Node:
        """Read a class in brackets."""
        self._at += 1
        is_inverted = self._pattern.startswith("^", self._at)
        self._at += is_inverted
        members = certain = items = 0
        while not (items and self._pattern.startswith("]", self._at)):
            may_match, surely_matches = self._read_class_item()
            members, certain, items = members | may_match, certain | surely_matches, items + 1
            if items > _MAX_CLASS_ITEMS:
                raise RegexSyntaxError(
                    f"is too large: a class has more than {_MAX_CLASS_ITEMS} characters"
                )
        self._at += 1
        members = ALL_CHARACTERS & ~certain if is_inverted else add_other_case(members)
        return Character(Traits(members))

    def _read_class_item(self) -> tuple[int, int]:
        """Read a character, a range or an escape of a class.

        Return the set of characters that it may match, and the set of those that it certainly
        matches.
        """
        members, certain, low = self._read_class_character()
        following = self._pattern[self._at + 1 : self._at + 2]
        if not low or not self._pattern.startswith("-", self._at) or following in "]":
            return members, certain
        if following == "[":
            raise RegexSyntaxError(_CLASS_IN_CLASS)
        self._at += 1
        _, _, high = self._read_class_character()
        if not high:
            raise RegexSyntaxError(
                "cannot be checked: it has a range that does not end with a single character"
            )
        if high < low:
            raise RegexSyntaxError("is not valid: the characters of a range are in the wrong order")
        members = characters_between(low, high)
        return members, members & ((1 << 128) - 1)

    def _read_class_character(self) -> tuple[int, int, str]:
        """Read a character or an escape of a class; return the same as `_read_escaped`."""
        character = self._pattern[self._at : self._at + 1]
        if not character:
            raise RegexSyntaxError("is not valid: a character class has no closing ]")
        if character == "[" or self._pattern.startswith("&&", self._at):
            raise RegexSyntaxError(_CLASS_IN_CLASS)
        if character == "\\":
            return self._read_escaped(self._match_escape())
        self._at += 1
        members = characters_between(character, character)
        return members, members if character.isascii() else 0, character
