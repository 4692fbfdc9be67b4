"""The picture of zones: where they are by two attributes, and what each has.

Places on an axis are the values at which zones are cut, at equal distances whatever they are, so
that text and skewed numbers can be read. Where zones differ by other attributes they lie upon each
other: then the busiest of them is seen.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.cli.picture import smaller
from covey.geometry.scalars import Scalars
from covey.space.keys import domain, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.cli.zones_found import Found

__all__ = ["drawn"]

_WIDTH = 10.0  # inches
_TICKS, _NUMBERED, _BARS = 9, 80, 400  # at most: labels of an axis, zones with numbers, bars
_LINE, _MEAN, _LIMIT = "#333333", "#b5367a", "#3b0f70"
_STYLE: Any = {
    "font.size": 18, "axes.titlesize": 20, "axes.titlelocation": "left", "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.15,
}  # fmt: skip


def drawn(found: Found, names: tuple[str, ...], memory: int | None) -> bytes:
    """A PNG: the zones by one or two attributes, their work, and their memory."""
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        heights = [7.0 if len(names) == 2 else 2.5] * bool(names) + [3.2, 3.2]
        figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
        panels = list(figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
        times = found.work * len(found)
        if names:
            _map(panels.pop(0), found, names, times, colormaps["magma_r"])
        _bars(panels[0], times, "Work of each zone, in times the mean", 1.0, "mean", _MEAN)
        sizes = found.size_bytes / 1e6
        limit = None if memory is None else memory / 1e6
        _bars(panels[1], sizes, "Memory of each zone, MB", limit, "a worker's", _LIMIT)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return smaller(content)


def _map(
    axes: Axes, found: Found, names: tuple[str, ...], times: NDArray[np.float64], colours: Any
) -> None:
    from matplotlib.patches import Rectangle

    spans = [_Axis(found, name) for name in names]
    most = max(2.0, float(times.max()))
    for zone in np.argsort(times, kind="stable").tolist():
        (left, right), (low, high) = (
            (span.spans[zone] for span in spans)
            if len(spans) == 2
            else (spans[0].spans[zone], (0, 1))
        )
        colour = colours(0.08 + 0.8 * float(times[zone]) / most)
        axes.add_patch(
            Rectangle((left, low), right - left, high - low, facecolor=colour, edgecolor=_LINE)
        )
        if len(found) <= _NUMBERED:
            ink = "white" if times[zone] > most / 2 else "black"
            middle = (left + right) / 2, (low + high) / 2
            axes.text(*middle, str(zone), ha="center", va="center", color=ink, size=12)
    axes.set_title("Zones, the darker the more work")
    spans[0].label(axes.xaxis)
    axes.set_xlim(spans[0].start, spans[0].end)
    axes.set_ylim((spans[1].start, spans[1].end) if len(spans) == 2 else (0, 1))
    if len(spans) == 2:
        spans[1].label(axes.yaxis)
    else:
        axes.set_yticks([])


class _Axis:
    """One attribute: a place for each value at which zones are cut, and for null before all."""

    def __init__(self, found: Found, name: str) -> None:
        self.name, type_ = name, found.extents.space[name].type
        whole = domain(type_)
        every = np.arange(len(found))
        batch = found.extents.batch(found.extents.space[name], every)
        assert isinstance(batch, Scalars)
        firsts = {low for low in batch.lower.tolist() if low > whole.low}
        firsts -= {whole.high}
        self.values = sorted(firsts)
        has_null_zone = bool((batch.lower > batch.upper).any())
        self.start, self.end = (-1 if has_null_zone else 0), len(self.values) + 1
        places = {first: place + 1 for place, first in enumerate(self.values)}
        self.spans = []
        for low, high in zip(batch.lower.tolist(), batch.upper.tolist(), strict=True):
            if low > high:
                self.spans.append((-1, 0))
                continue
            end = len(self.values) + 1
            after = [first for first in self.values if first > high]
            self.spans.append((places.get(low, 0), places[after[0]] if after else end))
        self._texts = [_short(value(first, type_)) for first in self.values]

    def label(self, axis: Any) -> None:
        step = max(1, -(-len(self.values) // _TICKS))
        shown = list(range(0, len(self.values), step))
        places = [place + 1.0 for place in shown]
        texts = [self._texts[place] for place in shown]
        if self.start < 0:
            places, texts = [-0.5, *places], ["null", *texts]
        axis.set_ticks(places, texts)
        axis.set_label_text(self.name)


def _short(shown: object) -> str:
    text = f"{shown:.4g}" if isinstance(shown, float) else str(shown)
    return text if len(text) <= 12 else f"{text[:11]}…"


def _bars(
    axes: Axes, heights: NDArray[np.float64], title: str, line: float | None, name: str, colour: str
) -> None:
    ordered = np.sort(heights)[::-1][:_BARS]
    axes.bar(range(len(ordered)), ordered, width=0.9, color="#f98e5a", edgecolor="none")
    if line is not None:
        axes.axhline(line, color=colour, linewidth=2)
        axes.text(len(ordered) - 0.5, line, name, color=colour, ha="right", va="bottom", size=16)
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_xlabel("zones, the largest first")
    axes.spines[["top", "right"]].set_visible(False)
