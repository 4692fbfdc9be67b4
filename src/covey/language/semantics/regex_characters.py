r"""Sets of the characters that a part of a pattern can match, as bit masks.

A set contains at least the characters that the part can match, and may contain more.

There is one bit for each ASCII character. Four more bits mean: the line separators beyond ASCII;
the other characters of Unicode's first plane; the characters of further planes, which Java stores
as two `char` values; and the end of a text. Under some flags and collations `k` also matches the
Kelvin sign, `s` the long s, and `i` the dotless i. So if a set contains one of these letters,
`add_other_case` also adds the characters beyond ASCII, and if a set contains characters beyond
ASCII, it also adds these letters.

>>> characters_between("a", "c") == characters_between("A", "C")
False
>>> add_other_case(characters_between("a", "c")) == add_other_case(characters_between("A", "C"))
True
"""

from __future__ import annotations

__all__ = [
    "ALL_CHARACTERS",
    "ANYTHING",
    "END_OF_LINE",
    "END_OF_TEXT",
    "ESCAPED_CLASSES",
    "SUPPLEMENTARY",
    "add_other_case",
    "characters_between",
    "characters_of_property",
]

_BASIC, _SEPARATORS, SUPPLEMENTARY, END_OF_TEXT = 1 << 128, 1 << 129, 1 << 130, 1 << 131
ALL_CHARACTERS, ANYTHING = END_OF_TEXT - 1, 2 * END_OF_TEXT - 1
END_OF_LINE = END_OF_TEXT | _SEPARATORS | 1 << ord("\n") | 1 << ord("\r")
"""The set of what can follow a position at which `$` matches."""
_ASCII = _BASIC - 1


def characters_between(first: str, last: str) -> int:
    """Return the set of the characters from `first` to `last`."""
    low, high = ord(first), ord(last)
    members = (1 << min(high + 1, 128)) - (1 << low) if low < 128 else 0
    if high >= 128 and low <= 0xFFFF:
        members |= _BASIC
    if any(low <= ord(separator) <= high for separator in "\x85\u2028\u2029"):
        members |= _SEPARATORS
    return members | SUPPLEMENTARY if high > 0xFFFF else members


_UPPER, _LOWER = characters_between("A", "Z"), characters_between("a", "z")
_DIGITS = characters_between("0", "9")
_BEYOND_ASCII = _BASIC | SUPPLEMENTARY  # has letters and digits
_WITH_OTHERS = sum(1 << ord(letter) for letter in "KSIksi")
"""ASCII letters that equal a character beyond ASCII if case is ignored."""

_SPACES = characters_between("\t", "\r") | 1 << ord(" ")
_NAMED = {
    "d": _DIGITS,
    "w": _UPPER | _LOWER | _DIGITS | 1 << ord("_"),
    "s": _SPACES,
    "h": 1 << 9 | 1 << 32 | _BASIC,
    "v": characters_between("\n", "\r") | _SEPARATORS,
}
ESCAPED_CLASSES = {
    **{name: (members, members & _ASCII) for name, members in _NAMED.items()},
    **{
        name.upper(): (ALL_CHARACTERS & ~(members & _ASCII), _ASCII & ~members)
        for name, members in _NAMED.items()
    },
}
r"""By the letter of a class such as `\d`: the set of the characters that the class may match, and
the set of those that it certainly matches."""

_LETTERS = frozenset({"l", "lu", "ll", "lt", "lm", "lo", "alpha", "alphabetic", "upper", "lower",
    "uppercase", "lowercase", "letter", "ideographic", "latin"})  # fmt: skip
_NUMBERS = frozenset({"n", "nd", "nl", "no", "digit"})


def characters_of_property(name: str) -> int:
    r"""Return a set that contains all characters of a property, as in `\p{Lu}`."""
    property_name = name.lower().removeprefix("is")
    if property_name in _LETTERS:
        return _UPPER | _LOWER | _BEYOND_ASCII
    return _DIGITS | _BEYOND_ASCII if property_name in _NUMBERS else ALL_CHARACTERS


def add_other_case(members: int) -> int:
    """Return the set `members` with the other case of each of its letters added.

    The module docstring says which characters beyond ASCII are also added.
    """
    members |= (members & _UPPER) << 32 | (members & _LOWER) >> 32
    if members & _WITH_OTHERS:
        members |= _BASIC
    return members | _WITH_OTHERS if members & _BASIC else members
