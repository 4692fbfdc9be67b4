"""Common mistakes in texts that are not predicates, found by patterns.

Only texts that are already known to be wrong are searched. A pattern matches text that is hardly
ever part of a predicate, so its match is reported even if the parser stopped at another position.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from covey.language.values import literals

__all__ = [
    "Mistake",
    "diagnose_character",
    "diagnose_early_end",
    "diagnose_misplaced",
    "diagnose_unclosed",
    "find_common_mistake",
    "find_literal_offsets",
    "find_unbalanced",
    "mask_literals",
    "suggest_for_function",
    "suggest_for_name",
]  # fmt: skip


class Mistake(NamedTuple):
    """The problem, its position in the text (from 0), and what to write instead."""

    problem: str
    offset: int
    hint: str


def find_common_mistake(text: str) -> Mistake | None:
    """Return the mistake of the first pattern that matches a text; None if nothing is found.

    If no pattern matches, the first character that only looks like a character of SQL, such as a
    typographic quote, is reported. Only the first 4,096 characters are searched.

    >>> find_common_mistake("price > 5 && city = 'a && b'")
    Mistake(problem='&& is not an operator here', offset=10, hint='write AND')
    """
    text = text[:_MAX_SCANNED_CHARACTERS]
    masked = mask_literals(text)
    for pattern, problem, hint in _COMMON_MISTAKES:
        match = pattern.search(masked)
        if match:
            offset = match.start("at")
            words = {name: text[slice(*match.span(name))] for name in match.groupdict()}
            words["bare"] = re.sub(r"[,_](?=\d{3})", "", words["at"])
            return Mistake(problem.format(**words), offset, hint.format(**words))
    return _find_lookalike(masked)


_MAX_SCANNED_CHARACTERS = 4_096

_COMMON_MISTAKES = [
    (re.compile(pattern, re.IGNORECASE), problem, hint)
    for pattern, problem, hint in (
        (r"^\s*(?P<at>select|with)\b", "a SELECT is not a predicate",
         "write only the condition after WHERE"),
        (r"^\s*(?P<at>where)\b", "the word WHERE is not part of a predicate", "leave it out"),
        (r"^\s*(?P<at>and|or)\b", "a predicate does not begin with {at}", "leave it out"),
        (r"^\s*(?P<at>[<>=]+)", "a predicate does not begin with {at}", "write a column before it"),
        (r"^\s*(?P<at>\{)", "a predicate is SQL, not JSON",
         "write it as price > 5 AND city = 'Rome'"),
        (r"^\s*(?P<at>if)\s(?!\s*\()", "IF … THEN is not a condition", "write the condition alone"),
        (r"(?P<at>&&)", "&& is not an operator here", "write AND"),
        (r"(?P<at>(?<!<)=>)", "=> is not an operator here", "write >="),
        (r"(?<!<)(?P<at>=<)", "=< is not an operator here", "write <="),
        (r"(?P<at>[=!]?~\*?)", "{at} is not an operator here",
         "write RLIKE for a regular expression"),
        (r"(?P<at>!\s+=)", "! and = must not be separated", "write !="),
        (r"(?P<at>><)", ">< is not an operator here", "write <>"),
        (r"(?P<at>[<>]=?\s+[<>=]|=\s+=)", "two operators follow each other",
         "leave one of them out"),
        (r"(?P<at>\*\*)", "** is not an operator here", "write pow(x, 2)"),
        (r"(?P<at>//|#)", "{at} does not begin a comment here", "write --"),
        (r"(?P<at><->|<#>)", "{at} is not an operator here",
         "write vector_l2_distance(a, b) or vector_cosine_similarity(a, b)"),
        (r"\b(?P<at>is\s+not\s+in)\b", "IS NOT IN is not an operator", "write NOT IN"),
        (r"\b(?P<at>not\s*=+)", "{at} is not an operator here", "write <>"),
        (r"\b(?P<at>between\s*\(\s*\))(?!\s*and\b)", "BETWEEN does not take a list",
         "write BETWEEN 5 AND 10"),
        (r"\bbetween\s+[\w.'+-]+\s*(?P<at>,|to\b|\.\.)", "BETWEEN needs AND between its ends",
         "write AND instead of {at}"),
        (r"\bin\s+(?P<at>[\w'])", "IN needs a list in parentheses",
         "write IN ('a', 'b'), or array_contains(tags, 'a')"),
        (r"\blike\s+(?P<at>[*%])", "a pattern needs quotes", "write LIKE '%red%'"),
        (r"(?<=[\w'`)\]])\s+(?P<at>contains|has)\b\s*(?='|\w)", "{at} is not an operator",
         "write contains(x, 'a') for a text, array_contains(x, 'a') for tags"),
        (r"(?<=[\w'`)\]])\s+(?P<at>starts?\s*with)\b\s*(?=')", "{at} is not an operator",
         "write x LIKE 'a%', or startswith(x, 'a')"),
        (r"(?<=[\w'`)\]])\s+(?P<at>matches|similar\s+to)\b\s*(?=')", "{at} is not an operator here",
         "write RLIKE for a regular expression"),
        (r"\s(?P<at>xor)\s", "XOR is not an operator here", "write (a) <> (b)"),
        (r"(?P<at>\$(?:gte?|lte?|eq|ne|n?in|and|or)\b)", "{at} is not an operator here",
         "write a comparison such as price > 5"),
        (r"(?P<at>[$€£¥])\s*\d", "a number cannot have a currency sign", "leave the sign out"),
        (r"\d\s*(?P<at>[$€£¥])", "a number cannot have a currency sign", "leave the sign out"),
        (r"\d\s*(?P<at>%)\s*(?:$|\)|and\b|or\b)", "a number cannot have a percent sign",
         "write the number as it is in the column, 5 or 0.05"),
        (r"(?<![\w.,])(?P<at>\d{1,3}(?:,\d{3})+)(?![\w,])",
         "{at} is not one number, because of the comma", "write {bare}"),
        (r"(?<![\w.,])(?P<at>\d+,\d+)(?![\w,])", "{at} is not one number, because of the comma",
         "write a point before the decimals"),
        (r"(?<![\w.,])(?P<at>\d+(?:\.\d{3})+,\d+)(?![\w,])",
         "{at} is not one number, because of the comma",
         "write a point before the decimals, and nothing between thousands"),
        (r"(?<![\w.])(?P<at>\d{4}-\d\d?-\d\d?)(?:\D|$)", "a date needs quotes",
         "write '{at}'"),
        (r"\w(?P<at>\.\w+\s*\()", "a function cannot be written after its argument",
         "write the function first, as in lower(title)"),
        (r"(?P<at>->>?)\s*'", "{at} is not an operator here",
         "write payload.user for a field, get_json_object(x, '$.user') for JSON in a text"),
        (r"[\w'`](?P<at>:)(?!:)", ": is not an operator here",
         "write = or > to compare, payload.user for a field"),
    )
]  # fmt: skip


def _find_lookalike(plain: str) -> Mistake | None:
    """Return the mistake of the first non-ASCII character that looks like a character of SQL.

    Return None if there is no such character. `plain` is a text with its literals masked.
    """
    for match in _NON_ASCII.finditer(plain):
        i, character = match.start(), match.group()
        if character in _QUOTES:
            return Mistake(f"{character} is not a quote here", i, "write ' around a text")
        ascii_character = unicodedata.normalize("NFKC", character)
        if ascii_character != character and ascii_character.isascii() and ascii_character.strip():
            problem = f"{character} is not the character {ascii_character}"
            return Mistake(problem, i, f"write {ascii_character}")
    return None


_QUOTES = "“”„‘’‚«»´"
_NON_ASCII = re.compile(r"[^\x00-\x7f]")


@lru_cache(maxsize=1)
def mask_literals(text: str) -> str:
    """Return a text of the same length in which quoted parts, lists and comments are replaced.

    Quoted texts and names are replaced by quotes, and lists of literals and comments by blanks.
    """
    pieces, end = [], 0
    text = literals.blank_comments(text)
    for match in literals.iterate_tokens(text):
        raw, size = match.group(), len(match.group())
        pieces.append(text[end : match.start()])
        end = match.end()
        if raw[0] in "'\"`":
            pieces.append(("`" if raw[0] == "`" else "'") * size)
        elif raw[0] == "(":
            pieces.append("(" + " " * (size - 2) + ")")
        else:
            pieces.append(raw)
    return "".join([*pieces, text[end:]])


def diagnose_character(text: str, offset: int) -> Mistake:
    """Return the mistake that explains a forbidden character at a position."""
    if (
        set(literals.blank_literals(text)[:offset]) & set("'\"`")
        or text[offset : offset + 2] == "/*"
    ):
        return diagnose_unclosed(text)
    if text[offset] == ";":
        is_last = not literals.blank_literals(text)[offset:].strip("; \n\t")
        hint = (
            "leave it out" if is_last else "write AND between conditions, or a comma between values"
        )
        return Mistake("a predicate cannot contain a semicolon", offset, hint)
    mistake = find_common_mistake(text)
    if mistake:
        return mistake
    if re.match(r"[$@]?\{\s*\w|[$@]\w", text[offset:]):
        return Mistake("parameters cannot be used here", offset, "write the literal itself")
    return Mistake(f"{text[offset]} is not allowed in a predicate", offset, "leave it out")


def find_literal_offsets(text: str) -> list[int]:
    """Return for each slot of a text the position at which its literal starts."""
    tokens = literals.iterate_tokens(literals.blank_comments(text))
    return [match.start() for match in tokens if match.group()[0] != "`"]


def diagnose_unclosed(text: str) -> Mistake:
    """Return the mistake of a text in which a quote or a comment is probably not closed."""
    for match in literals.iterate_tokens(literals.blank_comments(text)):
        after = text[match.end() : match.end() + 1]
        if match.group()[0] in "'\"" and after.isalnum():
            quote = match.group()[0]
            return Mistake("the text ends at this quote", match.end() - 1,
                           f"write {quote}{quote} for a quote inside a text")  # fmt: skip
    blanked = literals.blank_literals(text)
    unclosed = [(blanked.index(mark), mark) for mark in ("'", '"', "`", "/*") if mark in blanked]
    if not unclosed:
        return Mistake("this is not a Spark SQL predicate", 0,
                       "write one condition such as price > 5")  # fmt: skip
    offset, mark = min(unclosed)
    if mark == "/*":
        return Mistake("a comment is not closed", offset, "write */ where it ends")
    name = {"'": "quote", '"': "double quote", "`": "backtick"}[mark]
    if "\\" + mark in text[offset:]:
        hint = f"\\{mark} is a quote inside the text, so write {mark} again, or \\\\ for \\"
    elif set(text[offset:]) & set(_QUOTES):
        hint = f"close it with {mark}, because other quotes do not close it"
    else:
        hint = f"write a second {mark}"
    return Mistake(f"a {name} is not closed", offset, hint)


def find_unbalanced(text: str) -> Mistake | None:
    """Return the mistake of the first bracket that is never closed or never opened, or None."""
    open_offsets: list[int] = []
    masked = mask_literals(text)
    for i, character in enumerate(masked):
        if character in "([{":
            open_offsets.append(i)
        elif character in ")]}":
            if not open_offsets:
                return Mistake(f"this {character} closes nothing", i, "leave it out")
            open_offsets.pop()
    if not open_offsets:
        return None
    other = ")]}"["([{".index(masked[open_offsets[0]])]
    return Mistake(
        f"this {masked[open_offsets[0]]} is never closed",
        open_offsets[0],
        f"write {other} where it ends",
    )


def diagnose_early_end(text: str) -> Mistake:
    """Return the mistake of a text that ends before the predicate is complete."""
    masked = mask_literals(text).rstrip()
    if re.search(r"\bcase\b", masked, re.IGNORECASE) and not masked.lower().endswith(" end"):
        return Mistake("CASE has no END", len(masked), "write END")
    match = re.search(r"\w+$|[^\w\s]+$", masked)
    last = match.group() if match else ""
    if not last or set(last) <= set("'`)]") or last[0].isdigit():
        return Mistake("the predicate ends too early", len(masked), "complete it")
    return Mistake(
        f"the predicate ends after {last}", len(masked), f"complete it, or leave out {last}"
    )


_CLAUSES = (
    "LIMIT", "ORDER", "GROUP", "HAVING", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "FROM", "JOIN",
    "WINDOW", "OFFSET", "WHERE",
)  # fmt: skip
_CONNECTIVES = {"AND", "OR", "NOT", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"}


def diagnose_misplaced(text: str, offset: int, token: str) -> Mistake:
    """Return the mistake that explains why a token is not allowed at its position."""
    words_before = mask_literals(text)[:offset].split()
    previous = words_before[-1].upper() if words_before else ""
    word = token.upper()
    if word.startswith(_CLAUSES):
        return Mistake(f"a predicate cannot contain {word}", offset, "leave it out")
    if word == "AS":
        return Mistake("a condition cannot have an alias", offset, "leave the alias out")
    if word == ",":
        hint = "write AND between conditions, or IN (…) around several values"
        return Mistake("a comma is not allowed here", offset, hint)
    if word in _CONNECTIVES and previous in _CONNECTIVES:
        return Mistake(f"{token} cannot follow {previous}", offset, "leave one of them out")
    hint = "an operator such as AND may be missing before it"
    if re.fullmatch(r"[0-9.]+", previous) and token[:1].isalpha():
        hint = "write AND before it, or leave it out if it is a unit"
    elif previous[-1:].isalpha() and token.isidentifier() and previous not in _CONNECTIVES:
        hint = "write an operator before it, or backticks around a name with spaces"
    return Mistake(f"{token or 'this'} is not allowed here", offset, hint)


def suggest_for_name(name: str, columns: str, is_value: bool) -> str:
    """Return a suggestion for a name that no column has.

    Args:
        name: the unknown name.
        columns: the suggestion that is returned if no other fits; it lists the columns.
        is_value: whether a literal is usual at the position of the name, so that quotes may be
            missing.
    """
    if name.lower() in ("none", "nil", "undefined"):
        return "write IS NULL or IS NOT NULL"
    if name.lower() in ("nan", "infinity", "inf"):
        return f"write '{name}' in quotes"
    if name[:1].isdigit():
        number = re.match(r"[0-9][0-9_]*", unicodedata.normalize("NFKC", name))
        if number:
            return f"if it is a number, write {number.group().replace('_', '')}"
    if set(name) & set(_QUOTES):
        return "write '" + "".join(c for c in name if c not in _QUOTES) + "' with plain quotes"
    return f"a text needs quotes: '{name}'" if is_value else columns


_FUNCTION_SUGGESTIONS = {
    "len": "length", "lowercase": "lower", "uppercase": "upper", "toupper": "upper",
    "tolower": "lower", "date": "DATE '2024-05-31', or CAST(x AS DATE)",
    "timestamp": "TIMESTAMP '2024-05-31 18:30:00', or CAST(x AS TIMESTAMP)",
    "string": "CAST(x AS STRING)", "int": "CAST(x AS INT)", "double": "CAST(x AS DOUBLE)",
    "float": "CAST(x AS FLOAT)", "all": "a comparison for each value, joined with AND", "any": "IN",
    "some": "IN", "starts_with": "startswith", "ends_with": "endswith",
    "l2_distance": "vector_l2_distance", "cosine_similarity": "vector_cosine_similarity",
    "cosine_distance": "vector_cosine_similarity, which is 1 minus the distance",
    "in": "x IN ('a', 'b')", "st_distance": "covey.predicates.within_km", "regexp": "RLIKE",
    "st_dwithin": "covey.predicates.within_km",
}  # fmt: skip


def suggest_for_function(name: str) -> str:
    """Return what to write instead of an unknown function, or "" if there is no suggestion."""
    return f"write {_FUNCTION_SUGGESTIONS[name]}" if name in _FUNCTION_SUGGESTIONS else ""
