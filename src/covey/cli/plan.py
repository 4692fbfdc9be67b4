"""`covey plan`: who is served where, compared, made, and put to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from covey.cli.failures import reported
from covey.cli.options import listed
from covey.cli.plan_deploy import deploy

if TYPE_CHECKING:
    from covey.plan import Plan, Problem

__all__ = ["plan"]

plan = typer.Typer(no_args_is_help=True, help="Say who is served where, and put it to work.")
plan.command()(deploy)

People = Annotated[
    Path, typer.Argument(metavar="SUBSCRIBERS", help="A row for each, in Parquet or CSV.")
]
Brokers = Annotated[
    Path, typer.Argument(metavar="BROKERS", help="A row for each; 'parent' is the row above.")
]
Position = Annotated[str, typer.Option(help="The columns of a place in the network, as 'a,b'.")]
Lower = Annotated[str, typer.Option(help="The columns of the lower ends of what is wanted.")]
Upper = Annotated[str, typer.Option(help="The columns of the upper ends.")]
Publisher = Annotated[str, typer.Option(help="Where the publisher is, as '0,0'.")]
Events = Annotated[Path | None, typer.Option(help="Typical events; bandwidth is a share of them.")]
Attributes = Annotated[str | None, typer.Option(help="Their columns, as 'x,y'; else all.")]
Alpha = Annotated[int, typer.Option(help="Rectangles of a filter, at most.")]
Delay = Annotated[float, typer.Option(help="How much longer than the shortest a way may be.")]
Load = Annotated[float, typer.Option(help="Times its fair share that a broker should serve.")]
MostLoad = Annotated[float, typer.Option(help="Times its fair share that it may serve.")]
Steps = Annotated[int | None, typer.Option(min=0, help="Of the search; 4,000 or more.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the search.")]


@plan.command()
def compare(
    subscribers: People, brokers: Brokers, position: Position, lower: Lower, upper: Upper,
    publisher: Publisher, events: Events = None, attributes: Attributes = None, alpha: Alpha = 3,
    max_delay: Delay = 0.3, load: Load = 1.5, most_load: MostLoad = 1.8, steps: Steps = None,
    seed: Seed = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("plans.png"),
) -> None:  # fmt: skip
    """Compare ways of planning, in a table and a picture, with the least that any could need."""
    with reported():
        from covey.cli.plan_input import problem_of
        from covey.cli.plan_picture import check_picture, drawn
        from covey.plan import balance, closest, greedy, lower_bound

        check_picture(picture)
        problem = problem_of(
            subscribers, brokers, position, lower, upper, publisher, events, listed(attributes),
            alpha=alpha, max_delay=max_delay, load=load, most_load=most_load,
        )  # fmt: skip
        start = greedy(problem)
        plans = {
            "search": _searched(problem, start, steps, seed), "Gr*": start,
            "Gr": greedy(problem, offline=False), "balance": balance(problem),
            "closest": closest(problem),
        }  # fmt: skip
        bound = lower_bound(plans["search"])
        picture.write_bytes(drawn(plans, bound))
    Console().print(_compared(plans, bound))
    Console().print(str(picture), highlight=False)


@plan.command()
def make(
    subscribers: People, brokers: Brokers,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the plan.")],
    position: Position, lower: Lower, upper: Upper, publisher: Publisher,
    attributes: Annotated[str, typer.Option(help="What events call these sides, as 'x,y'.")],
    events: Events = None, alpha: Alpha = 3, max_delay: Delay = 0.3, load: Load = 1.5,
    most_load: MostLoad = 1.8, steps: Steps = None, seed: Seed = 0,
) -> None:  # fmt: skip
    """Make a plan, and write it to a folder: filters, and the broker of each row of subscribers.

    Exit code 1, and nothing is written, if none is found that keeps to everything.
    """
    with reported():
        from covey.cli.plan_input import problem_of
        from covey.plan import SavedPlan, greedy

        SavedPlan.check_free(output)
        names = listed(attributes) or []
        problem = problem_of(
            subscribers, brokers, position, lower, upper, publisher, events, names, alpha=alpha,
            max_delay=max_delay, load=load, most_load=most_load,
        )  # fmt: skip
        found = _searched(problem, greedy(problem), steps, seed)
        kept = found.verify()
        if kept.is_valid:
            SavedPlan.of(found, names).save(output, found.assignment)
    Console().print(_compared({"search": found}, None))
    if not kept.is_valid:
        typer.echo(
            "covey: no plan was found that keeps to everything, and none is written: "
            f"{kept.late:,} would wait too long, {kept.beyond:,} are beyond what brokers may "
            "serve. Raise --max-delay or --most-load",
            err=True,
        )
        raise typer.Exit(1)


def _searched(problem: Problem, start: Plan, steps: int | None, seed: int) -> Plan:
    """The search, with a bar where somebody looks on."""
    from covey.plan import search

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("search", total=1.0)
        return search(
            problem, start, steps=steps, seed=seed,
            progress=lambda done, _: bar.update(task, completed=done),
        )  # fmt: skip


def _compared(plans: dict[str, Plan], bound: float | None) -> Table:
    """Bandwidth, delay and load of each plan, and what it does not keep to."""
    table = Table(box=None, pad_edge=False)
    table.add_column("plan")
    for name in ("bandwidth", "× bound", "mean delay", "most load", "late", "beyond", "other"):
        table.add_column(name, justify="right")
    for name, one in plans.items():
        kept = one.verify()
        table.add_row(
            name, f"{one.bandwidth:,.6g}", f"{one.bandwidth / bound:.2f}" if bound else "",
            f"{one.delays.mean():.3f}", f"{one.load_factor:.2f}", f"{kept.late:,}",
            f"{kept.beyond:,}", f"{kept.uncovered + kept.unnested + kept.complex:,}",
        )  # fmt: skip
    if bound:
        table.add_row("no plan is below", f"{bound:,.6g}", "1.00", *[""] * 5)
    return table
