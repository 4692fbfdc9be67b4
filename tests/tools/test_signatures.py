"""Signatures of public functions follow the rules of the project."""

from __future__ import annotations

from pathlib import Path

from tools.signatures import iter_public_functions

SOURCES = Path(__file__).parents[2] / "src" / "covey"

# Reasons for which a function may write into its arguments.
WRITES_ALLOWED = {
    "covey.language.compile.atoms.InBall.constrain": "failures of literals belong to their columns",
    "covey.language.compile.distance_conditions.distance_condition": "a step of one compilation",
    "covey.language.compile.tag_conditions.tag_condition": "a step of one compilation",
    "covey.stream.metrics.accumulator.pop_until": "removes what it returns, as `dict.pop`",
}


_KEYS = "a key is an int, a text or `Below`; numpy holds them as objects"
_SPARK_ML = "Spark ML's own signature: a parameter is checked when it is set"

# Reasons for which a signature may use Any, by prefix of names.
ANY_ALLOWED = {
    "covey.index.segment.text_ranks.": _KEYS,
    "covey.language.values.sql_literals.key_literal": _KEYS,
    "covey.plan.lp.solver.make_solver": "highspy and scipy publish no types",
    "covey.space.keys.": _KEYS,
    "covey.spark.covering.reduce.reduce_subscriptions": _SPARK_ML,
    "covey.spark.matcher.": _SPARK_ML,
}

# Reasons for which options may be positional, by prefix of names.
OPTIONS_BY_POSITION = {
    "covey.cli.": "typer calls commands by keywords",
    "covey.errors.PredicateError": "message, position and hint stand in this order in all errors",
    "covey.language.syntax.grammar.PredicateTree.error": "the same",
    "covey.language.compile.": "steps of one compilation, called by the compiler only",
    "covey.language.diagnostics.common_mistakes.suggest_for_name": "the same",
    "covey.language.semantics.expressions.Expressions": "the same",
    "covey.language.values.": "the same",
}


def test_public_signatures_have_types() -> None:
    untyped = {one.name for one in iter_public_functions(SOURCES) if one.untyped}
    used = {name: prefix for name in untyped for prefix in ANY_ALLOWED if name.startswith(prefix)}
    assert untyped - used.keys() == set()
    assert set(ANY_ALLOWED) == set(used.values())


def test_any_in_signatures_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "module.py").write_text(
        "class Table:\n"
        "    def add(self, ids: list[Any], rows: NDArray[np.integer[Any]]) -> None: ...\n"
        "    def _add(self, ids: Any) -> None: ...\n"
        "    @overload\n    def get(self, id: int) -> str: ...\n"
        "    def get(self, id: Any) -> Any: ...\n"
        "def read(*names: str, **options: Any) -> Callable[..., dict[str, Any]]: ...\n"
    )
    found = {one.name: one.untyped for one in iter_public_functions(package) if one.untyped}
    assert found == {
        "package.module.Table.add": ["ids"],
        "package.module.read": ["options", "return"],
    }


def test_options_are_keyword_only() -> None:
    positional = {one.name for one in iter_public_functions(SOURCES) if one.positional_options}
    allowed = {
        name: prefix
        for name in positional
        for prefix in OPTIONS_BY_POSITION
        if name.startswith(prefix)
    }
    assert positional - allowed.keys() == set()
    assert set(OPTIONS_BY_POSITION) == set(allowed.values())


def test_positional_options_are_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "module.py").write_text(
        "def reduce(regions, sample=None, limit=3, *, strict=False): ...\n"
        "def run(max_steps=None, is_last: bool = False): ...\n"
        "def find(regions, max_pairs=None): ...\n"
        "def match(events, strict: bool, is_whole: bool): ...\n"
        "def good(regions, sample=None, *, limit=3, strict: bool = False): ...\n"
    )
    found = {
        one.name.rpartition(".")[2]: one.positional_options
        for one in iter_public_functions(package)
        if one.positional_options
    }
    assert found == {
        "reduce": ["limit"],
        "run": ["is_last"],
        "find": ["max_pairs"],
        "match": ["is_whole"],
    }


def test_public_functions_do_not_write_into_their_arguments() -> None:
    written = {one.name for one in iter_public_functions(SOURCES) if one.written_parameters}
    assert written == set(WRITES_ALLOWED)


def test_out_parameters_are_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "module.py").write_text(
        "class Index:\n"
        "    def match(self, events, stats):\n        self.last = events\n        stats.n += 1\n"
        "    def _match(self, stats):\n        stats.n += 1\n"
        "def collect(rows, found: list[int], first: int):\n"
        "    first += 1\n    found.extend(rows)\n    rows = found\n"
        "def add(counts, rows):\n    counts += rows\n"
        "def swap(a, b):\n    a[0], b[0] = b[0], a[0]\n"
        "def sort(rows):\n    rows = rows.copy()\n    rows.sort()\n"
        "@kernel\ndef write(out):\n    out[0] = 1\n"
    )
    (package / "_private.py").write_text("def collect(found):\n    found.append(1)\n")
    written = {one.name: one.written_parameters for one in iter_public_functions(package)}
    assert written == {
        "package.module.sort": [],
        "package.module.Index.match": ["stats"],
        "package.module.collect": ["found"],
        "package.module.add": ["counts"],
        "package.module.swap": ["a", "b"],
    }
