"""Predicates to regions, in batches.

Texts are cut into template and literals; a template that is a chain of ANDs into its conjuncts.
Each different piece is parsed once, and its literals are filled in for all texts that have it: a
million texts have few different conjuncts, though their combinations may be many. A single text is
a batch of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range, check_rows, format_value
from covey.errors import CompilerError, InvalidArgumentError, PredicateError, SchemaError
from covey.geometry import Regions
from covey.language.compile.cache_keys import CacheKey
from covey.language.compile.dnf import MAX_REGIONS, CompiledTemplate, compile_template
from covey.language.compile.region_builder import RegionBuilder
from covey.language.semantics.expression_types import ExpressionTypes, TypeAnalyzer
from covey.language.syntax.conjuncts import fill_template, split_conjuncts
from covey.language.syntax.grammar import check_length, check_template
from covey.language.values import literals
from covey.language.values.literal_columns import LiteralColumns, LocatedLiteralError
from covey.space import PredicateLimits, Space

__all__ = ["Parser", "Predicates", "parse"]

Rows = NDArray[np.int64]
_MAX_TYPE_ROUNDS = 5  # of questions to Spark; what an answer leads to is seldom asked about again


@dataclass(frozen=True, slots=True)
class Predicates:
    """Parsed predicates: their regions, and what became of each text.

    `regions` row r belongs to text `predicate_rows[r]` (ascending); a text that can never be true
    has no region and stands in `unsatisfiable`, one that cannot be read in `rejected` with its
    error. One that has no region yet, since the types of some expressions are not known, stands in
    `missing_types` with them.
    """

    space: Space
    count: int
    regions: Regions
    predicate_rows: Rows
    unsatisfiable: Rows
    rejected: dict[int, PredicateError]
    missing_types: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.count

    @check_arguments
    def to_predicate_rows(self, stored_rows: Rows) -> Rows:
        """The texts to which stored regions belong, by row: of `pairs.stored_rows`, say."""
        check_rows("stored_rows", stored_rows, len(self.predicate_rows))
        return self.predicate_rows[stored_rows]


def parse(
    space: Space,
    texts: Sequence[str],
    *,
    max_regions: int = MAX_REGIONS,
    types: ExpressionTypes | None = None,
) -> Predicates:
    """Return the regions of predicates; the first wrong one raises its `PredicateError`.

    If there are several predicates, the error names the row of the wrong one.

    What the regions contain is exactly what `events.where(text)` would keep, under the settings of
    the space. Use `Parser`, which has the same arguments, for many batches, or to collect errors
    instead.

    Cost: 10 µs or less a text where many share their conjuncts, about 0.3 ms where none do.

    >>> import pyarrow as pa
    >>> space = Space.from_types({"price": pa.float64(), "city": pa.string()})
    >>> texts = ["price > 5 AND city IN ('Rome', 'Oslo')", "price < 1 AND price > 2"]
    >>> predicates = parse(space, texts)
    >>> len(predicates.regions), predicates.unsatisfiable.tolist()
    (1, [1])
    """
    predicates = Parser(space, max_regions=max_regions, types=types).parse(texts)
    for row in sorted(predicates.rejected):
        error = predicates.rejected[row]
        raise error.with_row(row) if len(predicates) > 1 else error
    return predicates


@dataclass(slots=True)
class _TextGroup:
    """Texts that share a piece: their rows, and the piece's literals as columns, a slot each."""

    rows: list[int] = field(default_factory=list)
    columns: list[list[str]] = field(default_factory=list)

    def add(self, rows: list[int], columns: Sequence[list[str]]) -> None:
        if not self.rows:
            self.columns = [[] for _ in columns]
        self.rows += rows
        for known, new in zip(self.columns, columns, strict=True):
            known += new

    def take(self, chosen: Sequence[int]) -> _TextGroup:
        if len(chosen) == len(self.rows):
            return self
        return _TextGroup(
            [self.rows[i] for i in chosen], [[column[i] for i in chosen] for column in self.columns]
        )


class Parser:
    """Parses batches of predicates over one space and remembers their pieces.

    Not for use by several threads at once.

    Args:
        space: the attributes; derived ones are added as predicates need them.
        max_regions: regions that one predicate may have.
        max_templates: pieces that are remembered.
        types: whoever knows what Spark says of expressions; without it, some functions are known.
    """

    @check_arguments
    def __init__(
        self,
        space: Space,
        *,
        max_regions: int = MAX_REGIONS,
        max_templates: int = 10_000,
        types: ExpressionTypes | None = None,
    ) -> None:
        check_range("max_regions", max_regions, 1)
        check_range("max_templates", max_templates, 1)
        self.space = space
        self._max_regions, self._max_templates = max_regions, max_templates
        self._types = types
        self._cache_keys: dict[tuple[str, str], tuple[tuple[int, CacheKey], ...]] = {}
        self._compiled_templates: dict[tuple[object, ...], CompiledTemplate] = {}
        self._errors: dict[str, PredicateError] = {}

    def parse(self, texts: Sequence[str]) -> Predicates:
        """The regions of these texts; errors are collected in `rejected`.

        Derived attributes that the texts need are added to `space`, here and in the result.
        """
        texts = _check_texts(texts)
        parsed = self._parse_batch(texts)
        for _ in range(_MAX_TYPE_ROUNDS):
            if not parsed.missing_types or not isinstance(self._types, TypeAnalyzer):
                break
            missing = chain.from_iterable(parsed.missing_types.values())
            self._types.ask(list(dict.fromkeys(missing)))
            self._cache_keys.clear()
            self._compiled_templates.clear()
            parsed = self._parse_batch(texts)
        else:
            asked = parsed.missing_types if isinstance(self._types, TypeAnalyzer) else {}
            for row in asked:
                problem = "Spark cannot tell the type of an expression here"
                parsed.rejected[row] = PredicateError(problem, texts[row])
            asked.clear()
        return parsed

    def _parse_batch(self, texts: Sequence[str]) -> Predicates:
        """The regions of these texts; one on which covey fails is rejected by itself."""
        try:
            return self._parse_rows(texts, {})
        except Exception:  # of which nobody knows yet which texts are at fault
            return self._parse_rows(texts, self._find_failures(texts, range(len(texts))))

    def _find_failures(
        self, texts: Sequence[str], rows: Sequence[int]
    ) -> dict[int, PredicateError]:
        """Find the texts that cannot be parsed even by themselves, half by half.

        Cost: as much as to parse all of them, for each doubling of their number.
        """
        try:
            self._parse_rows([texts[row] for row in rows], {})
        except Exception as failure:
            if len(rows) == 1:
                return {rows[0]: CompilerError.from_failure(failure, texts[rows[0]])}
            half = len(rows) // 2
            found = self._find_failures(texts, rows[:half])
            return found | self._find_failures(texts, rows[half:])
        return {}

    def _parse_rows(self, texts: Sequence[str], failures: dict[int, PredicateError]) -> Predicates:
        """The regions of these texts but for those with a failure, which are rejected with it."""
        self._errors.clear()
        templates, rejected = _group_by_template(texts, self.space.limits, failures)
        pieces: dict[str, _TextGroup] = {}
        for template, group in templates.items():
            start = 0
            for piece in split_conjuncts(template):
                stop = start + piece.count(literals.SLOT_MARK)
                pieces.setdefault(piece, _TextGroup()).add(group.rows, group.columns[start:stop])
                start = stop
        assembly = RegionBuilder(len(texts))
        unfit: set[int] = set()
        missing: dict[int, tuple[str, ...]] = {}
        for piece, group in pieces.items():
            self._fill_conjunct(piece, group, assembly, unfit, missing)
        rejected |= self._parse_whole_texts(texts, templates, unfit, assembly, missing)
        missing = {row: names for row, names in missing.items() if row not in rejected}
        regions, of = assembly.build_regions(self.space, unfit, {*rejected, *missing})
        alive = np.zeros(len(texts), np.bool_)
        alive[of] = True
        alive[[*rejected, *missing]] = True
        never = np.flatnonzero(~alive)
        return Predicates(self.space, len(texts), regions, of, never, rejected, missing)

    def _fill_conjunct(
        self,
        piece: str,
        group: _TextGroup,
        builder: RegionBuilder,
        unfit_rows: set[int],
        missing_types: dict[int, tuple[str, ...]],
    ) -> None:
        """Fills in a conjunct for all texts that have it; what needs a closer look is unfit."""
        for made, some in self._find_or_compile(piece, group):
            if isinstance(made, CompiledTemplate) and made.missing_types:
                for row in some.rows:
                    missing_types[row] = missing_types.get(row, ()) + made.missing_types
                continue
            if isinstance(made, PredicateError) or len(made.conjunctions) != 1:
                unfit_rows.update(some.rows)
                continue
            slots = LiteralColumns(some.columns, len(some.rows), self.space.settings)
            builder.add_conjunction(made.conjunctions[0], slots, np.array(some.rows, np.int64))
            unfit_rows.update(some.rows[i] for i in slots.failures)

    def _parse_whole_texts(
        self,
        texts: Sequence[str],
        templates: dict[str, _TextGroup],
        unfit_rows: set[int],
        builder: RegionBuilder,
        missing_types: dict[int, tuple[str, ...]],
    ) -> dict[int, PredicateError]:
        """Parses texts that are no chain of simple conjuncts, or wrong; says what is wrong."""
        rejected: dict[int, PredicateError] = {}
        for template, group in templates.items() if unfit_rows else ():
            asked = [i for i, row in enumerate(group.rows) if row in unfit_rows]
            for made, some in (
                self._find_or_compile(template, group.take(asked), texts) if asked else ()
            ):
                if isinstance(made, PredicateError):
                    rejected[some.rows[0]] = made
                    continue
                if made.missing_types:
                    missing_types |= dict.fromkeys(some.rows, made.missing_types)
                    continue
                slots = LiteralColumns(some.columns, len(some.rows), self.space.settings)
                rows = np.array(some.rows, np.int64)
                for conjunction in made.conjunctions:
                    builder.add_conjunction(conjunction, slots, builder.add_regions(rows))
                for i, failure in slots.failures.items():
                    rejected[some.rows[i]] = _locate_failure(failure, texts[some.rows[i]])
        return rejected

    def _find_or_compile(
        self, template: str, group: _TextGroup, texts: Sequence[str] | None = None
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """The plans of one template, each with the texts that share it; an error has one text."""
        found: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for kinds, same_kinds in _group_by_kinds(group):
            keys = self._cache_keys.get((template, kinds))
            for name, some in _group_by_cache_keys(template, kinds, keys, same_kinds).items():
                made = self._compiled_templates.get(name) if keys is not None else None
                if made is not None:
                    found.append((made, some))
                    continue
                found += self._compile_group(template, kinds, some, texts)
        return found

    def _compile_group(
        self, template: str, kinds: str, group: _TextGroup, texts: Sequence[str] | None
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """Plans texts of one template that no plan is known for."""
        found: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for i in range(len(group.rows)):
            made = self._try_compile(self._restore_text(template, group, i, texts))
            if isinstance(made, CompiledTemplate):
                rest = group.take(range(i, len(group.rows)))
                return found + self._compile_variants(template, kinds, made, rest, texts)
            if texts is None:
                return [(made, group)]
            # Another text of this template may be right: the error may lie in a literal.
            found.append((made, group.take([i])))
        return found

    def _compile_variants(
        self,
        template: str,
        kinds: str,
        compiled: CompiledTemplate,
        group: _TextGroup,
        texts: Sequence[str] | None,
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """Texts of which the first has a plan, with the plans of all."""
        self._store_in_cache(self._cache_keys, (template, kinds), compiled.cache_keys)
        found: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for n, (name, some) in enumerate(
            _group_by_cache_keys(template, kinds, compiled.cache_keys, group).items()
        ):
            again = (
                compiled
                if n == 0
                else self._try_compile(self._restore_text(template, some, 0, texts))
            )
            if isinstance(again, CompiledTemplate):
                self._store_in_cache(self._compiled_templates, name, again)
                found.append((again, some))
            elif texts is None:
                found.append((again, some))
            else:
                errors = (self._try_compile(texts[row]) for row in some.rows)
                found += [(one, some.take([i])) for i, one in enumerate(errors)]
        return found

    def _restore_text(
        self, template: str, group: _TextGroup, i: int, texts: Sequence[str] | None
    ) -> str:
        if texts is not None:
            return texts[group.rows[i]]
        return fill_template(template, [column[i] for column in group.columns])

    def _try_compile(self, text: str) -> CompiledTemplate | PredicateError:
        """The plan of a text, or what is wrong with it; a wrong one is read once in a batch."""
        if text in self._errors:
            return self._errors[text]
        try:
            made = compile_template(text, self.space, self._max_regions, self._types)
            self.space = self.space.with_derived(*made.derived_attributes)
            return made
        except PredicateError as error:
            wrong = error
        except SchemaError as error:
            wrong = PredicateError(str(error), text, 0)
        except RecursionError:
            wrong = PredicateError("nested too deeply", text, 0, "use fewer operators")
        except Exception as failure:
            wrong = CompilerError.from_failure(failure, text)
        self._store_in_cache(self._errors, text, wrong)
        return wrong

    def _store_in_cache(self, cache: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
        if len(cache) >= self._max_templates:
            cache.clear()
        cache[key] = value


def _check_texts(texts: Iterable[str]) -> Sequence[str]:
    """The texts as a sequence of texts."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidArgumentError(
            f"predicates must be a list of texts, as [text], got {format_value(texts)}"
        )
    sequence = texts if isinstance(texts, list | tuple) else list(texts)
    for row, text in enumerate(sequence):
        if not isinstance(text, str):
            raise InvalidArgumentError(f"predicate {row} is {type(text).__name__}, not a text")
    return sequence


def _group_by_template(
    texts: Sequence[str], limits: PredicateLimits, known_errors: dict[int, PredicateError]
) -> tuple[dict[str, _TextGroup], dict[int, PredicateError]]:
    """Group texts by template; what is too long for a predicate is rejected without a closer look.

    So is a text whose error is known.

    Literals are in one flat list, as a list each would burden the collector.
    """
    found: dict[str, tuple[list[int], list[str]]] = {}
    rejected = dict(known_errors)
    cut = literals.extract_literals
    for row, text in enumerate(texts):
        if row in known_errors:
            continue
        if len(text) > limits.max_template:  # of a short one, nothing is too long
            try:
                check_length(text, limits)
            except PredicateError as error:
                rejected[row] = error
                continue
        template, raws = cut(text)
        known = found.get(template)
        if known is None:
            found[template] = ([row], raws)
        else:
            known[0].append(row)
            known[1].extend(raws)
    groups: dict[str, _TextGroup] = {}
    for template, (rows, flat) in found.items():
        slots = template.count(literals.SLOT_MARK)
        try:
            check_template(texts[rows[0]], len(template) - slots, slots, limits)
        except PredicateError as error:
            rejected |= dict.fromkeys(rows, error)
            continue
        groups[template] = _TextGroup(rows, _split_into_columns(flat, slots))
    return groups, rejected


def _split_into_columns(flat: list[str], slots: int) -> list[list[str]]:
    return [flat[slot::slots] for slot in range(slots)]


def _group_by_kinds(group: _TextGroup) -> list[tuple[str, _TextGroup]]:
    """Texts of one template, by the kinds of their literals."""
    columns = [literals.literal_kinds(column) for column in group.columns]
    if all(column.count(column[0]) == len(column) for column in columns):
        return [("".join(column[0] for column in columns), group)]
    groups: dict[str, list[int]] = {}
    for i, kinds in enumerate(zip(*columns, strict=True)):
        groups.setdefault("".join(kinds), []).append(i)
    return [(kinds, group.take(chosen)) for kinds, chosen in groups.items()]


def _group_by_cache_keys(
    template: str, kinds: str, keys: tuple[tuple[int, CacheKey], ...] | None, group: _TextGroup
) -> dict[tuple[object, ...], _TextGroup]:
    """Texts of one template and kinds, by what else decides their plan."""
    if not keys:
        return {(template, kinds): group}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in range(len(group.rows)):
        name = (template, kinds, *(key(group.columns[slot][i]) for slot, key in keys))
        groups.setdefault(name, []).append(i)
    return {name: group.take(chosen) for name, chosen in groups.items()}


def _locate_failure(failure: LocatedLiteralError, text: str) -> PredicateError:
    """A literal's failure, at its place in the text."""
    found = literals.iterate_tokens(literals.blank_comments(text))
    starts = [match.start() for match in found if match.group()[0] != "`"]
    return PredicateError(
        str(failure), text, starts[failure.slot] if failure.slot < len(starts) else 0
    )
