"""covey matches every event to every standing query that wants it, exactly."""

from typing import TYPE_CHECKING

from covey.lazily import lazily

if TYPE_CHECKING:
    from covey.errors import CoveyError, PredicateError, SpaceError, StoreError, ValueRefused
    from covey.language import Explanation, Parser, Predicates, explain, parse, render
    from covey.space import Attribute, Events, Settings, Space

__all__ = [
    "Attribute", "CoveyError", "Events", "Explanation", "Parser", "PredicateError", "Predicates",
    "Settings", "Space", "SpaceError", "StoreError", "ValueRefused", "explain", "parse", "render",
]  # fmt: skip

__version__ = "0.1.0"

_ERRORS = ("CoveyError", "PredicateError", "SpaceError", "StoreError", "ValueRefused")
_SPACE = ("Attribute", "Events", "Settings", "Space")
__getattr__ = lazily(
    __name__,
    dict.fromkeys(__all__, "language")
    | dict.fromkeys(_ERRORS, "errors")
    | dict.fromkeys(_SPACE, "space"),
)
