"""The plot of a reduction: regions after each step, and statuses by owner and by attribute.

The panels are below each other and the letters are large, so that the plot is legible on a phone.
The colours of statuses differ in brightness, so that the plot can be printed without colours.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from covey.cli.console_format import format_percent
from covey.cli.plotting import compress_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.cli.reduce.report import StatusCounts
    from covey.covering import ReductionSummary

__all__ = ["draw_reduction"]

_STATUS_COLOURS = {
    "active": "#3b0f70", "subsumed": "#b5367a", "covered": "#f98e5a", "equal": "#fde0a8",
    "never": "#ffffff",
}  # fmt: skip
_STATUS_HATCHES = {**dict.fromkeys(_STATUS_COLOURS), "never": "///"}
_TOTAL_COLOUR, _PERFECT_MERGE_COLOUR, _IMPERFECT_MERGE_COLOUR = "#444444", "#777777", "#c4c4c4"
_DARK_COLOURS = (
    _TOTAL_COLOUR,
    _PERFECT_MERGE_COLOUR,
    _STATUS_COLOURS["active"],
    _STATUS_COLOURS["subsumed"],
)
_MAX_ROWS, _MAX_NAME_LENGTH = 12, 18
_WIDTH_INCHES, _ROW_HEIGHT_INCHES = 10.0, 0.42
_TITLE_ROWS, _LEGEND_ROWS = 1.6, 1.0  # heights in a panel, in rows
_LABEL_WIDTH, _LABEL_GAP = 0.6, 0.015  # space for a text beside a bar, as shares of a panel's width
_EDGE_STYLE: Any = {"edgecolor": "black", "linewidth": 0.8}
_PLOT_STYLE: Any = {
    "font.size": 20, "axes.titlesize": 21, "axes.titlelocation": "left", "legend.fontsize": 18,
    "hatch.linewidth": 1.5, "text.parse_math": False, "figure.constrained_layout.h_pad": 0.12,
}  # fmt: skip


def draw_reduction(
    summary: ReductionSummary,
    statuses_by_owner: Mapping[str, StatusCounts],
    statuses_by_attribute: Mapping[str, StatusCounts],
) -> bytes:
    """Return a PNG with the regions after each step, and statuses by owner and by attribute.

    At most 12 owners and 12 attributes are drawn: those with the largest counts.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    panels = {
        "Subscriptions of the largest owners": _select_largest(statuses_by_owner),
        "Regions, by an attribute they constrain": _select_largest(statuses_by_attribute),
    }
    panels = {title: rows for title, rows in panels.items() if rows}
    counts = [_TITLE_ROWS + 8, *(_TITLE_ROWS + len(rows) for rows in panels.values())]
    if panels:
        counts[1] += _LEGEND_ROWS
    with rc_context(_PLOT_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a letter that no font here has
        figure = Figure(
            figsize=(_WIDTH_INCHES, _ROW_HEIGHT_INCHES * sum(counts)), layout="constrained"
        )
        axes = figure.subplots(len(counts), 1, height_ratios=counts, squeeze=False)[:, 0]
        _draw_waterfall(axes[0], summary)
        for place, (title, rows) in zip(axes[1:], panels.items(), strict=True):
            _draw_stacked_bars(place, title, rows)
        if panels:
            _add_legend(axes[1], [counts for rows in panels.values() for counts in rows.values()])
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return compress_png(content)


def _draw_waterfall(axes: Axes, summary: ReductionSummary) -> None:
    """Draw a waterfall chart: a bar for each step from all regions to filters."""
    perfect = summary.active - summary.perfectly_merged
    steps = [
        ("regions", 0, summary.regions, _TOTAL_COLOUR),
        ("equal", summary.regions - summary.equal, summary.equal, _STATUS_COLOURS["equal"]),
        ("covered", summary.active + summary.subsumed, summary.covered, _STATUS_COLOURS["covered"]),
        ("subsumed", summary.active, summary.subsumed, _STATUS_COLOURS["subsumed"]),
        ("active", 0, summary.active, _STATUS_COLOURS["active"]),
        ("perfect merges", perfect, summary.perfectly_merged, _PERFECT_MERGE_COLOUR),
        ("imperfect merges", summary.filters, summary.imperfectly_merged, _IMPERFECT_MERGE_COLOUR),
        ("filters", 0, summary.filters, _STATUS_COLOURS["active"]),
    ]
    for place, (name, left, width, colour) in enumerate(steps):
        axes.barh(place, width, left=left, color=colour, **_EDGE_STYLE)
        is_less = width and name not in ("regions", "active", "filters")
        said = f"{'−' if is_less else ''}{width:,}  {format_percent(width, summary.regions)}"
        _label_bar(
            axes,
            said,
            place,
            left / max(1, summary.regions),
            (left + width) / max(1, summary.regions),
            colour,
        )
    axes.set_xlim(0, max(1, summary.regions))
    axes.set_title("From all regions to filters")
    _label_rows(axes, [name for name, *_ in steps])


def _label_bar(axes: Axes, label: str, row: int, start: float, end: float, colour: str) -> None:
    """Write a text beside a bar, on the side that has space for it, or else in the bar."""
    x, side, ink = end + _LABEL_GAP, "left", "black"
    if end > _LABEL_WIDTH:
        x, side = start - _LABEL_GAP, "right"
        if start < 1 - _LABEL_WIDTH:
            x, ink = end - _LABEL_GAP, "white" if colour in _DARK_COLOURS else "black"
    where = axes.get_yaxis_transform()
    axes.text(x, row, label, va="center_baseline", ha=side, color=ink, transform=where)


def _draw_stacked_bars(axes: Axes, title: str, rows: Mapping[str, StatusCounts]) -> None:
    """Draw a bar of the same length for each row, divided by status, with the total beside it."""
    totals = [max(1, sum(counts.values())) for counts in rows.values()]
    left = [0.0] * len(rows)
    for name, colour in _STATUS_COLOURS.items():
        parts = zip(rows.values(), totals, strict=True)
        widths = [counts.get(name, 0) / total for counts, total in parts]
        axes.barh(
            range(len(rows)),
            widths,
            left=left,
            color=colour,
            hatch=_STATUS_HATCHES[name],
            **_EDGE_STYLE,
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, total in enumerate(totals):
        axes.text(1 + _LABEL_GAP, place, f"{total:,}", va="center_baseline")
    axes.set_xlim(0, 1)
    axes.set_title(title)
    _label_rows(axes, [_shorten_name(name) for name in rows])


def _add_legend(axes: Axes, status_counts: list[StatusCounts]) -> None:
    """Draw a legend of the colours that occur, between the title and the bars."""
    from matplotlib.patches import Patch

    names = [name for name in _STATUS_COLOURS if any(counts.get(name) for counts in status_counts)]
    handles = [
        Patch(facecolor=_STATUS_COLOURS[n], hatch=_STATUS_HATCHES[n], label=n, **_EDGE_STYLE)
        for n in names
    ]
    axes.set_title(axes.get_title("left"), pad=44)
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.15, 1), ncols=len(names),
        frameon=False, handlelength=1, handletextpad=0.4, columnspacing=1, borderpad=0.2,
    )  # fmt: skip


def _label_rows(axes: Axes, names: list[str]) -> None:
    """Write the names of the rows, the first at the top, and remove the frame."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _select_largest(rows: Mapping[str, StatusCounts]) -> dict[str, StatusCounts]:
    """Return the 12 rows with the largest sums of counts, the largest first."""
    order = sorted(rows, key=lambda name: (-sum(rows[name].values()), name))
    return {name: rows[name] for name in order[:_MAX_ROWS]}


def _shorten_name(name: str) -> str:
    """Return a name on one line, shortened to 18 characters.

    >>> _shorten_name("split(lower(title), ' ')")
    'split(lower(title…'
    """
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_LENGTH else f"{line[: _MAX_NAME_LENGTH - 1]}…"
