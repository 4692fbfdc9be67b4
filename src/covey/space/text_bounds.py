"""Ends of intervals of texts, and texts that are not valid UTF-8: what `str` cannot represent.

All intervals of keys are closed. The interval of `x > 'b'` starts at `'b\\0'`, the next text after
`'b'`. But no text is the last one before `'b'`, so the interval of `x < 'b'` ends at `Below('b')`,
which is not a text. An interval without an upper bound ends at `TOP`. `Below` and `TOP` can be
compared with `str`, in Spark's order (of UTF-8 bytes, which is the order of code points), so NumPy
can compare arrays that contain both.
"""

from __future__ import annotations

from functools import total_ordering

__all__ = ["TOP", "Below", "InvalidUtf8Text", "TextBound", "next_text", "upper_bound_before"]


@total_ordering
class Below:
    """Upper end of an interval, which sorts before a text and after all texts before that text.

    `TOP` sorts after all texts.

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
    """Text of bytes that are not valid UTF-8; Spark stores, compares and orders it as bytes.

    >>> invalid = [InvalidUtf8Text.from_bytes(raw) for raw in (b"a\\xff", b"\\xc3(")]
    >>> sorted(["b", *invalid, "a", "é"])
    ['a', 'a\\udcff', 'b', '\\udcc3(', 'é']
    """

    __slots__ = ()

    @classmethod
    def from_bytes(cls, content: bytes) -> str:
        """Return the text of the given bytes: a plain `str` if they are valid UTF-8."""
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
    """Return the upper end of the interval of all texts that sort before a text.

    Each bound has only one representation: if `text` ends with NUL, the bound is the text without
    this NUL; otherwise it is a `Below`.

    >>> upper_bound_before("b"), upper_bound_before("b\\0")
    (Below('b'), 'b')
    """
    return text[:-1] if text.endswith("\0") else Below(text)


def next_text(text: str) -> str:
    """Return the first text that sorts after a text."""
    return text + "\0"
