"""The picture of plans: who is where, and what each way of planning costs."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covey.cli.picture import smaller

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covey.plan import Plan

__all__ = ["drawn"]

_WIDTH, _DOTS = 10.0, 6_000  # inches; subscribers that are drawn
_COLOURS = ("#b5367a", "#3b0f70", "#e08214", "#35978f", "#999999")
_BOUND, _LIMIT = "#111111", "#c1121f"
_STYLE: Any = {
    "font.size": 16, "axes.titlesize": 19, "axes.titlelocation": "left", "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.15,
}  # fmt: skip


def drawn(plans: dict[str, Plan], bound: float | None) -> bytes:
    """A PNG of plans of one problem, by the names of their ways; the first is the one to use."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        heights = [6.5, 3.0, 3.2, 3.2, 3.2]
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


def _flat(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Brokers and some subscribers in the plane in which they differ most."""
    tree, places = plan.problem.tree, plan.problem.subscribers.positions
    middle = tree.brokers.mean(axis=0)
    away = tree.brokers - middle
    if away.shape[1] == 1:
        away, places = np.hstack([away, 0 * away]), np.hstack([places - middle, 0 * places])
        return away, places
    _, _, axes = np.linalg.svd(np.vstack([away, tree.publisher - middle]), full_matrices=False)
    return away @ axes[:2].T, (places - middle) @ axes[:2].T


def _map(axes: Axes, plan: Plan) -> None:
    brokers, places = _flat(plan)
    rows = np.random.default_rng(0).permutation(len(places))[:_DOTS]
    x, y = places[rows].T
    axes.scatter(x, y, c=plan.assignment[rows] * 7 % 20, cmap="tab20", s=6, alpha=0.7, linewidths=0)
    received = plan.received / max(1e-300, plan.received.max())
    x, y = brokers.T
    axes.scatter(x, y, s=20 + 260 * received, facecolor="none", edgecolor=_BOUND)
    for child, parent in enumerate(plan.problem.tree.parents.tolist()):
        if parent >= 0:
            axes.plot(*brokers[[child, parent]].T, color="#888888", linewidth=0.8, zorder=0)
    axes.set_title("Subscribers by their broker; circles: what comes to each broker")
    axes.set_xlabel("network, in its two widest directions")
    axes.set_aspect("equal", adjustable="datalim")


def _bandwidth(axes: Axes, plans: dict[str, Plan], bound: float | None) -> None:
    names = list(plans)
    bars = axes.barh(names, [plan.bandwidth for plan in plans.values()], color=_COLOURS)
    axes.bar_label(bars, [f" {plan.bandwidth:,.4g}" for plan in plans.values()])
    axes.invert_yaxis()
    axes.margins(x=0.18)
    title = "Bandwidth of all brokers"
    if bound:
        axes.axvline(bound, color=_BOUND, linestyle="--")
        title += f"; dashed: no plan is below {bound:,.4g}"
    axes.set_title(title)


def _sorted(axes: Axes, values: list[NDArray[np.float64]]) -> None:
    for some, colour in zip(values, _COLOURS, strict=False):
        axes.plot(np.sort(some)[::-1], color=colour, linewidth=2)
    axes.set_ylim(bottom=0)


def _brokers(axes: Axes, plans: dict[str, Plan]) -> None:
    _sorted(axes, [plan.received for plan in plans.values()])
    axes.set_title("Bandwidth of each broker, most first")
    axes.set_xlabel("brokers")


def _delays(axes: Axes, plans: dict[str, Plan]) -> None:
    most = 0.0
    for plan, colour in zip(plans.values(), _COLOURS, strict=False):
        delays = np.sort(plan.delays)
        most = max(most, float(np.quantile(delays, 0.995)))
        share = np.linspace(0, 1, len(delays))
        axes.plot(delays, share, color=colour, linewidth=2)
    problem = next(iter(plans.values())).problem
    if problem.allowed is None:
        axes.axvline(problem.max_delay, color=_LIMIT, linestyle="--")
        most = max(most, 1.1 * problem.max_delay)
    axes.set_xlim(0, most)
    axes.set_title("Subscribers who wait no longer than the shortest way and so much")
    axes.set_xlabel("delay beyond the shortest way; dashed: the limit")


def _loads(axes: Axes, plans: dict[str, Plan]) -> None:
    problem = next(iter(plans.values())).problem
    fair = problem.shares * len(problem.subscribers)
    _sorted(axes, [plan.loads / fair for plan in plans.values()])
    for factor in {problem.load, problem.most_load}:
        axes.axhline(factor, color=_LIMIT, linestyle="--", linewidth=1)
    axes.set_title("Load of each leaf, in times its fair share; dashed: wanted, and most")
    axes.set_xlabel("leaves")
