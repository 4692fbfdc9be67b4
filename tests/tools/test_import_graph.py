"""The import graph: which tests depend on a file, according to the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.import_graph import ImportGraph

SOURCES = {
    "src/shop/__init__.py": "from shop.price import Price\nfrom shop.stock import count\n",
    "src/shop/price.py": "from shop.money import round_up\nclass Price: ...\n",
    "src/shop/money.py": "def round_up(): ...\n",
    "src/shop/stock.py": "def count():\n    import json\n    from . import money\n",
    "src/shop/lazy.py": "",
    "src/shop/daemon.py": "",
    "tests/program.py": "",
    "tests/test_programs.py": "run('shop.daemon', folder / 'program.py', 'shop', 'absent.py')\n",
    "tests/conftest.py": "def pytest_configure():\n    import shop.lazy\n",
    "tests/test_price.py": "from shop import Price\n",
    "tests/deep/test_stock.py": "import shop.stock\nfrom shop.stock import count\n",
}

EVERY_TEST = dict.fromkeys(
    ["tests/test_price.py", "tests/test_programs.py", "tests/deep/test_stock.py"], 2
)


@pytest.fixture
def graph(tmp_path: Path) -> ImportGraph:
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return ImportGraph.read(tmp_path)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/shop/price.py", {"tests/test_price.py": 1}),
        ("src/shop/stock.py", {"tests/deep/test_stock.py": 1}),
        ("src/shop/money.py", {"tests/test_price.py": 2, "tests/deep/test_stock.py": 2}),
        ("src/shop/__init__.py", {"tests/test_price.py": 1, "tests/deep/test_stock.py": 2}),
        ("src/shop/lazy.py", EVERY_TEST),
        ("src/shop/daemon.py", {"tests/test_programs.py": 1}),
        ("tests/program.py", {"tests/test_programs.py": 1}),
        ("tests/test_price.py", {"tests/test_price.py": 0}),
        ("docs/page.md", {}),
    ],
)
def test_a_test_depends_on_the_definitions_that_it_imports(
    graph: ImportGraph, changed: str, tests: dict[str, int]
) -> None:
    found = graph.distances(changed)
    assert {file: n for file, n in found.items() if "test_" in file} == tests


def test_importers_of_a_removed_file_are_still_found(graph: ImportGraph, tmp_path: Path) -> None:
    (tmp_path / "src/shop/money.py").unlink()
    after_removal = ImportGraph.read(tmp_path, removed=["src/shop/money.py"])
    assert after_removal.distances("src/shop/money.py") == graph.distances("src/shop/money.py")


def test_the_whole_package_is_read() -> None:
    root = Path(__file__).parents[2]
    graph = ImportGraph.read(root)
    assert {path.relative_to(root).as_posix() for path in (root / "src").rglob("*.py")} <= set(
        graph.importers
    )
    assert graph.distances("src/covey/store/manifest/vacuum.py")["tests/store/test_vacuum.py"] <= 2
