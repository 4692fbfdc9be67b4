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
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from covey.errors import PredicateError
from covey.language.diagnostics import common_mistakes
from covey.language.syntax.ast_utils import BITWISE
from covey.language.syntax.type_parser import RefusedSyntaxError, TypeParser
from covey.language.values import literals
from covey.space.limits import PredicateLimits

__all__ = ["PredicateTree", "check_length", "check_template", "parse_tree"]


class _Parser(TypeParser):
    """sqlglot's parser for Spark, with Spark's precedence and literals of intervals.

    It has no function classes: every call is `Anonymous`, also if its arguments are separated by
    words, as in `substring(title FROM 1 FOR 3)`. Only CAST, EXTRACT, IF and CASE have classes. A
    function without parentheses, such as `current_date`, is a column, because it may be one.

    Some methods, of sqlglot too, parse an operand and then go back to read the same tokens in
    another way. `_operands` keeps each operand that was parsed, by its first token, so that nested
    operands are not parsed again and again: the time would double with each level.
    """

    FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        "CAST": lambda self: self._end_call(self._parse_cast(strict=True)),
        "TRY_CAST": lambda self: self._end_call(self._parse_cast(strict=False, safe=True)),
        "EXTRACT": lambda self: self._end_call(self._parse_extract_call()),
        "TRIM": lambda self: self._end_call(self._parse_trim_call()),
        "SUBSTR": lambda self: self._end_call(self._parse_worded_call("substr", "FROM", "FOR")),
        "SUBSTRING": lambda self: self._end_call(
            self._parse_worded_call("substring", "FROM", "FOR")
        ),
        "POSITION": lambda self: self._end_call(self._parse_worded_call("position", "IN")),
        "OVERLAY": lambda self: self._end_call(
            self._parse_worded_call("overlay", "PLACING", "FROM", "FOR")
        ),
        "DATE_ADD": lambda self: self._end_call(self._parse_unit_call("date_add")),
        "DATE_DIFF": lambda self: self._end_call(self._parse_unit_call("date_diff")),
        "DATEADD": lambda self: self._end_call(self._parse_unit_call("dateadd")),
        "DATEDIFF": lambda self: self._end_call(self._parse_unit_call("datediff")),
        "TIMESTAMPADD": lambda self: self._end_call(self._parse_unit_call("timestampadd")),
        "TIMESTAMPDIFF": lambda self: self._end_call(self._parse_unit_call("timestampdiff")),
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
    }
    NO_PAREN_FUNCTIONS = {}  # noqa: RUF012
    ARRAY_CONSTRUCTORS = {}  # noqa: RUF012
    LAMBDAS = {  # noqa: RUF012
        TokenType.ARROW: lambda self, names: self._parse_lambda_body(names)
    }
    STRICT_CAST = True

    def _warn_unsupported(self) -> None:
        """Log no warning: `check_admitted` refuses what is outside the language."""

    def reset(self) -> None:
        """Forget the text that was parsed before."""
        super().reset()
        self._operands: dict[int, tuple[exp.Expr, int]] = {}
        self._returned_tokens = 0

    def _retreat(self, index: int) -> None:
        """Go back to a token; refuse a text that would be read too many times."""
        self._returned_tokens += max(self._index - index, 0)
        if self._returned_tokens > _MAX_READINGS * len(self._tokens) + _MAX_READINGS:
            raise RecursionError
        super()._retreat(index)

    def _parse_bitwise(self) -> exp.Expr | None:
        """Return a chain of operators that bind less tightly than * and /."""
        start = self._index
        if start in self._operands:
            operand, stop = self._operands[start]
            self._advance(stop - start)
            return operand
        chain = self._parse_chain(len(_LEVELS) - 1)
        if chain is not None:
            self._operands[start] = chain, self._index
        return chain

    def _parse_operand(self) -> exp.Expr:
        """Return a chain of operators as in `_parse_bitwise`; refuse a text that has none here."""
        operand = self._parse_bitwise()
        if operand is None:
            word = self._prev.text.upper()
            self._refuse(f"a value is missing after {word}", "write the value")
        return operand

    def _parse_chain(self, loosest: int) -> exp.Expr | None:
        """Return a chain of operators of the levels up to `loosest`, a position in `_LEVELS`."""
        left = self._parse_factor()
        while left is not None and (found := self._match_operator(loosest)) is not None:
            level, operator = found
            right = self._parse_chain(level - 1)
            if right is None:
                self.raise_error("a value is missing after an operator")
            left = self.expression(
                exp.Anonymous(this=operator, expressions=[left, right])
                if isinstance(operator, str)
                else operator(this=left, expression=right)
            )
        return left

    def _match_operator(self, loosest: int) -> tuple[int, type[exp.Expr] | str] | None:
        """Consume the next operator of the levels up to `loosest`; return its level and itself."""
        for level in range(loosest + 1):
            for types, operator in _LEVELS[level].items():
                tokens = self._tokens[self._index : self._index + len(types)]
                is_joined = all(a.end + 1 == b.start for a, b in pairwise(tokens))
                if is_joined and tuple(token.token_type for token in tokens) == types:
                    self._advance(len(types))
                    return level, operator
        return None

    def _parse_unary(self) -> exp.Expr | None:
        """Return an operand with its sign and its collation."""
        if self._match_pair(TokenType.VAR, TokenType.STRING, advance=False) and (
            self._curr.text in ("x", "X")
        ):
            node: exp.Expr | None = exp.HexString(this=self._next.text)
            self._advance(2)
        elif (
            self._curr
            and self._curr.token_type in _FUNCTION_WORDS
            and (self._next and self._next.token_type is TokenType.L_PAREN)
        ):
            name = self._curr.text
            self._advance(2)
            node = exp.Anonymous(this=name, expressions=self._parse_function_args())
            self._match_r_paren(node)
        else:
            node = super()._parse_unary()
        while node is not None and self._match(TokenType.COLLATE):
            if not self._curr or self._curr.token_type in _LITERAL_TOKENS:
                self._refuse("the name of a collation is missing", "write COLLATE UTF8_LCASE")
            collation = self._parse_id_var()
            node = self.expression(exp.Collate(this=node, expression=collation))
        return node

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Interval | None:
        """Return a literal of an interval, or None if there is none.

        The node has the literal of each part with its unit, for example of 1 DAY and of 2 HOURS.
        """
        start = self._index
        if not self._match(TokenType.INTERVAL):
            return None
        parts: list[exp.Expr] = []
        while (part := self._parse_interval_part(is_first=not parts)) is not None:
            parts.append(part)
        if not parts:
            self._retreat(start)
            return None
        return self.expression(exp.Interval(this=exp.Tuple(expressions=parts)))

    def _parse_interval_part(self, is_first: bool) -> exp.Expr | None:
        """Return a literal with its unit, or None; only a text that is the first has no unit."""
        start = self._index
        is_negative = self._match(TokenType.DASH)
        is_signed = is_negative or self._match(TokenType.PLUS)
        is_literal = self._match_set((TokenType.NUMBER, TokenType.STRING))
        value: exp.Expr = exp.Literal(
            this=self._prev.text, is_string=self._prev.token_type is TokenType.STRING
        )
        unit = self._curr.text.upper() if is_literal and self._curr else ""
        if unit in _UNITS:
            self._advance()
            if self._match_text_seq("TO"):
                last_unit = self._curr.text.upper() if self._curr else ""
                if last_unit not in _UNITS:
                    self._refuse("a unit of time is missing after TO", "write YEAR TO MONTH")
                unit = f"{unit} TO {last_unit}"
                self._advance()
        elif not (is_literal and is_first and value.is_string and not is_signed):
            self._retreat(start)
            return None
        else:
            unit = ""
        if is_negative:
            value = exp.Neg(this=value)
        return self.expression(exp.Interval(this=value, unit=exp.var(unit) if unit else None))

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        """Return an operand, with the IN, LIKE, BETWEEN or IS after it; only one may follow."""
        this = this or self._parse_bitwise()
        if this is None or (not parse_is and self._is_predicate_ahead()):
            return this
        is_negated = self._match(TokenType.NOT)
        is_condition = not (is_negated and self._match(TokenType.IS, advance=False))
        if not is_condition or not self._match_set(self.RANGE_PARSERS):
            if is_negated:
                self._retreat(self._index - 1)
            return this
        condition = self.RANGE_PARSERS[self._prev.token_type](self, this)
        if is_negated:
            condition = self._negate_range(condition)
        if self._curr and self._curr.token_type in _CONDITION_TOKENS:
            self._refuse("it is not clear which operator comes first", "use parentheses")
        return condition  # type: ignore[no-any-return]

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        """Return a BETWEEN, after that word."""
        is_symmetric = self._match_text_seq("SYMMETRIC")
        low = self._parse_bitwise()
        if low is None or not self._match(TokenType.AND):
            self.raise_error("Expecting AND")
        high = self._parse_operand()
        node = exp.Between(this=this, low=low, high=high, symmetric=is_symmetric or None)
        return self.expression(node)

    def _parse_case(self) -> exp.Expr | None:
        """Return a CASE, after that word."""
        is_searched = self._match(TokenType.WHEN, advance=False)
        subject = None if is_searched else self._parse_disjunction()
        branches = []
        while self._match(TokenType.WHEN):
            test = self._parse_disjunction()
            if test is None or not self._match(TokenType.THEN):
                self.raise_error("Expecting THEN")
            branches.append(self.expression(exp.If(this=test, true=self._parse_result())))
        default = self._parse_result() if self._match(TokenType.ELSE) else None
        if not branches or not self._match(TokenType.END):
            self.raise_error("Expecting END")
        return self.expression(exp.Case(this=subject, ifs=branches, default=default))

    def _parse_result(self) -> exp.Expr:
        """Return the expression after THEN or ELSE; refuse a text that has none here."""
        result = self._parse_disjunction()
        if result is None:
            self.raise_error(f"Expecting a value after {self._prev.text}")
        return result  # type: ignore[return-value]

    def _parse_if(self) -> exp.Expr | None:
        """Return a call of IF, after that word, or None if no call follows."""
        if self._match(TokenType.L_PAREN, advance=False):
            return super()._parse_if()
        self._retreat(self._index - 1)
        return None

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        """Return an expression; refuse the word AS after it."""
        if self._match(TokenType.ALIAS, advance=False):
            self.raise_error("Unexpected token")
        return super()._parse_alias(this, explicit)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        """Return an argument of a call; refuse the word ALL, which sqlglot would leave out."""
        if self._match(TokenType.ALL, advance=False):
            self._refuse("ALL is not allowed here", "leave it out")
        return super()._parse_lambda(alias)

    def _parse_lambda_body(self, variables: list[exp.Expr]) -> exp.Expr:
        """Return a lambda function, after the arrow."""
        is_list = self._tokens[self._index - 2].token_type is TokenType.R_PAREN
        if is_list and len(variables) < 2:
            self._refuse("one variable is written without parentheses", "write x -> x > 5")
        body = self._parse_disjunction()
        if body is None:
            self._refuse("a value is missing after ->", "write x -> x > 5")
        return self.expression(exp.Lambda(this=body, expressions=variables))

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Return an expression with the indices in brackets after it, one in each pair."""
        while this is not None and self._match(TokenType.L_BRACKET):
            index = self._parse_disjunction()
            if index is None:
                self._refuse("an index is missing in [ ]", "write one index")
            if self._match(TokenType.COMMA, advance=False):
                self._refuse("[ ] takes only one index", "write one index")
            if not self._match(TokenType.R_BRACKET):
                self.raise_error("Expected ]")
            this = self.expression(exp.Bracket(this=this, expressions=[index]))
        return super()._parse_bracket(this)

    def _parse_unit_call(self, name: str) -> exp.Expr:
        """Return a call that, if it has three arguments, begins with the name of a unit of time."""
        unit, after = self._curr, self._next
        arguments: list[Any] = self._parse_function_args()
        if len(arguments) == 3:
            word = unit.text.upper() if unit.token_type is not TokenType.IDENTIFIER else ""
            if word not in _CALL_UNITS or after.token_type is not TokenType.COMMA:
                problem = f"the first of three arguments of {name} must be a unit of time"
                raise RefusedSyntaxError(problem, unit.start, f"write {name}(DAY, …)")
            arguments[0] = exp.var(word)
        return exp.Anonymous(this=name, expressions=arguments)

    def _end_call(self, call: exp.Expr) -> exp.Expr:
        """Return a call after which the closing parenthesis follows; refuse any other text."""
        if not self._match(TokenType.R_PAREN, advance=False):
            self.raise_error("Expecting )")
        return call

    def _parse_extract_call(self) -> exp.Expr:
        """Return the node of EXTRACT, whose first argument is the name of a field."""
        if self._curr.token_type is TokenType.VAR and self._next.token_type is TokenType.FROM:
            field = self._curr.text.upper()
            self._advance(2)
            return self.expression(
                exp.Extract(this=exp.var(field), expression=self._parse_operand())
            )
        return exp.Anonymous(this="extract", expressions=self._parse_function_args())

    def _parse_trim_call(self) -> exp.Expr:
        """Return the call that is equivalent to TRIM with BOTH, LEADING or TRAILING."""
        side, start = "BOTH", self._index
        if self._match_texts(_TRIM_FUNCTIONS):
            side = self._prev.text.upper()
        is_from = self._match(TokenType.FROM, advance=False)
        characters = None if is_from else self._parse_bitwise()
        if not self._match(TokenType.FROM):
            self._retreat(start)
            return exp.Anonymous(this="trim", expressions=self._parse_function_args())
        text = self._parse_operand()
        if side == "BOTH":
            arguments = [text] if characters is None else [text, characters]
        else:
            arguments = [text] if characters is None else [characters, text]
        return exp.Anonymous(this=_TRIM_FUNCTIONS[side], expressions=arguments)

    def _parse_worded_call(self, name: str, *words: str) -> exp.Expr:
        """Return a call whose arguments are separated by commas, or by these words in turn.

        Only the word FOR and the argument after it may be left out.
        """
        start = self._index
        arguments: list[Any] = [self._parse_bitwise()]
        if arguments[0] is None or not self._match_text_seq(words[0], advance=False):
            self._retreat(start)
            return exp.Anonymous(this=name, expressions=self._parse_function_args())
        for word in words:
            if self._match_text_seq(word):
                arguments.append(self._parse_operand())
            elif word != "FOR":
                self._refuse(f"{word} is missing in {name.upper()}", f"write {word} and a value")
        return exp.Anonymous(this=name, expressions=arguments)


_CONDITION_TOKENS = frozenset(
    {*SparkParser.EQUALITY, *SparkParser.COMPARISON, *SparkParser.RANGE_PARSERS}
)
"""Tokens of comparisons, and of conditions such as IN and LIKE."""

_LITERAL_TOKENS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})

_MAX_READINGS = 50
"""How often the parser may read a text; it reads a token of an ordinary predicate two or three
times."""

_LEVELS: list[dict[tuple[TokenType, ...], type[exp.Expr] | str]] = [
    {(TokenType.PLUS,): exp.Add, (TokenType.DASH,): exp.Sub, (TokenType.DPIPE,): exp.DPipe},
    {
        (TokenType.LT, TokenType.LT): "shiftleft",
        (TokenType.GT, TokenType.GT, TokenType.GT): "shiftrightunsigned",
        (TokenType.GT, TokenType.GT): "shiftright",
    },
    {(TokenType.AMP,): exp.BitwiseAnd},
    {(TokenType.CARET,): exp.BitwiseXor},
    {(TokenType.PIPE,): exp.BitwiseOr},
]
"""Operators that bind less tightly than * and /, by their tokens; later levels bind less tightly.

Each has the class of its node, or the name of the function that it stands for.
"""

_UNITS = frozenset(
    f"{unit}{ending}"
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND",
                 "MICROSECOND", "NANOSECOND")
    for ending in ("", "S")
)  # fmt: skip
"""Units of intervals."""

_CALL_UNITS = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND",
     "MILLISECOND", "MICROSECOND"}
)  # fmt: skip
"""Units of calls such as `datediff(DAY, a, b)`."""

_FUNCTION_WORDS = frozenset({TokenType.BETWEEN, TokenType.IN, TokenType.WHEN})
"""Words that, in place of an operand and before a parenthesis, are names of functions."""

_TRIM_FUNCTIONS = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}
"""By the side of a TRIM, the function that it stands for."""


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
    `typed_literals` contains the slots of literals after the name of a type, as in
    `DATE '2024-05-31'`.
    """

    text: str
    root: exp.Expr
    raws: tuple[str, ...]
    _starts: tuple[int, ...]
    _shifts: tuple[int, ...]
    typed_literals: frozenset[int] = frozenset()

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
    except RefusedSyntaxError as error:
        mistake = common_mistakes.find_unbalanced(text) or common_mistakes.Mistake(
            error.problem, tree.source_offset(min(error.offset, len(sql))), error.hint
        )
        raise PredicateError(mistake.problem, text, mistake.offset, mistake.hint) from None
    except TokenError:
        mistake = common_mistakes.diagnose_unclosed(text)
        raise PredicateError(mistake.problem, text, mistake.offset, mistake.hint) from None
    except RecursionError:
        raise PredicateError(
            "the predicate is nested too deeply", text, 0, "use fewer parentheses"
        ) from None
    except (SqlglotError, ValueError, AttributeError, TypeError, KeyError, IndexError):
        raise PredicateError(
            "this is not a Spark SQL predicate", text, 0, "write one condition such as price > 5"
        ) from None
    if len(roots) != 1 or roots[0] is None:
        raise PredicateError(
            "this is not a Spark SQL predicate", text, 0, "write one condition such as price > 5"
        )
    _check_names(tree, roots[0])
    _check_counts(tree, tokens)
    _check_literal_casts(tree, tokens)
    root = _bind_minus_signs(tokens, roots[0])
    tree = replace(tree, root=root, typed_literals=_find_typed_literals(tokens))
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
        raise PredicateError(problem, text[:200], 0, "split it into several predicates")
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


def _check_names(tree: PredicateTree, root: exp.Expr) -> None:
    """Raise PredicateError if a literal is in place of a name, as in `payload.'user'`."""
    for column in root.find_all(exp.Column):
        if not all(isinstance(part, exp.Identifier) for part in column.parts):
            raise tree.error("a literal cannot be a name", column, "write the name in backticks")


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
            "every BETWEEN needs AND between its ends", tree.text, tree.source_offset(start), hint
        )


def _check_signs(tree: PredicateTree, tokens: Sequence[Token]) -> None:
    """Raise PredicateError for tokens that sqlglot and Spark read differently.

    These are ! in place of the NOT of a condition, IN with square brackets, commas without a value
    before or after them, ISNULL and NOTNULL after a value, and a plus that is neither an addition
    nor the sign of a number without a cast. sqlglot drops such a plus, whereas Spark casts the
    operand to a number.
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
    for before, sign, condition in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_condition = before.token_type is TokenType.IS or (
            before.token_type in _ENDS_VALUE and condition.token_type in SparkParser.RANGE_PARSERS
        )
        if (sign.token_type, sign.text) == (TokenType.NOT, "!") and is_condition:
            offset = tree.source_offset(sign.start)
            raise PredicateError("! is not allowed here", tree.text, offset, "write NOT")
    around = [None, *tokens, None, None]
    for left, plus, after, following in zip(around, tokens, around[2:], around[3:], strict=False):
        if plus.token_type is not TokenType.PLUS or (left and left.token_type in _ENDS_VALUE):
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


_LITERAL_WORDS = frozenset(
    {"binary", "date", "interval", "time", "timestamp", "timestamp_ltz", "timestamp_ntz"}
)
"""Words that begin a literal if a text follows."""


def _find_typed_literals(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the slots of the literals after the name of a type, as in `DATE '2024-05-31'`."""
    slots = (
        _SLOT.fullmatch(token.text)
        for before, token in pairwise(tokens)
        if token.token_type is TokenType.STRING and before.text.lower() in _LITERAL_WORDS
    )
    return frozenset(int(slot.group(1)) for slot in slots if slot is not None)


def _check_literal_casts(tree: PredicateTree, tokens: Sequence[Token]) -> None:
    """Raise PredicateError for casts such as `DATE '2024-05-31'::STRING`.

    Spark casts the date to STRING. sqlglot first casts the text to STRING, and then to DATE.
    """
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_text = token.token_type in (TokenType.STRING, TokenType.RAW_STRING)
        is_cast = after.token_type is TokenType.DCOLON
        if is_text and is_cast and before.text.lower() in _LITERAL_WORDS:
            raise PredicateError(
                f"it is ambiguous whether {before.text} or :: is applied to the text first",
                tree.text, tree.source_offset(before.start),
                f"write ({before.text.upper()} '…')::STRING",
            )  # fmt: skip


_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_RANGE_CONDITIONS = (exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Escape)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)

_TIGHT_OPERATORS: tuple[type[exp.Expr], ...] = (
    exp.Neg, exp.BitwiseNot, exp.DPipe, exp.Bracket, *BITWISE, *_ARITHMETIC,
)  # fmt: skip
"""Operators that bind more tightly than NOT."""


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
            inner: tuple[type[exp.Expr], ...] = (exp.Not,)
            if isinstance(node, exp.DPipe):
                inner = (exp.Not, *_ARITHMETIC)
            elif isinstance(node, exp.Bracket):
                inner = (exp.Not, exp.And, exp.Or)
            unclear = isinstance(node, _TIGHT_OPERATORS) and any(
                isinstance(child, inner) for child in node.iter_expressions()
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
