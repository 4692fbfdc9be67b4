"""Hook of MkDocs: draw Mermaid diagrams in the browser, with a script that the site itself serves.

`make docs` fetches the script. If the script is missing, as in tests, the source text of a diagram
is shown: otherwise the theme would load a script from another site.
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
    """If the script exists, add it to the site, and let it draw fenced `mermaid` blocks."""
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
