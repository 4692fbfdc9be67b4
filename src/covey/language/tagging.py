"""Conditions on tags: `array_contains` and `arrays_overlap` with literal tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from covey.language import literals
from covey.language.atoms import Tokens, Union
from covey.language.nodes import call_name, unwrapped
from covey.language.operands import Operands
from covey.language.shapes import list_shape
from covey.language.slots import WHOLE, Ref
from covey.space.types import STRING, VOID

__all__ = ["tagging"]


def tagging(
    operands: Operands, name: str, arguments: Sequence[exp.Expr], outcome: bool
) -> Union | None:
    """What a call asks of the tags; `None` if it is not about literal tokens."""
    subject, other = unwrapped(arguments[0]), unwrapped(arguments[1])
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
    attribute = operands.attribute(subject)
    if name == "array_contains":
        literal = operands.literal(other)
        if literal is None or literal[1].type != STRING:
            return None
        one = literal[0]
        return [
            (
                Tokens(attribute, ((one,),))
                if outcome
                else Tokens(attribute, (), (one,), whole=True),
            )
        ]
    if (
        not isinstance(other, exp.Anonymous)
        or call_name(other) != "array"
        or other.find(exp.Column)
    ):
        return None
    refs: list[Ref] = []
    has_null = False
    for element in other.expressions:
        slot = operands.tree.slot(element) if isinstance(element, exp.Literal) else -1
        if slot >= 0 and operands.tree.raws[slot][0] == "(":
            if any(
                literals.kind(raw) != "s" for raw in literals.elements(operands.tree.raws[slot])
            ):
                raise operands.tree.error(
                    "tags are compared with texts", element, "write array('a', 'b')"
                )
            operands.shapes[slot] = list_shape
            refs.append(Ref(slot, WHOLE))
            continue
        literal = operands.literal(element)
        if literal is None or literal[1].type not in (STRING, VOID):
            return None
        has_null |= literal[1].value is None
        refs += [literal[0]] if literal[1].value is not None else []
    if not refs:
        raise operands.tree.error(
            "an empty array overlaps nothing", other, "name at least one token"
        )
    if outcome:
        return [(Tokens(attribute, (tuple(refs),)),)]
    return [(Tokens(attribute, (), tuple(refs), whole=True, hollow=has_null),)]
