"""The picture of plans: who is where, and what each way of planning costs."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.cli.picture import smaller
from covey.errors import ValueRefused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.plan import Plan

__all__ = ["check_picture", "drawn"]

_WIDTH, _DOTS = 10.0, 6_000  # inches; subscribers that are drawn
_COLOURS = ("#b5367a", "#3b0f70", "#e08214", "#35978f", "#999999")
_BOUND, _LIMIT, _WANTED, _WAY = "#111111", "#c1121f", "#d98c00", "#555555"
_NUMBERED = 40  # brokers, at most
_STYLE: Any = {
    "font.size": 16, "axes.titlesize": 19, "axes.titlelocation": "left", "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.15, "legend.fontsize": 13,
}  # fmt: skip


def check_picture(path: Path) -> None:
    """Raises where the picture could not be written, before there is one."""
    import_module("matplotlib")  # whoever runs the command is told of its extra
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueRefused(f"--picture {path}: the name of a file in a folder that is there")
    if path.suffix.lower() != ".png":
        raise ValueRefused(f"--picture {path}: the picture is PNG, name it so")


def drawn(plans: dict[str, Plan], bound: float | None) -> bytes:
    """A PNG of plans of one problem, by the names of their ways; the first is the one to use."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        heights = [6.8, 3.2, 3.6, 3.6, 3.6]
        figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
        panels = figure.subplots(len(heights), 1, height_ratios=heights)
        best = next(iter(plans.values()))
        _map(panels[0], best)
        _bandwidth(panels[1], plans, bound)
        _brokers(panels[2], plans)
        _delays(panels[3], plans)
        _loads(panels[4], plans)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return smaller(content)


def _flat(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """The publisher and brokers, subscribers, and in what plane they are."""
    tree, places = plan.problem.tree, plan.problem.subscribers.positions
    nodes = np.vstack([tree.publisher, tree.brokers])
    if nodes.shape[1] == 1:
        return np.hstack([nodes, 0 * nodes]), np.hstack([places, 0 * places]), "network"
    if nodes.shape[1] == 2:
        return nodes, places, "network"
    middle = nodes.mean(axis=0)
    _, _, axes = np.linalg.svd(nodes - middle, full_matrices=False)
    plane = axes[:2].T
    return (nodes - middle) @ plane, (places - middle) @ plane, "network, its widest directions"


def _map(axes: Axes, plan: Plan) -> None:
    nodes, places, said = _flat(plan)
    rows = np.random.default_rng(0).permutation(len(places))[:_DOTS]
    hue: Any = {"cmap": "tab20", "vmin": 0, "vmax": 19}
    tint = np.arange(len(plan.received)) * 7 % 20
    x, y = places[rows].T
    axes.scatter(x, y, c=tint[plan.assignment[rows]], s=7, linewidths=0, **hue)
    parents = plan.problem.tree.parents
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0 or (parents >= 0).any():
            way = nodes[[child + 1, parent + 1]].T
            axes.plot(*way, color=_WAY, linewidth=1.0)
    size = 40 + 300 * plan.received / max(1e-300, plan.received.max())
    x, y = nodes[1:].T
    axes.scatter(x, y, c=tint, s=size, edgecolor=_BOUND, linewidths=1.2, zorder=3, **hue)
    x, y = nodes[:1].T
    axes.scatter(x, y, marker="*", s=260, color=_BOUND, label="publisher", zorder=3)
    if len(nodes) <= _NUMBERED:
        for number, (x, y) in enumerate(nodes[1:]):
            axes.annotate(str(number), (x, y), xytext=(6, 6), textcoords="offset points")
    axes.legend(loc="best")
    axes.set_title("Subscribers in the colour of their broker; the larger, the more it gets")
    axes.set_xlabel(said)
    axes.set_aspect("equal", adjustable="datalim")


def _bandwidth(axes: Axes, plans: dict[str, Plan], bound: float | None) -> None:
    widths = [plan.bandwidth for plan in plans.values()]
    bars = axes.barh(range(len(plans)), widths, color=_COLOURS)
    axes.set_yticks(range(len(plans)), list(plans))
    said = [f" {_number(width)}" for width in widths]
    for number, plan in enumerate(plans.values()):
        if not (kept := plan.verify()).is_valid:
            bars[number].set_alpha(0.3)
            said[number] += f"  not kept to: {kept.late:,} late, {kept.beyond:,} beyond"
    axes.bar_label(bars, said, fontsize=14)
    axes.invert_yaxis()
    axes.margins(x=0.6)
    title = "Bandwidth of all brokers"
    if bound:
        axes.axvline(bound, color=_BOUND, linestyle="--")
        title += f"; dashed: no plan is below {_number(bound)}"
    axes.set_title(title)
    axes.set_xlabel(_unit(plans))


def _number(width: float) -> str:
    """Of four digits, or more if it is large.

    >>> _number(3.28135), _number(18863.4)
    ('3.281', '18,863')
    """
    return f"{width:,.0f}" if width >= 1_000 else f"{width:.4g}"


def _unit(plans: dict[str, Plan]) -> str:
    is_share = next(iter(plans.values())).problem.events is not None
    return "share of all events, added up" if is_share else "volume of filters, added up"


def _sorted(axes: Axes, plans: dict[str, Plan], values: list[NDArray[np.float64]]) -> None:
    for name, some, colour in zip(plans, values, _COLOURS, strict=False):
        ranks = np.arange(1, len(some) + 1)
        marker = "o" if len(some) < _NUMBERED else None
        axes.plot(ranks, np.sort(some)[::-1], color=colour, lw=2, marker=marker, label=name)


def _brokers(axes: Axes, plans: dict[str, Plan]) -> None:
    _sorted(axes, plans, [plan.received for plan in plans.values()])
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2)
    axes.set_title("What comes to each broker, most first")
    axes.set_xlabel("brokers")
    axes.set_ylabel("share of events" if "share" in _unit(plans) else "volume")


def _delays(axes: Axes, plans: dict[str, Plan]) -> None:
    for (name, plan), colour in zip(plans.items(), _COLOURS, strict=False):
        delays = np.sort(plan.delays)
        share = np.linspace(0, 1, len(delays))
        axes.plot(delays, share, color=colour, linewidth=2, label=name)
    problem = next(iter(plans.values())).problem
    if problem.allowed is None:
        limit = f"limit {problem.max_delay:g}"
        axes.axvline(problem.max_delay, color=_LIMIT, linestyle="--", label=limit)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.05)
    axes.legend(loc="lower right", ncols=2)
    axes.set_title("How long subscribers wait")
    axes.set_xlabel("way beyond the shortest: 0.1 is a tenth longer")
    axes.set_ylabel("of all, up to")


def _loads(axes: Axes, plans: dict[str, Plan]) -> None:
    problem = next(iter(plans.values())).problem
    fair = problem.shares * len(problem.subscribers)
    _sorted(axes, plans, [plan.loads / fair for plan in plans.values()])
    axes.axhline(problem.most_load, color=_LIMIT, ls="--", label=f"most {problem.most_load:g}")
    axes.axhline(problem.load, color=_WANTED, ls=":", label=f"wanted {problem.load:g}")
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2)
    axes.set_title("Load of each leaf, most first")
    axes.set_xlabel("leaves")
    axes.set_ylabel("times its fair share")
