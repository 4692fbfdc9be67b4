"""The selection, order and deadline of the tests that `make quick` runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import ANY

import pytest

from tools import quick
from tools.import_graph import ImportGraph

GRAPH = ImportGraph(
    {
        "src/covey/store/lock.py": frozenset({"src/covey/store/store.py"}),
        "src/covey/store/store.py": frozenset(
            {"tests/store/test_lock.py", "tests/store/test_store.py", "tests/spark/test_model.py"}
        ),
        "src/covey/errors.py": frozenset({"src/covey/store/lock.py", "tests/space/test_keys.py"}),
        "tests/store/test_lock.py": frozenset(),
        "tests/store/test_store.py": frozenset(),
        "tests/spark/test_model.py": frozenset({"tests/store/helper.py"}),
        "tests/space/test_keys.py": frozenset(),
        "tests/store/helper.py": frozenset(),
    }
)


def test_tests_named_after_a_module_come_first_then_those_of_its_layer() -> None:
    assert quick.affected_files(GRAPH, ["src/covey/store/lock.py"]) == [
        "src/covey/store/lock.py",
        "tests/store/test_lock.py",
        "src/covey/store/store.py",
        "tests/store/test_store.py",
        "tests/spark/test_model.py",
    ]


def test_a_change_of_several_files_affects_the_tests_of_each() -> None:
    found = quick.affected_files(GRAPH, ["tests/store/test_store.py", "src/covey/errors.py"])
    assert found[:2] == ["src/covey/errors.py", "tests/store/test_store.py"]
    assert {"tests/space/test_keys.py", "tests/spark/test_model.py"} <= set(found)


@pytest.mark.parametrize("file", ["docs/index.md", "Makefile", "pyproject.toml", "docs/site.py"])
def test_a_file_that_no_test_imports_affects_the_tests_of_the_project(file: str) -> None:
    assert quick.affected_files(GRAPH, [file]) == sorted(quick.PROJECT_TESTS)
    assert all((quick.ROOT / name).exists() for name in quick.PROJECT_TESTS)


def test_a_helper_that_no_test_imports_affects_the_tests_in_its_folder() -> None:
    found = quick.affected_files(GRAPH, ["tests/store/helper.py"])
    assert {"tests/store/test_lock.py", "tests/store/test_store.py"} <= set(found)


def test_tests_named_after_a_module_need_not_import_it() -> None:
    graph = ImportGraph({"src/covey/_lazy.py": frozenset(), "tests/test_lazy.py": frozenset()})
    found = quick.affected_files(graph, ["src/covey/_lazy.py"])
    assert found == ["src/covey/_lazy.py", "tests/test_lazy.py"]


def commit(root: Path, *names: str) -> None:
    """Commit all files below a folder, after creating the named ones as empty files."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    settings = ("-c", "user.name=n", "-c", "user.email=e")
    for words in (["init"], ["add", "."], ["commit", "-m", "all"]):
        subprocess.run(["git", *settings, *words], cwd=root, check=True, capture_output=True)


def test_changes_are_those_since_a_commit_and_new_files(tmp_path: Path) -> None:
    changes = ["changed.py", "new ä.py", "removed.py"]
    commit(tmp_path, "kept.py", "changed.py", "removed.py")
    (tmp_path / "changed.py").write_text("two\n")
    (tmp_path / "removed.py").unlink()
    (tmp_path / "new ä.py").touch()
    assert quick.changed_files(tmp_path, "HEAD") == changes
    commit(tmp_path)
    assert quick.changed_files(tmp_path, "HEAD") == []
    assert quick.changed_files(tmp_path, "HEAD~1") == changes


def test_an_unknown_base_is_reported_in_one_sentence(tmp_path: Path) -> None:
    commit(tmp_path, "kept.py")
    with pytest.raises(SystemExit, match=r"git diff: .*nonsense"):
        quick.changed_files(tmp_path, "nonsense")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout of a module with a test."""
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{quick.__file__}/../..")
    (tmp_path / ".gitignore").write_text("__pycache__\n.pytest_cache\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = integration\n    nightly\n")
    commit(tmp_path, "src/shop/__init__.py", "src/shop/price.py", "tests/test_price.py")
    (tmp_path / "tests/test_price.py").write_text("def test_price():\n    assert True\n")
    commit(tmp_path)
    return tmp_path


def test_the_exit_code_is_that_of_the_tests(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str, **sources: str) -> tuple[int, str]:
        for name, text in sources.items():
            (checkout / "tests" / f"test_{name}.py").write_text(text)
        return quick.main(arguments), capfd.readouterr().out

    assert run()[0] == 0
    assert run(price="def test_price():\n    assert 1\n")[0] == 0
    assert run("--seconds", "-1") == (quick.NO_TESTS, ANY)
    assert "no test was run" in run("--", "-k", "nothing")[1]
    assert run(price="def test_price():\n    assert 0\n")[0] == 1
    code, printed = run(price="import os\ndef test_price():\n    os.kill(os.getpid(), 11)\n")
    assert code == 11
    assert "pytest was ended by SIGSEGV" in printed
    with pytest.raises(SystemExit, match=r"test_price\.py, line 2"):
        run(price="\ndef test_price(:\n")


def test_tests_that_import_a_removed_module_are_run(checkout: Path) -> None:
    (checkout / "tests/test_price.py").write_text("import shop.price\ndef test_price(): ...\n")
    commit(checkout)
    (checkout / "src/shop/price.py").unlink()
    assert quick.main([]) == 2, "the import in the test must fail"


@pytest.mark.parametrize("folders", [(), (".jars",)])
def test_spark_tests_are_skipped_if_they_cannot_run(
    checkout: Path, capfd: pytest.CaptureFixture[str], folders: tuple[str, ...]
) -> None:
    for name in folders:
        (checkout / name).mkdir()
    (checkout / "tests/test_price.py").write_text(
        "import pytest\n@pytest.mark.integration\ndef test_price(): ...\n"
    )
    assert quick.main([]) == quick.NO_TESTS
    assert "tests on Spark are left out: " in capfd.readouterr().out


def test_no_test_starts_after_the_deadline_and_spark_tests_stop_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = integration\n")
    (tmp_path / "test_second.py").write_text(
        "import pytest\ndef test_plain(): ...\n@pytest.mark.integration\ndef test_spark(): ...\n"
    )
    (tmp_path / "test_first.py").write_text("def test_first(): ...\n")
    monkeypatch.setenv("COVEY_QUICK_ORDER", "test_first.py:test_second.py")
    expected = {60: "3 passed", 10: "2 passed, 1 skipped", -1: "3 skipped"}
    for seconds, summary in expected.items():
        monkeypatch.setenv("COVEY_QUICK_UNTIL", str(time.time() + seconds))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "-p", "tools.quick_plugin", tmp_path,
             "--rootdir", tmp_path, "-c", tmp_path / "pytest.ini"],
            cwd=quick.ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert summary in done.stdout.splitlines()[-1], done.stdout
        assert done.stdout.index("test_first") < done.stdout.index("test_plain")
