"""The documentation site: it builds, and its reference has every public name."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = [
    "",
    "covering",
    "index",
    "overlay",
    "plan",
    "predicates",
    "routing",
    "spark",
    "store",
    "stream",
    "workload",
    "zones",
]


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names that the site has a place for, from its inventory."""
    pytest.importorskip("mkdocs")
    site = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    _, _, packed = (site / "objects.inv").read_bytes().partition(b"using zlib.\n")
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}


@pytest.mark.parametrize("layer", LAYERS)
def test_every_public_name_has_its_place(layer: str, documented: set[str]) -> None:
    module = f"covey.{layer}".rstrip(".")
    last_words = {name.rpartition(".")[2] for name in documented if name.startswith("covey.")}
    assert exported(module) <= last_words


def exported(module: str) -> set[str]:
    """`__all__` of a module, read without importing what it needs."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__")


def test_examples_in_docstrings_become_blocks() -> None:
    pytest.importorskip("griffe")
    path = ROOT / "docs" / ".site" / "doctests.py"
    spec = importlib.util.spec_from_file_location("site_doctests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fenced = module.fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> 3\n3")
    assert fenced == ("Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```pycon\n>>> 3\n3\n```")
    assert module.fenced("No example.") == "No example."
