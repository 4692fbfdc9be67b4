"""Texts that Python's `str` cannot be or order by itself: ends of intervals, and invalid UTF-8.

Intervals are closed, so that one kind of end remains. `x > 'b'` starts at `'b\\0'`, the next text
after `'b'`; but no text is the last one before `'b'`, so `x < 'b'` ends at `Below('b')`, and an
interval without an end at `TOP`. Both compare with `str` by Spark's order (UTF-8 bytes, which is
the order of code points), so arrays that mix them work with NumPy's own comparisons.
"""

from __future__ import annotations

from functools import total_ordering

__all__ = ["TOP", "Below", "InvalidUtf8Text", "TextBound", "next_text", "upper_bound_before"]


@total_ordering
class Below:
    """The place just before a text, after all that sort before it; `TOP` is after every text.

    >>> "a" < "azzz" < Below("b") < "b", Below("b") < TOP
    (True, True)
    """

    __slots__ = ("text",)

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __lt__(self, other: str | Below) -> bool:
        if self.text is None:
            return False
        if isinstance(other, Below):
            return other.text is None or self.text < other.text
        return self.text <= other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Below) and self.text == other.text

    def __hash__(self) -> int:
        return hash((Below, self.text))

    def __repr__(self) -> str:
        return "TOP" if self.text is None else f"Below({self.text!r})"

    def __reduce__(self) -> tuple[type[Below], tuple[str | None]]:
        return Below, (self.text,)


TOP = Below(None)


class InvalidUtf8Text(str):
    """A text of bytes that are no UTF-8, which Spark keeps, compares and orders as bytes.

    >>> invalid = [InvalidUtf8Text.from_bytes(raw) for raw in (b"a\\xff", b"\\xc3(")]
    >>> sorted(["b", *invalid, "a", "é"])
    ['a', 'a\\udcff', 'b', '\\udcc3(', 'é']
    """

    __slots__ = ()

    @classmethod
    def from_bytes(cls, content: bytes) -> str:
        """Return the text of some bytes: a plain one where they are UTF-8."""
        try:
            return content.decode()
        except UnicodeDecodeError:
            return cls(content.decode("utf-8", "surrogateescape"))

    def __lt__(self, other: str) -> bool:
        return (
            _encode_text(self) < _encode_text(other) if isinstance(other, str) else NotImplemented
        )

    def __le__(self, other: str) -> bool:
        return (
            _encode_text(self) <= _encode_text(other) if isinstance(other, str) else NotImplemented
        )

    def __gt__(self, other: str) -> bool:
        return (
            _encode_text(self) > _encode_text(other) if isinstance(other, str) else NotImplemented
        )

    def __ge__(self, other: str) -> bool:
        return (
            _encode_text(self) >= _encode_text(other) if isinstance(other, str) else NotImplemented
        )


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


TextBound = str | Below


def upper_bound_before(text: str) -> TextBound:
    """The end of all texts that sort before this one, in its only spelling.

    >>> upper_bound_before("b"), upper_bound_before("b\\0")
    (Below('b'), 'b')
    """
    return text[:-1] if text.endswith("\0") else Below(text)


def next_text(text: str) -> str:
    """The first text that sorts after this one."""
    return text + "\0"
