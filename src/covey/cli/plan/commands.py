"""`covey plan compare` and `covey plan make`: assign subscribers to brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from covey.cli.console_format import make_console
from covey.cli.errors import EXIT_FINDINGS, check_extra, exit_on_error
from covey.cli.next_step import add_quiet_option, print_next_step
from covey.cli.options import split_names
from covey.cli.plan.deploy import deploy

if TYPE_CHECKING:
    from covey.plan import Plan, Problem

__all__ = ["plan_app"]

plan_app = typer.Typer(
    no_args_is_help=True,
    help="Assign subscribers to brokers: compare plans, make one, and deploy it on Kafka.",
)

SubscribersArgument = Annotated[
    Path,
    typer.Argument(metavar="SUBSCRIBERS", help="Table with a row per subscriber: Parquet or CSV."),
]
BrokersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="BROKERS",
        help="Table with a row per broker: Parquet or CSV. Column 'parent' has the row number, "
        "from 0, of the broker above; it is empty for children of the publisher. Without the "
        "column, all brokers are children of the publisher.",
    ),
]
PositionOption = Annotated[
    str,
    typer.Option(
        metavar="A,B", help="Columns with the network coordinates of subscribers and brokers."
    ),
]
LowerOption = Annotated[
    str,
    typer.Option(metavar="X1,Y1", help="Columns with the lower ends of a subscriber's intervals."),
]
UpperOption = Annotated[
    str,
    typer.Option(metavar="X2,Y2", help="Columns with the upper ends of a subscriber's intervals."),
]
PublisherOption = Annotated[
    str,
    typer.Option(metavar="A,B", help="Network coordinates of the publisher, for example '0,0'."),
]
EventsOption = Annotated[
    Path | None,
    typer.Option(
        help="Table of typical events. With it, bandwidth is a share of events; without it, a "
        "volume of the event space."
    ),
]
AttributesOption = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y",
        help="Columns of the events, one per interval of a subscriber. All columns if missing.",
    ),
]
AlphaOption = Annotated[int, typer.Option(help="Largest number of rectangles of a filter.")]
MaxDelayOption = Annotated[
    float,
    typer.Option(
        help="Largest delay of a subscriber, as the excess over its shortest path: 0.3 is 30%."
    ),
]
TargetLoadOption = Annotated[
    float,
    typer.Option(
        help="Target load of a leaf broker, as a multiple of its fair share; a plan should not "
        "exceed it."
    ),
]
MaxLoadOption = Annotated[
    float,
    typer.Option(help="Largest load that a leaf broker may have, as a multiple of its fair share."),
]
StepsOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Number of steps of the search. If missing: 4,000 or more, depending on the size of "
        "the problem.",
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of the search.")]

_COMPARISON_COLUMNS = (
    "bandwidth",
    "× lower bound",
    "mean delay",
    "highest load",
    "too far",
    "over capacity",
    "other violations",
)
_COMPARISON_LEGEND = (
    "bandwidth: events that brokers receive, added up; mean delay: excess over the shortest path; "
    "highest load: multiple of the fair share; too far, over capacity: subscribers that violate "
    "--max-delay, --most-load"
)
_EXTRA_MODULES = ("highspy", "scipy")


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
    picture: Annotated[Path, typer.Option(help="Path of the picture, a PNG.")] = Path("plans.png"),
) -> None:
    """Compare planners in a table and a picture, with a lower bound of the bandwidth of any plan.

    Example: covey plan compare people.parquet brokers.csv --position a,b --lower x1,y1
    --upper x2,y2 --publisher 0,0
    """
    with exit_on_error():
        check_extra(*_EXTRA_MODULES)
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
    _print_comparison(plans, bound)
    make_console().print(f"\nwritten to {picture}", highlight=False)
    print_next_step("covey plan make … -o plan   # write the plan of the search to a folder")


def make(
    subscribers: SubscribersArgument,
    brokers: BrokersArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the plan.")],
    position: PositionOption,
    lower: LowerOption,
    upper: UpperOption,
    publisher: PublisherOption,
    attributes: Annotated[
        str, typer.Option(metavar="X,Y", help="Columns of the events, one per interval.")
    ],
    events: EventsOption = None,
    alpha: AlphaOption = 3,
    max_delay: MaxDelayOption = 0.3,
    load: TargetLoadOption = 1.5,
    most_load: MaxLoadOption = 1.8,
    steps: StepsOption = None,
    seed: SeedOption = 0,
) -> None:
    """Make a plan, and write its filters and the broker of each subscriber to a folder.

    Exit code 1, and nothing is written, if no plan is found that satisfies all limits.

    Example: covey plan make people.parquet brokers.csv -o plan --attributes x,y --position a,b
    --lower x1,y1 --upper x2,y2 --publisher 0,0
    """
    with exit_on_error():
        check_extra(*_EXTRA_MODULES)
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
    _print_comparison({"search": found}, None)
    if not kept.is_valid:
        typer.echo(
            "covey: no plan is written, because no plan was found that satisfies all limits: "
            f"{kept.too_far:,} subscribers are too far from their broker, {kept.over_capacity:,} "
            "exceed its capacity. Raise --max-delay or --most-load",
            err=True,
        )
        raise typer.Exit(EXIT_FINDINGS)
    print_next_step(
        f"covey plan deploy {output} --servers HOST:PORT --events TOPIC …   # forward events"
    )


def _run_search(problem: Problem, start: Plan, steps: int | None, seed: int) -> Plan:
    """Search for a better plan, beginning with `start`; show a bar if stderr is a terminal."""
    from covey.plan import search

    console = make_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("search", total=1.0)
        return search(
            problem, start, steps=steps, seed=seed,
            progress=lambda done, _: bar.update(task, completed=done),
        )  # fmt: skip


def _print_comparison(plans: dict[str, Plan], lower_bound: float | None) -> None:
    console = make_console()
    console.print(_make_comparison_table(plans, lower_bound))
    console.print(f"\n{_COMPARISON_LEGEND}", highlight=False)


def _make_comparison_table(plans: dict[str, Plan], lower_bound: float | None) -> Table:
    """Return a table with a row for each plan: bandwidth, delay, load, and violations of limits.

    Unless `lower_bound` is None or 0, a column has the ratio of each bandwidth to it.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("plan")
    for name in _COMPARISON_COLUMNS:
        table.add_column(name, justify="right", min_width=max(map(len, name.split())))
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
        table.add_row("lower bound", f"{lower_bound:,.6g}", "1.00", *[""] * 5)
    return table


for _command in (compare, make, deploy):
    plan_app.command()(add_quiet_option(_command))
