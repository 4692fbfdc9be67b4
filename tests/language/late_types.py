"""Types of expressions without Spark, for tests of late conditions."""

from __future__ import annotations

from collections.abc import Mapping

from covey.language.late_conditions import MARKER
from covey.language.semantics import TemplateFacts, split_expression
from covey.space.types import BOOLEAN, DOUBLE, INT, STRING, Type


class Types:
    """Stand-in for Spark's analyzer that knows the types of a few functions.

    Args:
        attributes: the expressions that are derived attributes.
        fixed: by template, the positions of the literals that cannot be parameters.
    """

    otherwise = None

    def __init__(
        self, *attributes: str, fixed: Mapping[str, tuple[int, ...]] | None = None
    ) -> None:
        self.facts: dict[str, TemplateFacts] = {}
        self.asked: list[str] = []
        self._attributes, self._fixed = set(attributes), dict(fixed or {})

    def find(self, template: str) -> TemplateFacts | None:
        return self.facts.get(template)

    def ask(self, expressions: Mapping[str, int]) -> None:
        for text in expressions:
            self.asked.append(text)
            template, literals = split_expression(text)
            always_fixed = tuple(i for i, c in enumerate(MARKER.findall(template)) if c == "x")
            fixed = self._fixed.get(template, always_fixed)
            known = self.facts.get(template, TemplateFacts(fixed))
            results = {**known.results, tuple(literals[i] for i in known.fixed): _type_of(text)}
            chosen = known.attributes | ({literals} if text in self._attributes else set())
            self.facts[template] = TemplateFacts(known.fixed, results, frozenset(chosen))


def _type_of(text: str) -> Type:
    if any(sign in text for sign in ("<", ">", "=", "LIKE", " IN ", "BETWEEN", " IS ")):
        return BOOLEAN
    return (
        INT if text.startswith(("levenshtein", "length")) else STRING if "lower" in text else DOUBLE
    )
