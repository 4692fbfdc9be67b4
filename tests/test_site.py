"""The documentation site builds, has all public names, and can be searched and read as text."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from types import ModuleType

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
PAGE_BY_SEARCHED_WORD = {
    "install": "how-to/install/",
    "retry": "troubleshooting/",
    "dead letters": "troubleshooting/",
    "schema": "troubleshooting/",
    "memory": "troubleshooting/",
    "tenants": "how-to/tenants/",
    "databricks": "faq/",
    "webhooks": "faq/",
    "docker": "faq/",
}
"""Page with a heading that contains the word, because search ranks headings above text."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built once for all tests of this module."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def documented(site: Path) -> set[str]:
    """Return the names that the inventory of the site lists."""
    _, _, packed = (site / "objects.inv").read_bytes().partition(b"using zlib.\n")
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()}


@pytest.mark.parametrize("layer", LAYERS)
def test_every_public_name_is_documented(layer: str, documented: set[str]) -> None:
    module = f"covey.{layer}".rstrip(".")
    last_words = {name.rpartition(".")[2] for name in documented if name.startswith("covey.")}
    assert exported(module) <= last_words


def exported(module: str) -> set[str]:
    """Return `__all__` of a module without importing the module."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{module} has no __all__")


@pytest.mark.parametrize(("word", "page"), PAGE_BY_SEARCHED_WORD.items())
def test_a_search_finds_a_heading(word: str, page: str, site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {one["location"].partition("#")[0] for one in index["docs"] if word in _title(one)}
    assert page in found


def _title(section: dict[str, str]) -> str:
    return section["title"].lower()


def test_every_page_is_there_as_markdown_and_in_the_index(site: Path) -> None:
    listing = (site / "llms.txt").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        path = page.relative_to(ROOT / "docs").as_posix()
        assert (site / path).read_bytes() == page.read_bytes()
        assert f"]({path})" in listing


def test_the_index_describes_each_page_in_one_line() -> None:
    pytest.importorskip("mkdocs")
    summarize = load_hook("llms").summarize
    page = "# Zones\n\n```python\nx = 1\n```\n\nSpread [subscriptions](a.md) over\nzones. More.\n"
    assert summarize(page) == "Spread subscriptions over zones."
    assert summarize("# Names only\n\n::: covey.plan\n") == ""


def test_examples_in_docstrings_become_blocks() -> None:
    pytest.importorskip("griffe")
    module = load_hook("doctests")
    fenced = module.fenced("Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> 3\n3")
    assert fenced == ("Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```pycon\n>>> 3\n3\n```")
    assert module.fenced("No example.") == "No example."


def load_hook(name: str) -> ModuleType:
    """Import a module of `docs/.site`, which is not a package."""
    path = ROOT / "docs" / ".site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"site_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
