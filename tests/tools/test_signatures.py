"""Signatures of public functions keep to the rules of the project."""

from __future__ import annotations

from pathlib import Path

from tools.signatures import iter_public_functions

SOURCES = Path(__file__).parents[2] / "src" / "covey"

# Why a function may write into what it is given.
WRITES_ALLOWED = {
    "covey.language.compile.atoms.InBall.constrain": "failures of literals belong to their columns",
    "covey.language.compile.distance_conditions.distance_condition": "a step of one compilation",
    "covey.language.compile.tag_conditions.tag_condition": "a step of one compilation",
    "covey.stream.metrics.accumulator.pop_until": "removes what it returns, as `dict.pop`",
}


def test_public_functions_return_what_they_find() -> None:
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
