"""The cache of compiled kernels: keyed by source content, in the first writable folder.

`start_process` starts a process of its own. `start` does the same within this process: it imports
the kernels again, in an environment of its own. A file in place of a folder simulates a folder that
cannot be written, also for root.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

import covey
from covey import _jit

INNER = "from loops._jit import kernel\n@kernel\ndef inner(x):\n    return x + 1\n"
OUTER = """
from loops._jit import kernel
from loops.inner import inner
@kernel(error_model="numpy")
def outer(x):
    return inner(x) / 0.0 if x < 0 else inner(x)
"""
START = """
import json
from {module} import {name} as kernel
print(json.dumps([
    [{calls}], sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()),
    kernel.stats.cache_path
]))
"""
NUMBERS = (4, -4)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return an installation with a package of two kernels, one of which calls the other."""
    site = tmp_path / "site"
    (site / "loops").mkdir(parents=True)
    shutil.copy(_jit.__file__, site / "loops")
    (site / "loops" / "inner.py").write_text(INNER)
    (site / "loops" / "outer.py").write_text(OUTER)
    (tmp_path / "tmp").mkdir()
    return site


Started = tuple[list[object], int, int, Path]
"""Results of the calls of a kernel, its cache hits, its cache misses, and its cache folder."""


def environment(site: Path, variables: dict[str, str]) -> dict[str, str]:
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    }
    return {**inherited, "HOME": os.devnull, "TMPDIR": str(site.parent / "tmp"), **variables}


def start_process(site: Path, module: str, name: str, calls: str) -> Started:
    """Call a kernel in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", START.format(module=module, name=name, calls=calls)],
        env={**environment(site, {}), "PYTHONPATH": str(site)}, capture_output=True, text=True,
        cwd=site.parent,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answers, hits, misses, path = json.loads(ran.stdout)
    return answers, hits, misses, Path(path)


def start(
    site: Path, name: str, *numbers: int, before: Callable[[], None] | None = None, **variables: str
) -> Started:
    """Import the package again and call one kernel; `before` runs after `outer` was imported."""
    with pytest.MonkeyPatch.context() as patch:
        forget_package()
        patch.setattr(os, "environ", environment(site, variables))
        patch.setattr(tempfile, "tempdir", None)
        # the edits follow each other faster than its time stamps
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.syspath_prepend(site)
        patch.chdir(site.parent)
        numba.config.reload_config()
        try:
            if before is not None:
                importlib.import_module("loops.outer")
                before()
            kernel = getattr(importlib.import_module(f"loops.{name}"), name)
            answers = [kernel(number) for number in numbers]
        finally:
            forget_package()
            patch.undo()
            numba.config.reload_config()
    hits, misses = kernel.stats.cache_hits, kernel.stats.cache_misses
    return answers, sum(hits.values()), sum(misses.values()), Path(kernel.stats.cache_path)


def forget_package() -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "loops"]:
        del sys.modules[module]


def close(site: Path) -> None:
    """Prevent writes beside the sources, by files named `__pycache__`."""
    for folder in [site, *(path for path in site.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()


def test_a_second_start_compiles_nothing_unless_sources_changed(site: Path) -> None:
    close(site)
    answers, hits, misses, path = start(site, "outer", *NUMBERS)
    assert (answers, hits, misses) == ([5.0, float("-inf")], 0, 1)
    private = site.parent / "tmp" / f"covey-{os.getuid()}"
    assert path.is_relative_to(private)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert start(site, "outer", *NUMBERS) == (answers, 1, 0, path)
    (site / "loops" / "inner.py").write_text(INNER.replace("1", "2"))
    answers, hits, misses, _ = start(site, "outer", *NUMBERS)
    assert answers[0] == 6.0, "the file of the kernel that is called is not the one that changed"
    assert (hits, misses) == (0, 1)


def test_covey_caches_kernels_in_a_read_only_installation(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    shutil.copytree(
        Path(covey.__file__).parent, tmp_path / "site" / "covey",
        ignore=shutil.ignore_patterns("__pycache__"),
    )  # fmt: skip
    close(tmp_path / "site")
    small = "covey.index.kernels.tree_nodes", "find_bucket", "kernel(7, 4, 1 << 16, 9)"
    assert start_process(tmp_path / "site", *small)[:3] == ([4], 0, 1)
    assert start_process(tmp_path / "site", *small)[:3] == ([4], 1, 0)


def test_only_a_private_folder_of_the_user_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"covey-{os.getuid()}"
    assert _jit._make_private_folder() == _jit._make_private_folder() == str(folder)
    folder.chmod(0o770)  # other users may have written in it
    with pytest.raises(PermissionError):
        _jit._make_private_folder()
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")  # another user may have made the link
    with pytest.raises(PermissionError):
        _jit._make_private_folder()
    folder.unlink()
    folder.touch()
    with pytest.raises(FileExistsError):
        _jit._make_private_folder()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (tmp_path / "covey-12345").mkdir(mode=0o700)
    with pytest.raises(PermissionError):
        _jit._make_private_folder()


def test_two_checkouts_share_compiled_kernels(site: Path) -> None:
    shared = str(site.parent / "shared")
    call = "outer", *NUMBERS
    answers, hits, misses, path = start(site, *call, NUMBA_CACHE_DIR=shared)
    assert (hits, misses, path.parent) == (0, 1, Path(shared))
    second = site.parent / "other" / "site"
    shutil.copytree(site, second, ignore=shutil.ignore_patterns("__pycache__"))
    (second.parent / "tmp").mkdir()
    assert start(second, *call, NUMBA_CACHE_DIR=shared) == (answers, 1, 0, path)


def test_a_kernel_whose_source_changed_after_hashing_is_not_cached(site: Path) -> None:
    """Import a module after the sources of its folder were hashed, and edit it in between."""
    (site / "loops" / "late.py").write_text(INNER.replace("inner", "late"))
    path = site / "loops" / "late.py"

    def edit() -> None:
        path.write_text(path.read_text().replace("x + 1", "x + 20"))

    answers, hits, misses, folder = start(site, "late", 4, before=edit)
    assert (answers, hits, misses) == ([24], 0, 1)
    assert not list(folder.glob("late.*"))
    path.write_text(INNER.replace("inner", "late"))
    assert start(site, "late", 4)[0] == [5]


def test_an_entry_depends_on_sources_and_options_but_not_on_hidden_files(site: Path) -> None:
    *_, folder = start(site, "inner", 4)
    (site / "loops" / ".#inner.py").symlink_to("somebody@somewhere")  # the lock of an editor
    assert start(site, "inner", 4) == ([5], 1, 0, folder)
    *_, checked = start(site, "inner", NUMBA_BOUNDSCHECK="1")
    assert checked != folder


def test_the_locator_setting_of_numba_is_ignored(site: Path) -> None:
    """Locators of numba hash the file of a kernel, but not those of the kernels that it calls."""
    chosen = {"NUMBA_CACHE_LOCATOR_CLASSES": "InTreeCacheLocator"}
    assert start(site, "outer", *NUMBERS, **chosen)[0][0] == 5.0
    (site / "loops" / "inner.py").write_text(INNER.replace("1", "200"))
    assert start(site, "outer", *NUMBERS, **chosen)[0][0] == 204.0


def test_an_unusable_folder_is_skipped_for_the_next(site: Path) -> None:
    blocked = str(site.parent / "tmp" / "a file")
    Path(blocked).touch()
    *_, folder = start(site, "inner", 4, NUMBA_CACHE_DIR=blocked)
    assert folder.parent == site / "loops" / "__pycache__"
    close_all = {"HOME": "", "XDG_CACHE_HOME": "somewhere/relative"}
    shutil.rmtree(site / "loops" / "__pycache__")
    close(site)
    *_, folder = start(site, "inner", 4, **close_all)
    assert folder.is_relative_to(site.parent / "tmp")
    assert not (site.parent / "somewhere").exists()


def test_a_kernel_is_compiled_if_its_folder_cannot_be_made(site: Path) -> None:
    *_, folder = start(site, "inner", 4)
    shutil.rmtree(folder)
    folder.touch()
    assert start(site, "inner", 4)[:3] == ([5], 0, 1)


def entries(folder: Path) -> _jit._EntryFiles:
    sources = _jit._Sources.read(Path(_jit.__file__).parent)
    return _jit._EntryFiles(folder, "inner-1", sources)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda _: b"", lambda _: b"x" * 99]
)
def test_a_damaged_entry_counts_as_missing(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    files = entries(tmp_path)
    files.save("int64", "machine code")
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    assert files.load("int64") is None


def test_entries_for_different_types_never_share_a_file(tmp_path: Path) -> None:
    """Two processes compile at once: each started before the other saved its entry."""
    first, second = entries(tmp_path), entries(tmp_path)
    first.save("int64", "machine code for integers")
    second.save("float64", "machine code for floats")
    assert first.load("float64") == "machine code for floats"
    assert second.load("int64") == "machine code for integers"
    assert first.load("complex128") is None
    first.flush()
    assert second.load("int64") is None
    assert not list(tmp_path.iterdir())


def test_a_kernel_is_compiled_if_no_folder_is_writable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(sources: str) -> str:
        raise PermissionError

    monkeypatch.setattr(_jit, "_writable_root", refuse)
    twice = _jit.kernel(lambda x: 2 * x)
    assert twice(4) == 8
    assert twice.stats.cache_path is None


def test_kernels_call_kernels_of_their_own_folder_only() -> None:
    """Only sources of one folder are part of the key of a cache entry."""
    root = Path(covey.__file__).parent
    sources = [path for path in root.rglob("*.py") if "@kernel" in path.read_text()]
    kernels = {
        (".".join(path.relative_to(root.parent).with_suffix("").parts), node.name)
        for path in sources
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any("kernel" in ast.unparse(decorator) for decorator in node.decorator_list)
    }
    assert len(kernels) > 50
    for path in sources:
        folder = ".".join(path.parent.relative_to(root.parent).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module != "covey._jit":
                foreign = {name.name for name in node.names if (node.module, name.name) in kernels}
                assert not foreign or node.module.rpartition(".")[0] == folder, (path, foreign)
