"""`covey research`: experiments with the algorithms of the papers.

`covey research simulate` runs random networks of brokers, or CANs, and compares the deliveries with
brute force. Runs with the same seed are identical.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.table import Table

from covey.cli.console_format import make_console
from covey.cli.errors import EXIT_FINDINGS, exit_on_error
from covey.cli.next_step import add_quiet_option, print_next_step
from covey.errors import InvalidArgumentError

__all__ = ["research_app"]

research_app = typer.Typer(
    no_args_is_help=True, help="Run experiments with the algorithms of the papers."
)


class NetworkKind(StrEnum):
    """Kind of network to simulate."""

    BROKERS = "brokers"
    CAN_PURE = "can-pure"
    CAN_SMART = "can-smart"


def simulate(
    network: Annotated[
        NetworkKind,
        typer.Argument(
            help="Network to simulate: a tree of brokers (brokers), a CAN that stores a "
            "subscription in every zone that it meets (can-pure), or a CAN that stores a covered "
            "subscription only once (can-smart)."
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs, with consecutive seeds.")] = 1,
    faults: Annotated[
        bool,
        typer.Option("--faults", help="Lose and duplicate packets, and crash nodes."),
    ] = False,
    printed: Annotated[
        bool,
        typer.Option(
            "--printed",
            help="Use the rules exactly as they are printed in the papers, although they can lose "
            "notifications.",
        ),
    ] = False,
    strategy: Annotated[
        str,
        typer.Option(help="Routing strategy of brokers: exact, projection, hybrid or hilbert."),
    ] = "exact",
    announcing: Annotated[
        bool,
        typer.Option(
            "--announcing",
            help="In a network of brokers, publishers announce regions before they publish.",
        ),
    ] = False,
) -> None:
    """Simulate random networks, and compare their deliveries with brute force.

    Exit code 1 if a notification was lost, or was sent for an event that does not match.

    Example: covey research simulate brokers --runs 20 --faults
    """
    with exit_on_error():
        options: dict[str, Any] = {"with_faults": faults, "uses_paper_rules": printed}
        if network is NetworkKind.BROKERS:
            options |= {"strategy": strategy, "requires_announcements": announcing}
        elif announcing or strategy != "exact":
            raise InvalidArgumentError(
                "--strategy and --announcing can be used only with the network brokers"
            )
        console = make_console(stderr=True)
        seeds = track(
            range(seed, seed + runs), "runs", console=console, transient=True,
            disable=not console.is_terminal,
        )  # fmt: skip
        outcomes = {number: _make_trial(network, number, options).run() for number in seeds}
    make_console().print(_make_outcomes_table(outcomes))
    wrong = [number for number, outcome in outcomes.items() if not outcome.is_correct]
    if wrong:
        print_next_step(f"repeat a wrong run alone: --seed {wrong[0]}")
        raise typer.Exit(EXIT_FINDINGS)
    print_next_step(f"run other seeds: --seed {seed + runs} --runs {10 * runs}")


research_app.command()(add_quiet_option(simulate))


def _make_trial(network: NetworkKind, seed: int, options: dict[str, Any]) -> Any:
    from covey.overlay import BrokerTrial, CanTrial

    if network is NetworkKind.BROKERS:
        return BrokerTrial(seed, **options)
    return CanTrial(seed, smart=network is NetworkKind.CAN_SMART, **options)


def _make_outcomes_table(outcomes: dict[int, Any]) -> Table:
    """Return a table with a row for each wrong run, and a last row with the sums of all runs."""
    table = Table(box=None, pad_edge=False)
    names = ("lost", "invented", "repeated", "notifications", "messages")
    for name in ("seed", *names):
        table.add_column(name, justify="right")
    for seed, outcome in outcomes.items():
        if not outcome.is_correct:
            table.add_row(str(seed), *(f"{getattr(outcome, name):,}" for name in names))
    sums = {name: sum(getattr(outcome, name) for outcome in outcomes.values()) for name in names}
    runs = "1 run" if len(outcomes) == 1 else f"{len(outcomes):,} runs"
    table.add_row(runs, *(f"{sums[name]:,}" for name in names))
    return table
