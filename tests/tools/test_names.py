"""Names and layout of the sources follow the rules of the project."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.names import count_modules, find_duplicate_classes, iter_definitions

SOURCES = Path(__file__).parents[2] / "src" / "covey"


def test_public_names_are_not_bare_participles_or_everyday_words() -> None:
    odd = [
        f"{one.path}:{one.line} {one.name}"
        for one in iter_definitions(SOURCES)
        if one.is_odd and not one.name.startswith("_") and (one.in_module or one.kind == "class")
    ]
    assert odd == []


def test_no_two_public_classes_share_a_name() -> None:
    assert find_duplicate_classes(iter_definitions(SOURCES)) == []


def test_no_package_has_more_than_fifteen_modules() -> None:
    assert {str(p): n for p, n in count_modules(SOURCES).items() if n > 15} == {}


@pytest.mark.parametrize("package", sorted(p.parent for p in SOURCES.rglob("__init__.py")))
def test_every_package_docstring_names_its_modules(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    modules = [p.stem for p in package.glob("*.py") if not p.stem.startswith("_")]
    assert [name for name in modules if name not in docstring] == []


def test_odd_names_are_found(tmp_path: Path) -> None:
    source = "class Fitted:\n    def given(self): ...\n\ndef _kept(): ...\n\ndef find_kept(): ...\n"
    (tmp_path / "onwards.py").write_text(source)
    odd = {(one.kind, one.name) for one in iter_definitions(tmp_path) if one.is_odd}
    assert odd == {
        ("module", "onwards"),
        ("class", "Fitted"),
        ("function", "given"),
        ("function", "_kept"),
    }
