"""Which tests `make quick` runs, in which order, and when it stops."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

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


def test_a_change_of_several_files_affects_what_each_of_them_does() -> None:
    found = quick.affected_files(GRAPH, ["tests/store/test_store.py", "src/covey/errors.py"])
    assert found[:2] == ["src/covey/errors.py", "tests/store/test_store.py"]
    assert {"tests/space/test_keys.py", "tests/spark/test_model.py"} <= set(found)


@pytest.mark.parametrize("file", ["docs/spark.md", "Makefile", "pyproject.toml"])
def test_what_is_no_python_affects_the_tests_of_the_project(file: str) -> None:
    assert quick.affected_files(GRAPH, [file]) == sorted(quick.PROJECT_TESTS)
    assert all((quick.ROOT / name).exists() for name in quick.PROJECT_TESTS)


def test_changes_are_those_since_a_commit_and_new_files(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        settings = ("-c", "user.name=n", "-c", "user.email=e")
        subprocess.run(["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("kept.py", "changed.py", "removed.py"):
        (tmp_path / name).write_text("one\n")
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "changed.py").write_text("two\n")
    (tmp_path / "removed.py").unlink()
    (tmp_path / "new.py").touch()
    assert quick.changed_files(tmp_path, "HEAD") == ["changed.py", "new.py", "removed.py"]
    git("add", ".")
    git("commit", "-m", "second")
    assert quick.changed_files(tmp_path, "HEAD") == []
    assert quick.changed_files(tmp_path, "HEAD~1") == ["changed.py", "new.py", "removed.py"]


def test_no_test_starts_after_the_deadline_and_tests_on_spark_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = integration\n    xdist_group\n")
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
