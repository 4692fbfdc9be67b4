"""Compiler of conditions on tags: `array_contains` and `arrays_overlap` with literal tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from covey.language.compile.atoms import Dnf, TagTokens
from covey.language.compile.cache_keys import list_key
from covey.language.compile.operands import Operands
from covey.language.syntax.ast_utils import call_name, unwrap_parentheses
from covey.language.values import literals
from covey.language.values.literal_columns import WHOLE_LIST, LiteralRef
from covey.space.types import STRING, VOID

__all__ = ["tag_condition"]


def tag_condition(
    operands: Operands, name: str, arguments: Sequence[exp.Expr], outcome: bool
) -> Dnf | None:
    """Return the events on which a call has the given outcome.

    Return None if the call does not compare tags with literal tokens.

    Args:
        operands: the operands of the tree.
        name: `array_contains` or `arrays_overlap`.
        arguments: the two arguments of the call.
        outcome: the outcome, true or false.

    Raises:
        PredicateError: the tokens are not texts, or there are none.
    """
    subject, other = unwrap_parentheses(arguments[0]), unwrap_parentheses(arguments[1])
    if (
        name == "arrays_overlap"
        and not other.find(exp.Column)
        and not isinstance(other, exp.Anonymous)
    ):
        return None
    if name == "arrays_overlap" and not subject.find(exp.Column):
        subject, other = other, subject
    if not subject.find(exp.Column) or not operands.expressions.type_of(subject).is_tags:
        return None
    attribute = operands.expressions.resolve_attribute(subject)
    if name == "array_contains":
        literal = operands.read_literal(other)
        if literal is None or literal[1].type != STRING:
            return None
        ref = literal[0]
        return [
            (
                TagTokens(attribute, ((ref,),))
                if outcome
                else TagTokens(attribute, (), (ref,), whole=True),
            )
        ]
    if (
        not isinstance(other, exp.Anonymous)
        or call_name(other) != "array"
        or other.find(exp.Column)
    ):
        return None
    refs: list[LiteralRef] = []
    has_null = False
    for element in other.expressions:
        slot = operands.tree.slot_of(element) if isinstance(element, exp.Literal) else -1
        if slot >= 0 and operands.tree.raws[slot][0] == "(":
            if any(
                literals.literal_kind(raw) != "s"
                for raw in literals.split_list(operands.tree.raws[slot])
            ):
                raise operands.tree.error(
                    "tags can be compared only with texts", element, "write array('a', 'b')"
                )
            operands.cache_keys[slot] = list_key
            refs.append(LiteralRef(slot, WHOLE_LIST))
            continue
        literal = operands.read_literal(element)
        if literal is None or literal[1].type not in (STRING, VOID):
            return None
        has_null |= literal[1].value is None
        refs += [literal[0]] if literal[1].value is not None else []
    if not refs:
        raise operands.tree.error(
            "the array contains no token", other, "write at least one text in it"
        )
    if outcome:
        return [(TagTokens(attribute, (tuple(refs),)),)]
    return [(TagTokens(attribute, (), tuple(refs), whole=True, is_elementless=has_null),)]
