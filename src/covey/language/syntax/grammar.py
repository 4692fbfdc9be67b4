"""Parser of Spark SQL's grammar: a predicate's text as a tree with numbered slots for literals.

sqlglot is used only for the grammar. Calls of functions are left as the user wrote them, because
sqlglot's own classes of functions would rewrite some of them. Literals are read by
`covey.language.values.literals`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from covey.errors import PredicateError
from covey.language.diagnostics import common_mistakes
from covey.language.values import literals
from covey.space.limits import PredicateLimits

__all__ = ["PredicateTree", "check_length", "check_template", "parse_tree"]


class _Parser(SparkParser):
    """sqlglot's parser for Spark without its function classes: every call is `Anonymous`."""

    FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: parser
        for name, parser in SparkParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "TRY_CAST")
    }
    STRICT_CAST = True

    def _warn_unsupported(self) -> None:
        """Log no warning: `check_admitted` refuses what is outside the language."""


class _Grammar(Spark):
    """sqlglot's Spark dialect with `_Parser`."""

    Parser = _Parser

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Return the path unchanged and log no warning: JSON paths are outside the language."""
        return path


_GRAMMAR = _Grammar()


@dataclass(frozen=True, slots=True)
class PredicateTree:
    """A parsed predicate, with the literals of its slots and the source position of each node.

    `root` is the syntax tree, and `raws` contains the literals as written, by slot. sqlglot reads a
    text with slots in place of literals. If p is a position of that text, at least `_starts[i]` and
    less than `_starts[i + 1]`, the same position of the user's `text` is p + `_shifts[i]`.
    """

    text: str
    root: exp.Expr
    raws: tuple[str, ...]
    _starts: tuple[int, ...]
    _shifts: tuple[int, ...]

    def slot_of(self, node: exp.Expr) -> int:
        """Return the slot of a literal node; raise PredicateError if it has no slot."""
        match = _SLOT.fullmatch(str(node.this))
        if match is None or int(match.group(1)) >= len(self.raws):
            raise self.error(
                "Spark does not read this as a literal",
                node,
                "write it as a number, or as a text in quotes",
            )
        return int(match.group(1))

    def error(self, problem: str, node: exp.Expr | None = None, hint: str = "") -> PredicateError:
        """Return an error at the start of a node, by default at the start of the predicate."""
        return PredicateError(problem, self.text, self._find_source_start(node), hint)

    def error_at_pattern(
        self, pattern: str, problem: str, node: exp.Expr | None = None, hint: str = ""
    ) -> PredicateError:
        """Return an error at the first match of a pattern after the start of a node.

        Use it for nodes whose position sqlglot does not record. If nothing matches, the error is at
        the start of the node.
        """
        masked = common_mistakes.mask_literals(self.text)
        start = self._find_source_start(node)
        match = re.compile(pattern, re.IGNORECASE).search(masked, start)
        return PredicateError(problem, self.text, match.start() if match else start, hint)

    def error_at_slot(self, slot: int, problem: str, hint: str = "") -> PredicateError:
        """Return an error at the literal of a slot."""
        offsets = common_mistakes.find_literal_offsets(self.text)
        offset = offsets[slot] if slot < len(offsets) else 0
        return PredicateError(problem, self.text, offset, hint)

    def _find_source_start(self, node: exp.Expr | None) -> int:
        """Return the position in the user's text at which a node starts, or 0 if it is unknown."""
        starts = (
            [n.meta["start"] for n in node.walk() if n._meta and "start" in n.meta] if node else []
        )
        return self.source_offset(min(starts, default=0))

    def source_offset(self, offset: int) -> int:
        """Return the position in the user's text for a position in the text with slots."""
        i = bisect_right(self._starts, offset) - 1
        return offset + self._shifts[i]


_SLOT = re.compile(r"77([0-9]{5})77")


def parse_tree(text: str, limits: PredicateLimits) -> PredicateTree:
    """Return the syntax tree of one predicate.

    Raises:
        PredicateError: the text is not a predicate or exceeds a limit, or Spark could read it
            differently. The error contains the position.
    """
    check_length(text, limits)
    sql, raws, starts, shifts = _replace_literals(literals.blank_comments(text))
    check_template(text, len(sql) - 9 * len(raws), len(raws), limits)
    if not sql.strip():
        raise PredicateError(
            "the predicate is empty", text, 0, "write a condition such as price > 5"
        )
    tree = PredicateTree(text, exp.Null(), raws, starts, shifts)
    _check_depth(tree, sql, limits)
    _check_characters(text)
    try:
        tokens = _GRAMMAR.tokenize(sql)
        _check_signs(tree, tokens)
        roots = _GRAMMAR.parser().parse_into(exp.Condition, tokens, sql)
    except ParseError as error:
        raise _explain_parse_error(tree, sql, error) from None
    except TokenError:
        mistake = common_mistakes.diagnose_unclosed(text)
        raise PredicateError(mistake.problem, text, mistake.offset, mistake.hint) from None
    except RecursionError:
        raise PredicateError(
            "the predicate is nested too deeply", text, 0, "use fewer parentheses"
        ) from None
    except (SqlglotError, ValueError, AttributeError, TypeError, KeyError, IndexError):
        raise PredicateError("this is not a Spark SQL predicate", text, 0) from None
    if len(roots) != 1 or roots[0] is None:
        raise PredicateError("this is not a Spark SQL predicate", text, 0)
    _check_counts(tree, tokens)
    _check_types(tree, tokens)
    tree = replace(tree, root=_bind_minus_signs(tokens, roots[0]))
    _check_nesting(tree, limits)
    _check_precedence(tree)
    return tree


def check_length(text: str, limits: PredicateLimits) -> None:
    """Raise PredicateError if a text certainly exceeds one of the limits of length.

    Only a text without any literal is compared with `max_template`; see `check_template`.
    """
    if len(text) > limits.max_characters:
        problem = (
            f"a predicate may have at most {limits.max_characters:,} characters, got {len(text):,}"
        )
        raise PredicateError(problem, text[:200])
    if not _LITERAL_SIGN.search(text):
        check_template(text, len(text), 0, limits)


_LITERAL_SIGN = re.compile(r"""['"0-9]""")  # every literal has one of these characters


def check_template(text: str, length: int, slots: int, limits: PredicateLimits) -> None:
    """Raise PredicateError if a template is too long or has too many slots.

    `length` is the number of characters of the text without its literals.
    """
    if length > limits.max_template:
        problem = (
            f"a predicate may have at most {limits.max_template:,} characters besides its "
            f"literals, got {length:,}"
        )
    elif slots > _MAX_SLOTS:
        problem = f"a predicate may have at most {_MAX_SLOTS:,} literals, got {slots:,}"
    else:
        return
    raise PredicateError(problem, text[:200], 0, "split it into several predicates")


_MAX_SLOTS = 99_999  # a slot has five digits


def _replace_literals(text: str) -> tuple[str, tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """Return a text with slots in place of literals, and the literals.

    The third and the fourth result are `_starts` and `_shifts` of `PredicateTree`.
    """
    pieces: list[str] = []
    raws: list[str] = []
    starts, shifts = [0], [0]
    length = end = 0
    for match in literals.iterate_tokens(text):
        raw = match.group()
        between = text[end : match.start()]
        token = raw if raw[0] == "`" else _slot_token(raw, len(raws))
        if raw[0] != "`":
            raws.append(raw)
        pieces += [between, token]
        length += len(between) + len(token)
        end = match.end()
        starts += [length - len(token), length]
        shifts += [match.start() - (length - len(token)), end - length]
    pieces.append(text[end:])
    return "".join(pieces), tuple(raws), tuple(starts), tuple(shifts)


def _slot_token(raw: str, slot: int) -> str:
    """Return the token that replaces a literal; like the literal, it is a list, text or number."""
    name = f"77{slot:05d}77"
    if raw[0] == "(":
        return f"({name})"
    return f"'{name}'" if raw[0] in "'\"" else name


_TYPE_BRACKET = re.compile(r"\b(?:array|map|struct)\s*<|>", re.IGNORECASE)
_MAX_TYPE_DEPTH = 16  # the parser and Spark take seconds to read a type nested a hundred deep


def _check_depth(tree: PredicateTree, sql: str, limits: PredicateLimits) -> None:
    """Raise PredicateError if brackets or types are nested too deeply."""
    depth = 0
    for i, character in enumerate(sql):
        depth += (character in "([{") - (character in ")]}")
        if depth > limits.max_depth:
            raise PredicateError(
                "the predicate is nested too deeply",
                tree.text,
                tree.source_offset(i),
                "use fewer parentheses",
            )
    depth = 0
    for bracket in _TYPE_BRACKET.finditer(sql):
        depth = max(depth - 1, 0) if bracket.group() == ">" else depth + 1
        if depth > _MAX_TYPE_DEPTH:
            offset = tree.source_offset(bracket.start())
            raise PredicateError(
                "the predicate is nested too deeply", tree.text, offset, "CAST to a simpler type"
            )


_FLAT = (exp.Paren, exp.Column, exp.Dot, exp.DataType, exp.Identifier)
"""Nodes that do not count as a level of nesting."""


def _check_nesting(tree: PredicateTree, limits: PredicateLimits) -> None:
    """Raise PredicateError if operators are nested too deeply.

    The time of Spark's analyzer is at least quadratic in the depth. A chain of ANDs, or a chain of
    ORs, counts as one level inside another expression. ANDs and ORs do not count if only AND, OR,
    NOT and parentheses are above them.
    """
    stack = [(tree.root, -1, True)]  # a condition itself does not count
    while stack:
        node, depth, is_condition = stack.pop()
        is_chain = isinstance(node, exp.And | exp.Or)
        is_condition = is_condition and (is_chain or isinstance(node, exp.Not | exp.Paren))
        parent = node.parent
        is_counted = not (
            (is_chain and (is_condition or type(parent) is type(node)))
            or isinstance(node, _FLAT)
            or (isinstance(node, exp.If) and isinstance(parent, exp.Case))
        )
        children = list(node.iter_expressions())
        depth += is_counted and bool(children)
        if depth > limits.max_depth:
            raise tree.error("the predicate is nested too deeply", node, "use fewer operators")
        stack += [(child, depth, is_condition) for child in children]


_FORBIDDEN_CHARACTERS = re.compile(r"[;{}#$@]|/\*")


def _check_characters(text: str) -> None:
    """Raise PredicateError if a text has a forbidden character outside of its literals.

    sqlglot would accept some of these characters.
    """
    match = _FORBIDDEN_CHARACTERS.search(literals.blank_literals(text))
    if match:
        mistake = common_mistakes.diagnose_character(text, match.start())
        raise PredicateError(mistake.problem, text, mistake.offset, mistake.hint)


_ENDS_VALUE = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN,
     TokenType.R_BRACKET, TokenType.RAW_STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE}
)  # fmt: skip
"""Types of tokens that can end a value. A plus after such a token is an addition."""


def _check_counts(tree: PredicateTree, tokens: Sequence[Token]) -> None:
    """Raise PredicateError for a missing ) or AND, which sqlglot would silently add."""
    counts = Counter(token.token_type for token in tokens)
    if counts[TokenType.L_PAREN] > counts[TokenType.R_PAREN]:
        mistake = common_mistakes.find_unbalanced(tree.text)
        offset = mistake.offset if mistake else 0
        raise PredicateError("a closing parenthesis is missing", tree.text, offset, "write )")
    if counts[TokenType.BETWEEN] > counts[TokenType.AND]:
        start = next(token.start for token in tokens if token.token_type is TokenType.BETWEEN)
        hint = "write BETWEEN 5 AND 10"
        raise PredicateError(
            "BETWEEN has no AND after it", tree.text, tree.source_offset(start), hint
        )


def _check_signs(tree: PredicateTree, tokens: Sequence[Token]) -> None:
    """Raise PredicateError for tokens that sqlglot and Spark read differently.

    These are IN with square brackets, commas without a value before or after them, ISNULL and
    NOTNULL after a value, and a plus that is neither an addition nor the sign of a number without a
    cast. sqlglot drops such a plus, whereas Spark casts the operand to a number.
    """
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        is_call = after is not None and after.token_type is TokenType.L_PAREN
        if token.token_type is TokenType.IN and after and after.token_type is TokenType.L_BRACKET:
            offset = tree.source_offset(after.start)
            raise PredicateError("a list needs parentheses", tree.text, offset, "write IN (1, 2)")
        opens = token.token_type in (TokenType.COMMA, TokenType.L_PAREN)
        closes = after is not None and after.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        is_empty_pair = (
            token.token_type is TokenType.L_PAREN
            and after
            and after.token_type is TokenType.R_PAREN
        )
        if opens and closes and not is_empty_pair:
            offset = tree.source_offset(token.start)
            problem = "a value is missing before or after a comma"
            raise PredicateError(
                problem, tree.text, offset, "write the value, or leave the comma out"
            )
        if token.token_type in (TokenType.ISNULL, TokenType.NOTNULL) and not is_call:
            hint = "write IS NULL" if token.token_type is TokenType.ISNULL else "write IS NOT NULL"
            offset = tree.source_offset(token.start)
            raise PredicateError(f"{token.text} is not an operator", tree.text, offset, hint)
    around = [None, *tokens, None, None]
    for before, plus, after, following in zip(around, tokens, around[2:], around[3:], strict=False):
        if plus.token_type is not TokenType.PLUS or (before and before.token_type in _ENDS_VALUE):
            continue
        is_cast = following is not None and following.token_type is TokenType.DCOLON
        if after is None or after.token_type is not TokenType.NUMBER or is_cast:
            offset = tree.source_offset(plus.start)
            raise PredicateError(
                "this + has no value before it", tree.text, offset, "leave the + out"
            )


def _bind_minus_signs(tokens: Sequence[Token], root: exp.Expr) -> exp.Expr:
    """Return a tree in which a minus sign is part of the number after it, as in `-128::TINYINT`.

    Spark casts the number -128. sqlglot negates the cast of 128; Spark does so only if the operand
    of the minus is not a number.
    """
    numbers = {
        number.text
        for minus, number, colons in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if minus.token_type is TokenType.DASH
        and number.token_type is TokenType.NUMBER
        and colons.token_type is TokenType.DCOLON
    }
    for literal in list(root.find_all(exp.Literal)) if numbers else ():
        if literal.this not in numbers:
            continue
        cast: exp.Expr = literal
        while isinstance(cast.parent, exp.Cast):
            cast = cast.parent
        minus = cast.parent
        if not isinstance(minus, exp.Neg):
            continue  # the minus is a subtraction
        number = literal.copy()
        if minus is root:
            root = cast.pop()
        else:
            minus.replace(cast)
        literal.replace(exp.Neg(this=number))
    return root


_TYPES = frozenset(
    {"array", "bigint", "binary", "boolean", "byte", "date", "dec", "decimal", "double", "float",
     "int", "integer", "interval", "long", "map", "numeric", "real", "short", "smallint", "string",
     "struct", "time", "timestamp", "timestamp_ltz", "timestamp_ntz", "tinyint", "variant", "void"}
)  # fmt: skip
_SIZED_TYPES = frozenset(
    {"char", "character", "dec", "decimal", "geography", "geometry", "numeric", "time", "varchar"}
)
_TYPES_WITH_LENGTH = frozenset({"char", "character", "varchar"})
"""Types that Spark does not have without a length."""


def _check_types(tree: PredicateTree, tokens: Sequence[Token]) -> None:
    """Raise PredicateError for casts that sqlglot and Spark read differently.

    sqlglot accepts names of types that Spark does not have. In `DATE '2024-05-31'::STRING`, sqlglot
    first casts the text to STRING, and then the result to DATE.
    """
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        is_text = token.token_type in (TokenType.STRING, TokenType.RAW_STRING)
        is_cast = after is not None and after.token_type is TokenType.DCOLON
        if is_text and is_cast and before.text.lower() in _TYPES:
            raise PredicateError(
                f"it is not clear whether {before.text} or :: comes first",
                tree.text, tree.source_offset(before.start),
                f"write ({before.text.upper()} '…')::STRING",
            )  # fmt: skip
        if before.token_type not in (TokenType.ALIAS, TokenType.DCOLON):
            continue
        is_sized = after is not None and after.token_type is TokenType.L_PAREN
        if not is_sized and token.text.lower() in _TYPES_WITH_LENGTH:
            raise PredicateError(
                f"{token.text} needs a length", tree.text, tree.source_offset(token.start),
                "CAST to string",
            )  # fmt: skip
        if token.text.lower() not in (_SIZED_TYPES if is_sized else _TYPES):
            size = "(…)" if is_sized else ""
            raise PredicateError(
                f"Spark has no type {token.text}{size}", tree.text, tree.source_offset(token.start)
            )


_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_RANGE_CONDITIONS = (exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Escape)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)


def _check_precedence(tree: PredicateTree) -> None:
    """Raise PredicateError if Spark and sqlglot may give operators a different precedence.

    With parentheses, the order is explicit, and no error is raised.
    """
    conditions = (*_COMPARISONS, *_RANGE_CONDITIONS, exp.Not)
    for node in tree.root.walk():
        if isinstance(node, (*_COMPARISONS, *_RANGE_CONDITIONS)):
            unclear = any(
                isinstance(child, conditions)
                for child in node.iter_expressions()
                if not (isinstance(node, exp.Escape) and isinstance(child, exp.Like | exp.ILike))
            )
        else:
            unclear = isinstance(node, exp.DPipe) and any(
                isinstance(child, _ARITHMETIC) for child in node.iter_expressions()
            )
        if unclear:
            raise _make_precedence_error(tree, node)


def _make_precedence_error(tree: PredicateTree, node: exp.Expr) -> PredicateError:
    """Return the error of operators in an unclear order.

    A common cause is that `||`, `|` or `&` was written for OR or AND.
    """
    inner = [child for child in node.iter_expressions() if isinstance(child, _COMPARISONS)]
    if not isinstance(node, _COMPARISONS) or not inner:
        return tree.error("it is not clear which operator comes first", node, "use parentheses")
    for sign, effect, word in (
        ("||", "joins texts", "OR"), ("|", "works on bits", "OR"), ("&", "works on bits", "AND")
    ):  # fmt: skip
        if sign in common_mistakes.mask_literals(tree.text):
            problem = f"{sign} {effect}, not conditions"
            return tree.error_at_pattern(re.escape(sign), problem, hint=f"write {word}")
    return tree.error(
        "comparisons cannot be chained", node, "write 1 < x AND x < 5, or x BETWEEN 1 AND 5"
    )


def _explain_parse_error(tree: PredicateTree, sql: str, error: ParseError) -> PredicateError:
    """Return an error that describes a text that sqlglot cannot parse, without sqlglot's terms."""
    text = tree.text
    mistake = (
        common_mistakes.find_common_mistake(text)
        or common_mistakes.find_unbalanced(text)
        or _diagnose_stop(tree, sql, error)
    )
    return PredicateError(mistake.problem, text, mistake.offset, mistake.hint)


def _diagnose_stop(tree: PredicateTree, sql: str, error: ParseError) -> common_mistakes.Mistake:
    """Return the mistake that is probable at the position at which sqlglot stopped."""
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line") or 1, details.get("col") or 1
    token = str(details.get("highlight") or "")
    lines = sql.split("\n")
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + max(0, column - len(token))
    offset = min(offset, len(sql))
    is_end = offset + len(token) >= len(sql.rstrip())
    if "Unexpected token" not in str(details.get("description")) and is_end:
        return common_mistakes.diagnose_early_end(tree.text)
    name = "a literal" if _SLOT.search(token) else token
    return common_mistakes.diagnose_misplaced(tree.text, tree.source_offset(offset), name)
