"""Picture of plans: the network, and bandwidth, delay and load of each plan."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_local_path
from covey.cli.plotting import compress_png
from covey.errors import InvalidArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.plan import Plan

__all__ = ["check_plot_path", "draw_plans"]

_WIDTH_INCHES, _MAX_DOTS = 10.0, 6_000  # at most this many subscribers are drawn
_PLAN_COLOURS = ("#b5367a", "#3b0f70", "#e08214", "#35978f", "#999999")
_BOUND_COLOUR, _LIMIT_COLOUR, _TARGET_COLOUR, _LINK_COLOUR = (
    "#111111",
    "#c1121f",
    "#d98c00",
    "#555555",
)
_MAX_NUMBERED_BROKERS = 40  # with more brokers, no numbers are drawn
_PLOT_STYLE: Any = {
    "font.size": 16, "axes.titlesize": 19, "axes.titlelocation": "left", "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.15, "legend.fontsize": 13,
}  # fmt: skip


def check_plot_path(path: Path) -> None:
    """Raise an error if the picture cannot be written to a path, or matplotlib is missing."""
    check_local_path("--picture", path)
    import_module("matplotlib")  # if it is missing, the command names the extra
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidArgumentError(f"--picture {path} must be a file in an existing folder")
    if path.suffix.lower() != ".png":
        raise InvalidArgumentError(f"--picture {path} must end in .png, the only format")


def draw_plans(plans: dict[str, Plan], lower_bound: float | None) -> bytes:
    """Return a PNG that compares plans of one problem; `plans` contains them by planner.

    The network is drawn for the first plan.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_PLOT_STYLE):
        heights = [6.8, 3.2, 3.6, 3.6, 3.6]
        figure = Figure(figsize=(_WIDTH_INCHES, sum(heights)), layout="constrained")
        panels = figure.subplots(len(heights), 1, height_ratios=heights)
        best = next(iter(plans.values()))
        _draw_network(panels[0], best)
        _draw_bandwidth(panels[1], plans, lower_bound)
        _draw_broker_bandwidth(panels[2], plans)
        _draw_delays(panels[3], plans)
        _draw_loads(panels[4], plans)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100)
    return compress_png(content)


def _project_to_plane(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Return the positions to draw of publisher and brokers, and of subscribers, and a label.

    Positions of more than two dimensions are projected to the plane in which brokers are farthest
    apart. The label says what the plane is.
    """
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


def _draw_network(axes: Axes, plan: Plan) -> None:
    nodes, places, said = _project_to_plane(plan)
    rows = np.random.default_rng(0).permutation(len(places))[:_MAX_DOTS]
    hue: Any = {"cmap": "tab20", "vmin": 0, "vmax": 19}
    tint = np.arange(len(plan.bandwidth_by_broker)) * 7 % 20
    x, y = places[rows].T
    axes.scatter(x, y, c=tint[plan.assignment[rows]], s=7, linewidths=0, **hue)
    parents = plan.problem.tree.parents
    for child, parent in enumerate(parents.tolist()):
        if parent >= 0 or (parents >= 0).any():
            way = nodes[[child + 1, parent + 1]].T
            axes.plot(*way, color=_LINK_COLOUR, linewidth=1.0)
    size = 40 + 300 * plan.bandwidth_by_broker / max(1e-300, plan.bandwidth_by_broker.max())
    x, y = nodes[1:].T
    axes.scatter(x, y, c=tint, s=size, edgecolor=_BOUND_COLOUR, linewidths=1.2, zorder=3, **hue)
    x, y = nodes[:1].T
    axes.scatter(x, y, marker="*", s=260, color=_BOUND_COLOUR, label="publisher", zorder=3)
    if len(nodes) <= _MAX_NUMBERED_BROKERS:
        for number, (x, y) in enumerate(nodes[1:]):
            axes.annotate(str(number), (x, y), xytext=(6, 6), textcoords="offset points")
    axes.legend(loc="best")
    axes.set_title("Colours: broker of a subscriber; size of a broker: bandwidth")
    axes.set_xlabel(said)
    axes.set_aspect("equal", adjustable="datalim")


def _draw_bandwidth(axes: Axes, plans: dict[str, Plan], lower_bound: float | None) -> None:
    widths = [plan.bandwidth for plan in plans.values()]
    bars = axes.barh(range(len(plans)), widths, color=_PLAN_COLOURS)
    axes.set_yticks(range(len(plans)), list(plans))
    said = [f" {_format_bandwidth(width)}" for width in widths]
    for number, plan in enumerate(plans.values()):
        if not (kept := plan.verify()).is_valid:
            bars[number].set_alpha(0.3)
            said[number] += f"  {kept.too_far:,} too far, {kept.over_capacity:,} over capacity"
    axes.bar_label(bars, said, fontsize=14)
    axes.invert_yaxis()
    axes.margins(x=0.6)
    title = "Bandwidth of all brokers"
    if lower_bound:
        axes.axvline(lower_bound, color=_BOUND_COLOUR, linestyle="--")
        title += f"; dashed: lower bound {_format_bandwidth(lower_bound)}"
    axes.set_title(title)
    axes.set_xlabel(_describe_bandwidth_unit(plans))


def _format_bandwidth(bandwidth: float) -> str:
    """Return a bandwidth with four digits, or more if it is large.

    >>> _format_bandwidth(3.28135), _format_bandwidth(18863.4)
    ('3.281', '18,863')
    """
    return f"{bandwidth:,.0f}" if bandwidth >= 1_000 else f"{bandwidth:.4g}"


def _describe_bandwidth_unit(plans: dict[str, Plan]) -> str:
    is_share = next(iter(plans.values())).problem.event_sample is not None
    return "share of all events, added up" if is_share else "volume of filters, added up"


def _draw_sorted_lines(
    axes: Axes, plans: dict[str, Plan], values: list[NDArray[np.float64]]
) -> None:
    for name, some, colour in zip(plans, values, _PLAN_COLOURS, strict=False):
        ranks = np.arange(1, len(some) + 1)
        marker = "o" if len(some) < _MAX_NUMBERED_BROKERS else None
        axes.plot(ranks, np.sort(some)[::-1], color=colour, lw=2, marker=marker, label=name)


def _draw_broker_bandwidth(axes: Axes, plans: dict[str, Plan]) -> None:
    _draw_sorted_lines(axes, plans, [plan.bandwidth_by_broker for plan in plans.values()])
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2)
    axes.set_title("Bandwidth of each broker, the largest first")
    axes.set_xlabel("brokers")
    axes.set_ylabel("share of events" if "share" in _describe_bandwidth_unit(plans) else "volume")


def _draw_delays(axes: Axes, plans: dict[str, Plan]) -> None:
    for (name, plan), colour in zip(plans.items(), _PLAN_COLOURS, strict=False):
        delays = np.sort(plan.delays)
        share = np.linspace(0, 1, len(delays))
        axes.plot(delays, share, color=colour, linewidth=2, label=name)
    problem = next(iter(plans.values())).problem
    if problem.allowed_leaves is None:
        limit = f"limit {problem.max_delay:g}"
        axes.axvline(problem.max_delay, color=_LIMIT_COLOUR, linestyle="--", label=limit)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.05)
    axes.legend(loc="lower right", ncols=2)
    axes.set_title("Delay of subscribers")
    axes.set_xlabel("excess over the shortest path: 0.1 is 10%")
    axes.set_ylabel("share of subscribers")


def _draw_loads(axes: Axes, plans: dict[str, Plan]) -> None:
    problem = next(iter(plans.values())).problem
    fair = problem.fair_shares * len(problem.subscribers)
    _draw_sorted_lines(axes, plans, [plan.loads / fair for plan in plans.values()])
    axes.axhline(
        problem.max_load, color=_LIMIT_COLOUR, ls="--", label=f"limit {problem.max_load:g}"
    )
    axes.axhline(
        problem.target_load, color=_TARGET_COLOUR, ls=":", label=f"target {problem.target_load:g}"
    )
    axes.set_ylim(bottom=0)
    axes.legend(ncols=2)
    axes.set_title("Load of each leaf, the largest first")
    axes.set_xlabel("leaves")
    axes.set_ylabel("times its fair share")
