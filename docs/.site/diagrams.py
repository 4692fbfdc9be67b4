"""Hook of MkDocs: draw Mermaid diagrams in the browser, with a script that the site itself serves.

`make docs` fetches the script. Without it, as in tests, a diagram stays the text that it is written
in: the theme would otherwise load a script from elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pymdownx.superfences import fence_code_format

__all__ = ["on_config", "on_files"]

SCRIPT = Path(__file__).parents[2] / ".mermaid" / "mermaid.min.js"
URI = f"javascripts/{SCRIPT.name}"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the script, and the fence that it draws, if the script is there."""
    if SCRIPT.exists():
        config.extra_javascript.append(URI)
        fence = {"name": "mermaid", "class": "mermaid", "format": fence_code_format}
        config.mdx_configs["pymdownx.superfences"]["custom_fences"] = [fence]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Copy the script into the site."""
    if SCRIPT.exists():
        files.append(File.generated(config, URI, abs_src_path=str(SCRIPT)))
    return files
