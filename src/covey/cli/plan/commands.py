"""`covey plan`: who is served where, compared, made, and put to work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error
from covey.cli.options import split_names
from covey.cli.plan.deploy import deploy

if TYPE_CHECKING:
    from covey.plan import Plan, Problem

__all__ = ["plan_app"]

plan_app = typer.Typer(no_args_is_help=True, help="Say who is served where, and put it to work.")
plan_app.command()(deploy)

SubscribersArgument = Annotated[
    Path, typer.Argument(metavar="SUBSCRIBERS", help="A row for each, in Parquet or CSV.")
]
BrokersArgument = Annotated[
    Path, typer.Argument(metavar="BROKERS", help="A row for each; 'parent' is the row above.")
]
PositionOption = Annotated[
    str, typer.Option(help="The columns of a place in the network, as 'a,b'.")
]
LowerOption = Annotated[str, typer.Option(help="The columns of the lower ends of what is wanted.")]
UpperOption = Annotated[str, typer.Option(help="The columns of the upper ends.")]
PublisherOption = Annotated[str, typer.Option(help="Where the publisher is, as '0,0'.")]
EventsOption = Annotated[
    Path | None, typer.Option(help="Typical events; bandwidth is a share of them.")
]
AttributesOption = Annotated[str | None, typer.Option(help="Their columns, as 'x,y'; else all.")]
AlphaOption = Annotated[int, typer.Option(help="Rectangles of a filter, at most.")]
MaxDelayOption = Annotated[
    float, typer.Option(help="How much longer than the shortest a way may be.")
]
TargetLoadOption = Annotated[
    float, typer.Option(help="Times its fair share that a broker should serve.")
]
MaxLoadOption = Annotated[float, typer.Option(help="Times its fair share that it may serve.")]
StepsOption = Annotated[int | None, typer.Option(min=0, help="Of the search; 4,000 or more.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Of the search.")]


@plan_app.command()
def compare(
    subscribers: SubscribersArgument,
    brokers: BrokersArgument,
    position: PositionOption,
    lower: LowerOption,
    upper: UpperOption,
    publisher: PublisherOption,
    events: EventsOption = None,
    attributes: AttributesOption = None,
    alpha: AlphaOption = 3,
    max_delay: MaxDelayOption = 0.3,
    load: TargetLoadOption = 1.5,
    most_load: MaxLoadOption = 1.8,
    steps: StepsOption = None,
    seed: SeedOption = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("plans.png"),
) -> None:
    """Compare ways of planning, in a table and a picture, with the least that any could need."""
    with exit_on_error():
        from covey.cli.plan.plot import check_plot_path, draw_plans
        from covey.cli.plan.problem_files import read_problem
        from covey.plan import assign_nearest, balance_loads, greedy, lower_bound

        check_plot_path(picture)
        problem = read_problem(
            subscribers,
            brokers,
            position,
            lower,
            upper,
            publisher,
            events,
            split_names(attributes),
            max_rectangles=alpha,
            max_delay=max_delay,
            target_load=load,
            max_load=most_load,
        )
        start = greedy(problem)
        plans = {
            "search": _run_search(problem, start, steps, seed),
            "Gr*": start,
            "Gr": greedy(problem, is_offline=False),
            "balance": balance_loads(problem),
            "closest": assign_nearest(problem),
        }
        best = plans["search"]
        bound = lower_bound(problem, best.bandwidth if best.verify().is_valid else None)
        picture.write_bytes(draw_plans(plans, bound))
    make_console().print(_make_comparison_table(plans, bound))
    make_console().print(str(picture), highlight=False)


@plan_app.command()
def make(
    subscribers: SubscribersArgument,
    brokers: BrokersArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the plan.")],
    position: PositionOption,
    lower: LowerOption,
    upper: UpperOption,
    publisher: PublisherOption,
    attributes: Annotated[str, typer.Option(help="What events call these sides, as 'x,y'.")],
    events: EventsOption = None,
    alpha: AlphaOption = 3,
    max_delay: MaxDelayOption = 0.3,
    load: TargetLoadOption = 1.5,
    most_load: MaxLoadOption = 1.8,
    steps: StepsOption = None,
    seed: SeedOption = 0,
) -> None:
    """Make a plan, and write it to a folder: filters, and the broker of each row of subscribers.

    Exit code 1, and nothing is written, if none is found that keeps to everything.
    """
    with exit_on_error():
        from covey.cli.plan.problem_files import read_problem
        from covey.plan import SavedPlan, greedy

        SavedPlan.check_free(output)
        names = split_names(attributes) or []
        problem = read_problem(
            subscribers,
            brokers,
            position,
            lower,
            upper,
            publisher,
            events,
            names,
            max_rectangles=alpha,
            max_delay=max_delay,
            target_load=load,
            max_load=most_load,
        )
        found = _run_search(problem, greedy(problem), steps, seed)
        kept = found.verify()
        if kept.is_valid:
            SavedPlan.from_plan(found, names).save(output, found.assignment)
    make_console().print(_make_comparison_table({"search": found}, None))
    if not kept.is_valid:
        typer.echo(
            "covey: no plan was found that keeps to everything, and none is written: "
            f"{kept.too_far:,} would wait too long, {kept.over_capacity:,} are beyond what brokers "
            "may serve. Raise --max-delay or --most-load",
            err=True,
        )
        raise typer.Exit(1)


def _run_search(problem: Problem, start: Plan, steps: int | None, seed: int) -> Plan:
    """The search, with a bar where somebody looks on."""
    from covey.plan import search

    console = make_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("search", total=1.0)
        return search(
            problem, start, steps=steps, seed=seed,
            progress=lambda done, _: bar.update(task, completed=done),
        )  # fmt: skip


def _make_comparison_table(plans: dict[str, Plan], lower_bound: float | None) -> Table:
    """Bandwidth, delay and load of each plan, and what it does not keep to."""
    table = Table(box=None, pad_edge=False)
    table.add_column("plan")
    for name in ("bandwidth", "× bound", "mean delay", "most load", "late", "beyond", "other"):
        table.add_column(name, justify="right")
    for name, one in plans.items():
        kept = one.verify()
        table.add_row(
            name,
            f"{one.bandwidth:,.6g}",
            f"{one.bandwidth / lower_bound:.2f}" if lower_bound else "",
            f"{one.delays.mean():.3f}",
            f"{one.load_factor:.2f}",
            f"{kept.too_far:,}",
            f"{kept.over_capacity:,}",
            f"{kept.uncovered + kept.not_nested + kept.too_many_rectangles:,}",
        )
    if lower_bound:
        table.add_row("no plan is below", f"{lower_bound:,.6g}", "1.00", *[""] * 5)
    return table
