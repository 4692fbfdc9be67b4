"""Picture of zones: a map of their bounds over one or two attributes, their work and their memory.

The ticks of an axis are the values at which zones are split. They have equal distances, so that
texts and skewed numbers are legible. Zones that differ only in attributes that are not drawn
overlap; the zone with the most work is on top.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.cli.plotting import compress_png
from covey.geometry.scalars import Scalars
from covey.space.keys import decode_key, key_domain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.cli.zones.report import ZoneReport

__all__ = ["draw_zones"]

_WIDTH_INCHES = 10.0
_MAX_TICKS, _MAX_NUMBERED_ZONES, _MAX_BARS = (
    9,
    80,
    400,
)  # labels of an axis; zones above which numbers are left out; bars
_EDGE_COLOUR, _MEAN_COLOUR, _LIMIT_COLOUR = "#333333", "#b5367a", "#3b0f70"
_PLOT_STYLE: Any = {
    "font.size": 18, "axes.titlesize": 20, "axes.titlelocation": "left", "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.15,
}  # fmt: skip


def draw_zones(
    report: ZoneReport, attribute_names: tuple[str, ...], worker_memory_bytes: int | None
) -> bytes:
    """Return a PNG with bar charts of the work and of the memory of each zone.

    If `attribute_names` contains one or two attributes, a map of the zones over these attributes is
    above the charts.
    """
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    with rc_context(_PLOT_STYLE):
        heights = [7.0 if len(attribute_names) == 2 else 2.5] * bool(attribute_names) + [3.2, 3.2]
        figure = Figure(figsize=(_WIDTH_INCHES, sum(heights)), layout="constrained")
        panels = list(figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        times = report.load_shares * len(report)
        if attribute_names:
            _draw_zone_map(panels.pop(0), report, attribute_names, times, colormaps["magma_r"])
        title = "Work of each zone, as a multiple of the mean"
        _draw_bars(panels[0], times, title, 1.0, "mean", _MEAN_COLOUR)
        sizes = report.size_bytes / 1e6
        limit = None if worker_memory_bytes is None else worker_memory_bytes / 1e6
        _draw_bars(panels[1], sizes, "Memory of each zone, MB", limit, "a worker's", _LIMIT_COLOUR)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return compress_png(content)


def _draw_zone_map(
    axes: Axes,
    report: ZoneReport,
    attribute_names: tuple[str, ...],
    relative_loads: NDArray[np.float64],
    colour_map: Any,
) -> None:
    from matplotlib.patches import Rectangle

    spans = [_SplitAxis(report, name) for name in attribute_names]
    most = max(2.0, float(relative_loads.max()))
    for zone in np.argsort(relative_loads, kind="stable").tolist():
        (left, right), (low, high) = (
            (span.zone_spans[zone] for span in spans)
            if len(spans) == 2
            else (spans[0].zone_spans[zone], (0, 1))
        )
        colour = colour_map(0.08 + 0.8 * float(relative_loads[zone]) / most)
        axes.add_patch(
            Rectangle(
                (left, low), right - left, high - low, facecolor=colour, edgecolor=_EDGE_COLOUR
            )
        )
        if len(report) <= _MAX_NUMBERED_ZONES:
            ink = "white" if relative_loads[zone] > most / 2 else "black"
            middle = (left + right) / 2, (low + high) / 2
            axes.text(*middle, str(zone), ha="center", va="center", color=ink, size=12)
    axes.set_title("Zones; darker zones have more work")
    spans[0].label_axis(axes.xaxis)
    axes.set_xlim(spans[0].start, spans[0].end)
    axes.set_ylim((spans[1].start, spans[1].end) if len(spans) == 2 else (0, 1))
    if len(spans) == 2:
        spans[1].label_axis(axes.yaxis)
    else:
        axes.set_yticks([])


class _SplitAxis:
    """Axis of one attribute, with a position for each value at which zones are split.

    The position of null is before all others.
    """

    def __init__(self, report: ZoneReport, attribute_name: str) -> None:
        self.attribute_name, type_ = attribute_name, report.zone_regions.space[attribute_name].type
        whole = key_domain(type_)
        every = np.arange(len(report))
        batch = report.zone_regions.gather_constraints(
            report.zone_regions.space[attribute_name], every
        )
        assert isinstance(batch, Scalars)
        firsts = {low for low in batch.lower.tolist() if low > whole.low}
        firsts -= {whole.high}
        self.split_keys = sorted(firsts)
        has_null_zone = bool((batch.lower > batch.upper).any())
        self.start, self.end = (-1 if has_null_zone else 0), len(self.split_keys) + 1
        places = {first: place + 1 for place, first in enumerate(self.split_keys)}
        self.zone_spans = []
        for low, high in zip(batch.lower.tolist(), batch.upper.tolist(), strict=True):
            if low > high:
                self.zone_spans.append((-1, 0))
                continue
            end = len(self.split_keys) + 1
            after = [first for first in self.split_keys if first > high]
            self.zone_spans.append((places.get(low, 0), places[after[0]] if after else end))
        self._split_labels = [_shorten_value(decode_key(first, type_)) for first in self.split_keys]

    def label_axis(self, axis: Any) -> None:
        step = max(1, -(-len(self.split_keys) // _MAX_TICKS))
        shown = list(range(0, len(self.split_keys), step))
        places = [place + 1.0 for place in shown]
        texts = [self._split_labels[place] for place in shown]
        if self.start < 0:
            places, texts = [-0.5, *places], ["null", *texts]
        axis.set_ticks(places, texts)
        axis.set_label_text(self.attribute_name)


def _shorten_value(split_value: object) -> str:
    text = f"{split_value:.4g}" if isinstance(split_value, float) else str(split_value)
    return text if len(text) <= 12 else f"{text[:11]}…"


def _draw_bars(
    axes: Axes,
    heights: NDArray[np.float64],
    title: str,
    reference: float | None,
    reference_name: str,
    colour: str,
) -> None:
    ordered = np.sort(heights)[::-1][:_MAX_BARS]
    axes.bar(range(len(ordered)), ordered, width=0.9, color="#f98e5a", edgecolor="none")
    if reference is not None:
        axes.axhline(reference, color=colour, linewidth=2)
        axes.text(
            len(ordered) - 0.5,
            reference,
            reference_name,
            color=colour,
            ha="right",
            va="bottom",
            size=16,
        )
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_xlabel("zones, the largest first")
    axes.spines[["top", "right"]].set_visible(False)
