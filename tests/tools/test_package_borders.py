"""Packages of covey import only names that other packages export."""

from __future__ import annotations

from pathlib import Path

from tools.package_borders import ROOT, iter_break_ins

# (importing module, name) -> why it may import a name that is not exported; must stay empty.
ALLOWED: dict[tuple[str, str], str] = {}


def test_packages_import_only_exported_names() -> None:
    assert set(iter_break_ins(ROOT)) == set(ALLOWED)


def test_imports_of_private_names_are_found(tmp_path: Path) -> None:
    sources = {
        "errors.py": "__all__ = ['StoreError']\n",
        "store/__init__.py": "__all__ = ['Store']\nfrom shop.store.store import Store\n",
        "store/store.py": "__all__ = ['Store']\nfrom shop.store.files.local import put\n",
        "store/_secret.py": "__all__ = ['key']\n",
        "store/files/__init__.py": "__all__ = ['put']\n",
        "store/files/local.py": "__all__ = ['put']\n",
        "spark/__init__.py": "",
        "spark/good.py": (
            "from shop.errors import StoreError\nfrom shop.store import Store\nimport shop.store\n"
            "from shop.store.store import Store\nfrom shop.store.files import put\nimport numpy\n"
        ),
        "spark/bad.py": (
            "from shop.store import _secret\nfrom shop.store._secret import key\n"
            "from shop.store.store import helper\nfrom shop.store.files import local\n"
            "from shop.store.files.local import put\n"
            "def later():\n    import shop.store.files.local\n"
        ),
    }
    root = tmp_path / "shop"
    for name, text in sources.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert list(iter_break_ins(root)) == [
        ("shop.spark.bad", "shop.store._secret"),
        ("shop.spark.bad", "shop.store._secret.key"),
        ("shop.spark.bad", "shop.store.store.helper"),
        ("shop.spark.bad", "shop.store.files.local"),
        ("shop.spark.bad", "shop.store.files.local.put"),
        ("shop.spark.bad", "shop.store.files.local"),
    ]
