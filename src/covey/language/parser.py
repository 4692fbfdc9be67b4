"""Parser of predicates: from batches of texts to regions.

Each text is divided into a template and literals. A template that is a chain of ANDs is divided
into its conjuncts. A conjunct is parsed once per batch, and its literals are filled in for all
texts that contain it: even a million texts usually have only few different conjuncts, although they
may combine these in many ways. A single text is a batch of one.
"""

from __future__ import annotations

from collections import Counter
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
_MAX_TYPE_ROUNDS = 5  # queries to Spark for one batch; an answer rarely needs another query


@dataclass(frozen=True, slots=True)
class Predicates:
    """Parsed predicates: the regions of all texts, and the texts that have no region.

    Attributes:
        space: the space of the regions, with the derived attributes that the predicates need.
        count: the number of texts.
        regions: the regions of all texts.
        predicate_rows: for each region the row of its text, ascending.
        unsatisfiable: the rows of texts that cannot match any event; they have no region.
        rejected: the error of each text that cannot be parsed, by the row of the text.
        missing_types: by the row of each text that cannot be parsed yet, the expressions whose
            types Spark must report first.
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
        """Return for each given region the row of its text.

        Args:
            stored_rows: rows of regions in `regions`, for example the `stored_rows` of `Pairs`.
        """
        check_rows("stored_rows", stored_rows, len(self.predicate_rows))
        return self.predicate_rows[stored_rows]


def parse(
    space: Space,
    texts: Sequence[str],
    *,
    max_regions: int = MAX_REGIONS,
    types: ExpressionTypes | None = None,
) -> Predicates:
    """Parse predicates into regions.

    The regions of a text contain exactly the events that `events.where(text)` keeps under the
    session settings of the space. Use `Parser`, which takes the same arguments, for several
    batches, or to collect errors instead of raising the first.

    Args:
        space: the attributes of events.
        texts: the predicates.
        max_regions: the largest number of regions of one predicate.
        types: the types of expressions as Spark's analyzer reports them. By default only the types
            of columns, literals, operators and some functions are known.

    Returns:
        The regions of all texts, with the row of the text of each region, and the rows of the texts
        that have no region.

    Raises:
        PredicateError: a text is wrong. If several texts are wrong, this is the error of the first.

    Cost: at most 10 µs per text if many texts share their conjuncts, about 0.3 ms if none do.

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
    """Texts that share a template or conjunct.

    `rows` are the rows of the texts; `columns[slot][i]` is the literal of text `rows[i]` in that
    slot.
    """

    rows: list[int] = field(default_factory=list)
    columns: list[list[str]] = field(default_factory=list)

    def add(self, rows: list[int], columns: Sequence[list[str]]) -> None:
        """Append texts: their rows, and their literals by slot."""
        if not self.rows:
            self.columns = [[] for _ in columns]
        self.rows += rows
        for column, new_literals in zip(self.columns, columns, strict=True):
            column += new_literals

    def take(self, chosen: Sequence[int]) -> _TextGroup:
        """Return a group of the texts at the given indices of `rows`."""
        if len(chosen) == len(self.rows):
            return self
        return _TextGroup(
            [self.rows[i] for i in chosen], [[column[i] for i in chosen] for column in self.columns]
        )


class Parser:
    """Parser for batches of predicates over one space, with a cache of compiled templates.

    A parser must not be used by several threads at once.

    Args:
        space: the attributes of events; the derived attributes that predicates need are added.
        max_regions: the largest number of regions of one predicate.
        max_templates: the largest number of entries of each cache. A full cache is emptied.
        types: the types of expressions as Spark's analyzer reports them. By default only the types
            of columns, literals, operators and some functions are known.
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
        """Parse texts into regions, and collect errors in `rejected` of the result.

        The derived attributes that the texts need are added to the parser's `space`, which is also
        the space of the result.
        """
        texts = _check_texts(texts)
        parsed = self._parse_batch(texts)
        for _ in range(_MAX_TYPE_ROUNDS):
            if not parsed.missing_types or not isinstance(self._types, TypeAnalyzer):
                break
            self._types.ask(Counter(chain.from_iterable(parsed.missing_types.values())))
            self._cache_keys.clear()
            self._compiled_templates.clear()
            parsed = self._parse_batch(texts)
        else:
            unresolved = parsed.missing_types if isinstance(self._types, TypeAnalyzer) else {}
            for row in unresolved:
                problem = "Spark cannot determine the type of an expression in this predicate"
                hint = "CAST it, or add a column with its value to the events"
                parsed.rejected[row] = PredicateError(problem, texts[row], 0, hint)
            unresolved.clear()
        return parsed

    def _parse_batch(self, texts: Sequence[str]) -> Predicates:
        """Return the parsed predicates; if covey fails on a text, only that text is rejected."""
        try:
            return self._parse_rows(texts, {})
        except Exception:  # it is not known yet which texts caused it
            return self._parse_rows(texts, self._find_failures(texts, range(len(texts))))

    def _find_failures(
        self, texts: Sequence[str], rows: Sequence[int]
    ) -> dict[int, PredicateError]:
        """Return, by row, the errors of texts on which covey fails even if they are parsed alone.

        The texts are found by bisection. Cost: each of n texts is parsed at most about log2(n) + 1
        times; if covey fails on only one text, about three times on average.
        """
        try:
            self._parse_rows([texts[row] for row in rows], {})
        except Exception as failure:
            if len(rows) == 1:
                return {rows[0]: CompilerError.from_failure(failure, texts[rows[0]])}
            half = len(rows) // 2
            failures = self._find_failures(texts, rows[:half])
            return failures | self._find_failures(texts, rows[half:])
        return {}

    def _parse_rows(self, texts: Sequence[str], failures: dict[int, PredicateError]) -> Predicates:
        """Return the parsed predicates of a batch.

        A text with an entry in `failures` is not read but rejected with that error.
        """
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
        regions, predicate_rows = assembly.build_regions(self.space, unfit, {*rejected, *missing})
        is_unsatisfiable = np.ones(len(texts), np.bool_)
        is_unsatisfiable[predicate_rows] = False
        is_unsatisfiable[[*rejected, *missing]] = False
        unsatisfiable = np.flatnonzero(is_unsatisfiable)
        return Predicates(
            self.space, len(texts), regions, predicate_rows, unsatisfiable, rejected, missing
        )

    def _fill_conjunct(
        self,
        piece: str,
        group: _TextGroup,
        builder: RegionBuilder,
        unfit_rows: set[int],
        missing_types: dict[int, tuple[str, ...]],
    ) -> None:
        """Add the constraints of the conjunct `piece` to the regions of all texts that contain it.

        If the conjunct of a text is wrong, is not a single conjunction, or has a literal that
        cannot be used, the text is added to `unfit_rows`; it is parsed as a whole later.
        Expressions whose types Spark must report first are added to `missing_types`, by the rows of
        their texts.
        """
        for compiled, subgroup in self._find_or_compile(piece, group):
            if isinstance(compiled, CompiledTemplate) and compiled.missing_types:
                _add_missing_types(missing_types, compiled, subgroup)
                continue
            if isinstance(compiled, PredicateError) or len(compiled.conjunctions) != 1:
                unfit_rows.update(subgroup.rows)
                continue
            slots = LiteralColumns(subgroup.columns, len(subgroup.rows), self.space.settings)
            builder.add_conjunction(
                compiled.conjunctions[0], slots, np.array(subgroup.rows, np.int64)
            )
            unfit_rows.update(subgroup.rows[i] for i in slots.failures)

    def _parse_whole_texts(
        self,
        texts: Sequence[str],
        templates: dict[str, _TextGroup],
        unfit_rows: set[int],
        builder: RegionBuilder,
        missing_types: dict[int, tuple[str, ...]],
    ) -> dict[int, PredicateError]:
        """Parse the texts of `unfit_rows` as a whole, and return their errors by row.

        These texts are wrong, or one of their conjuncts is not a single conjunction.
        """
        rejected: dict[int, PredicateError] = {}
        for template, group in templates.items() if unfit_rows else ():
            unfit = [i for i, row in enumerate(group.rows) if row in unfit_rows]
            for compiled, subgroup in (
                self._find_or_compile(template, group.take(unfit), texts) if unfit else ()
            ):
                if isinstance(compiled, PredicateError):
                    rejected[subgroup.rows[0]] = compiled
                    continue
                if compiled.missing_types:
                    _add_missing_types(missing_types, compiled, subgroup)
                    continue
                slots = LiteralColumns(subgroup.columns, len(subgroup.rows), self.space.settings)
                rows = np.array(subgroup.rows, np.int64)
                for conjunction in compiled.conjunctions:
                    builder.add_conjunction(conjunction, slots, builder.add_regions(rows))
                for i, failure in slots.failures.items():
                    rejected[subgroup.rows[i]] = _locate_failure(failure, texts[subgroup.rows[i]])
        return rejected

    def _find_or_compile(
        self, template: str, group: _TextGroup, texts: Sequence[str] | None = None
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """Return the compiled templates of a group, each with the texts that share it.

        For texts that cannot be compiled, an error is returned instead. If `texts` is given, each
        of them has an error of its own; otherwise all texts of a subgroup share one error.

        Args:
            template: a whole template, or one conjunct of templates.
            group: the texts that have it.
            texts: all texts of the batch, if `template` is a whole template.
        """
        results: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for kinds, same_kinds in _group_by_kinds(group):
            keys = self._cache_keys.get((template, kinds))
            for cache_key, subgroup in _group_by_cache_keys(
                template, kinds, keys, same_kinds
            ).items():
                compiled = self._compiled_templates.get(cache_key) if keys is not None else None
                if compiled is not None:
                    results.append((compiled, subgroup))
                    continue
                results += self._compile_group(template, kinds, subgroup, texts)
        return results

    def _compile_group(
        self, template: str, kinds: str, group: _TextGroup, texts: Sequence[str] | None
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """Compile the template of a group if it is not in the cache.

        Arguments and results are like those of `_find_or_compile`; `kinds` has the kinds of the
        literals, which are equal in all texts of the group.
        """
        results: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for i in range(len(group.rows)):
            compiled = self._try_compile(self._restore_text(template, group, i, texts))
            if isinstance(compiled, CompiledTemplate):
                remaining_group = group.take(range(i, len(group.rows)))
                return results + self._compile_variants(
                    template, kinds, compiled, remaining_group, texts
                )
            if texts is None:
                return [(compiled, group)]
            # The error may lie in a literal, so other texts of this template may be correct.
            results.append((compiled, group.take([i])))
        return results

    def _compile_variants(
        self,
        template: str,
        kinds: str,
        compiled: CompiledTemplate,
        group: _TextGroup,
        texts: Sequence[str] | None,
    ) -> list[tuple[CompiledTemplate | PredicateError, _TextGroup]]:
        """Return the compiled templates of a group; `compiled` is that of the first text.

        Texts whose literals differ in a cache key are compiled separately. Arguments and results
        are like those of `_compile_group`.
        """
        self._store_in_cache(self._cache_keys, (template, kinds), compiled.cache_keys)
        results: list[tuple[CompiledTemplate | PredicateError, _TextGroup]] = []
        for n, (cache_key, subgroup) in enumerate(
            _group_by_cache_keys(template, kinds, compiled.cache_keys, group).items()
        ):
            variant = (
                compiled
                if n == 0
                else self._try_compile(self._restore_text(template, subgroup, 0, texts))
            )
            if isinstance(variant, CompiledTemplate):
                self._store_in_cache(self._compiled_templates, cache_key, variant)
                results.append((variant, subgroup))
            elif texts is None:
                results.append((variant, subgroup))
            else:
                errors = (self._try_compile(texts[row]) for row in subgroup.rows)
                results += [(error, subgroup.take([i])) for i, error in enumerate(errors)]
        return results

    def _restore_text(
        self, template: str, group: _TextGroup, i: int, texts: Sequence[str] | None
    ) -> str:
        """Return text `i` of a group; if `texts` is None, build it from the template."""
        if texts is not None:
            return texts[group.rows[i]]
        return fill_template(template, [column[i] for column in group.columns])

    def _try_compile(self, text: str) -> CompiledTemplate | PredicateError:
        """Return the compiled template of a text, or the error of a text that cannot be compiled.

        Errors are cached until the next batch.
        """
        if text in self._errors:
            return self._errors[text]
        try:
            compiled = compile_template(text, self.space, self._max_regions, self._types)
            self.space = self.space.with_derived(*compiled.derived_attributes)
            return compiled
        except PredicateError as error:
            predicate_error = error
        except SchemaError as error:
            predicate_error = PredicateError(str(error), text, 0)
        except RecursionError:
            predicate_error = PredicateError(
                "the predicate is nested too deeply", text, 0, "use fewer operators"
            )
        except Exception as failure:
            predicate_error = CompilerError.from_failure(failure, text)
        self._store_in_cache(self._errors, text, predicate_error)
        return predicate_error

    def _store_in_cache(self, cache: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
        """Store an entry in a cache; if the cache is full, empty it first."""
        if len(cache) >= self._max_templates:
            cache.clear()
        cache[key] = value


def _add_missing_types(
    missing_types: dict[int, tuple[str, ...]], compiled: CompiledTemplate, group: _TextGroup
) -> None:
    """Add the expressions whose types are missing to those of the texts of a group."""
    for expression in compiled.missing_types:
        columns = [group.columns[slot] for slot in expression.slots]
        for i, row in enumerate(group.rows):
            text = expression.fill([column[i] for column in columns])
            missing_types[row] = (*missing_types.get(row, ()), text)


def _check_texts(texts: Iterable[str]) -> Sequence[str]:
    """Return the texts as a sequence; raise InvalidArgumentError if one is not a `str`."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidArgumentError(
            f"predicates must be a list of texts, such as [text], got {format_value(texts)}"
        )
    sequence = texts if isinstance(texts, list | tuple) else list(texts)
    for row, text in enumerate(sequence):
        if not isinstance(text, str):
            raise InvalidArgumentError(f"predicate {row} is {type(text).__name__}, not a text")
    return sequence


def _group_by_template(
    texts: Sequence[str], limits: PredicateLimits, known_errors: dict[int, PredicateError]
) -> tuple[dict[str, _TextGroup], dict[int, PredicateError]]:
    """Return the texts grouped by template, and the errors of the rejected texts, by row.

    A text is rejected if it is too long or has too many literals. A text with an entry in
    `known_errors` is not read but rejected with that error.
    """
    # The literals of a template are one flat list: a list per text would slow garbage collection.
    by_template: dict[str, tuple[list[int], list[str]]] = {}
    rejected = dict(known_errors)
    extract = literals.extract_literals
    for row, text in enumerate(texts):
        if row in known_errors:
            continue
        if len(text) > limits.max_template:  # a shorter text exceeds no limit of length
            try:
                check_length(text, limits)
            except PredicateError as error:
                rejected[row] = error
                continue
        template, raws = extract(text)
        entry = by_template.get(template)
        if entry is None:
            by_template[template] = ([row], raws)
        else:
            entry[0].append(row)
            entry[1].extend(raws)
    groups: dict[str, _TextGroup] = {}
    for template, (rows, flat) in by_template.items():
        slots = template.count(literals.SLOT_MARK)
        try:
            check_template(texts[rows[0]], len(template) - slots, slots, limits)
        except PredicateError as error:
            rejected |= dict.fromkeys(rows, error)
            continue
        groups[template] = _TextGroup(rows, _split_into_columns(flat, slots))
    return groups, rejected


def _split_into_columns(flat: list[str], slots: int) -> list[list[str]]:
    """Return for each slot the literals of all texts.

    `flat` contains the literals of all slots, one text after another.
    """
    return [flat[slot::slots] for slot in range(slots)]


def _group_by_kinds(group: _TextGroup) -> list[tuple[str, _TextGroup]]:
    """Return subgroups of texts whose literals have equal kinds, each with these kinds.

    The kinds are a text with one letter per slot, as `literal_kind` returns it.
    """
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
    """Return subgroups of texts that share a compiled template, by the key of the template's cache.

    This key consists of the template, and of the kinds and the cache keys of the literals. `keys`
    contains slots with the functions that return the cache keys of their literals; None or empty if
    there are no cache keys.
    """
    if not keys:
        return {(template, kinds): group}
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in range(len(group.rows)):
        cache_key = (template, kinds, *(key(group.columns[slot][i]) for slot, key in keys))
        groups.setdefault(cache_key, []).append(i)
    return {cache_key: group.take(chosen) for cache_key, chosen in groups.items()}


def _locate_failure(failure: LocatedLiteralError, text: str) -> PredicateError:
    """Return the error of a literal that cannot be used, at its position in the text."""
    tokens = literals.iterate_tokens(literals.blank_comments(text))
    starts = [match.start() for match in tokens if match.group()[0] != "`"]
    return PredicateError(
        str(failure), text, starts[failure.slot] if failure.slot < len(starts) else 0
    )
