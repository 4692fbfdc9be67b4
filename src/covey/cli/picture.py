"""The picture of a compaction: what each step left, and how each owner's and attribute's fare.

Panels are below each other and letters large, so that it can be read on a phone; the colours of
standings go from dark to light, so that it can be printed.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from covey.cli.numbers import share
from covey.errors import ValueRefused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.compact import Summary

__all__ = ["check_matplotlib", "drawn", "smaller"]

Standings = Mapping[str, int]

_COLOURS = {
    "active": "#3b0f70", "subsumed": "#b5367a", "covered": "#f98e5a", "equal": "#fde0a8",
    "never": "#ffffff",
}  # fmt: skip
_HATCHES = {**dict.fromkeys(_COLOURS), "never": "///"}
_TOTAL, _PERFECT, _IMPERFECT = "#444444", "#777777", "#c4c4c4"
_DARK = (_TOTAL, _PERFECT, _COLOURS["active"], _COLOURS["subsumed"])
_MOST, _LETTERS = 12, 18
_WIDTH, _ROW = 10.0, 0.42  # inches
_HEAD, _LEGEND = 1.6, 1.0  # of a panel, in rows
_ROOM, _GAP = 0.6, 0.015  # for text, of a panel's width
_PALETTE = 128
_EDGE: Any = {"edgecolor": "black", "linewidth": 0.8}
_STYLE: Any = {
    "font.size": 20, "axes.titlesize": 21, "axes.titlelocation": "left", "legend.fontsize": 18,
    "hatch.linewidth": 1.5, "text.parse_math": False, "figure.constrained_layout.h_pad": 0.12,
}  # fmt: skip


def check_matplotlib() -> None:
    """Raises where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueRefused(
            "the picture needs matplotlib: pip install 'covey[report]', or leave the picture out "
            "with --no-picture"
        )


def drawn(
    summary: Summary, owners: Mapping[str, Standings], attributes: Mapping[str, Standings]
) -> bytes:
    """The picture as PNG: of all regions, of at most 12 owners, and of at most 12 attributes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels = {
        "Subscriptions of the largest owners": _largest(owners),
        "Regions, by an attribute they constrain": _largest(attributes),
    }
    panels = {title: rows for title, rows in panels.items() if rows}
    counts = [_HEAD + 8, *(_HEAD + len(rows) for rows in panels.values())]
    if panels:
        counts[1] += _LEGEND
    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a letter that no font here has
        figure = Figure(figsize=(_WIDTH, _ROW * sum(counts)), layout="constrained")
        axes = figure.subplots(len(counts), 1, height_ratios=counts, squeeze=False)[:, 0]
        _waterfall(axes[0], summary)
        for place, (title, rows) in zip(axes[1:], panels.items(), strict=True):
            _stacked(place, title, rows)
        if panels:
            _legend(axes[1], [counts for rows in panels.values() for counts in rows.values()])
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return smaller(content)


def _waterfall(axes: Axes, s: Summary) -> None:
    """From all regions down to filters: a bar for each step, where the last one ended."""
    perfect = s.active - s.perfectly_merged
    steps = [
        ("regions", 0, s.regions, _TOTAL),
        ("equal", s.regions - s.equal, s.equal, _COLOURS["equal"]),
        ("covered", s.active + s.subsumed, s.covered, _COLOURS["covered"]),
        ("subsumed", s.active, s.subsumed, _COLOURS["subsumed"]),
        ("active", 0, s.active, _COLOURS["active"]),
        ("perfect merges", perfect, s.perfectly_merged, _PERFECT),
        ("imperfect merges", s.filters, s.imperfectly_merged, _IMPERFECT),
        ("filters", 0, s.filters, _COLOURS["active"]),
    ]
    for place, (name, left, width, colour) in enumerate(steps):
        axes.barh(place, width, left=left, color=colour, **_EDGE)
        is_less = width and name not in ("regions", "active", "filters")
        said = f"{'−' if is_less else ''}{width:,}  {share(width, s.regions)}"
        _say(
            axes, said, place, left / max(1, s.regions), (left + width) / max(1, s.regions), colour
        )
    axes.set_xlim(0, max(1, s.regions))
    axes.set_title("From all regions to filters")
    _rows(axes, [name for name, *_ in steps])


def _say(axes: Axes, said: str, place: int, start: float, end: float, colour: str) -> None:
    """Text beside a bar, on the side that has room, or else in it."""
    x, side, ink = end + _GAP, "left", "black"
    if end > _ROOM:
        x, side = start - _GAP, "right"
        if start < 1 - _ROOM:
            x, ink = end - _GAP, "white" if colour in _DARK else "black"
    where = axes.get_yaxis_transform()
    axes.text(x, place, said, va="center_baseline", ha=side, color=ink, transform=where)


def _stacked(axes: Axes, title: str, rows: Mapping[str, Standings]) -> None:
    """A bar of the same length for each row, parted by standing; how many there are beside it."""
    totals = [max(1, sum(counts.values())) for counts in rows.values()]
    left = [0.0] * len(rows)
    for name, colour in _COLOURS.items():
        parts = zip(rows.values(), totals, strict=True)
        widths = [counts.get(name, 0) / total for counts, total in parts]
        axes.barh(range(len(rows)), widths, left=left, color=colour, hatch=_HATCHES[name], **_EDGE)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, total in enumerate(totals):
        axes.text(1 + _GAP, place, f"{total:,}", va="center_baseline")
    axes.set_xlim(0, 1)
    axes.set_title(title)
    _rows(axes, [_short(name) for name in rows])


def _legend(axes: Axes, shown: list[Standings]) -> None:
    """The colours that occur, between the title and the bars."""
    from matplotlib.patches import Patch

    names = [name for name in _COLOURS if any(counts.get(name) for counts in shown)]
    handles = [Patch(facecolor=_COLOURS[n], hatch=_HATCHES[n], label=n, **_EDGE) for n in names]
    axes.set_title(axes.get_title("left"), pad=44)
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.15, 1), ncols=len(names),
        frameon=False, handlelength=1, handletextpad=0.4, columnspacing=1, borderpad=0.2,
    )  # fmt: skip


def _rows(axes: Axes, names: list[str]) -> None:
    """Names of rows, from the top down, and no frame."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def smaller(png: io.BytesIO) -> bytes:
    """The same picture in as many colours as it has, but for the edges of letters."""
    from PIL import Image

    content = io.BytesIO()
    Image.open(png).convert("RGB").quantize(_PALETTE).save(content, "png", optimize=True)
    return content.getvalue()


def _largest(rows: Mapping[str, Standings]) -> dict[str, Standings]:
    """The rows that count the most, largest first."""
    order = sorted(rows, key=lambda name: (-sum(rows[name].values()), name))
    return {name: rows[name] for name in order[:_MOST]}


def _short(name: str) -> str:
    """A name that leaves room for the bars.

    >>> _short("split(lower(title), ' ')")
    'split(lower(title…'
    """
    line = " ".join(name.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"
