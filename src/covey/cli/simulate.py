"""`covey simulate`: random runs of a network, each of which its seed brings back."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.table import Table

from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error
from covey.errors import InvalidArgumentError

__all__ = ["simulate"]


class NetworkKind(StrEnum):
    """What is simulated."""

    BROKERS = "brokers"
    CAN_PURE = "can-pure"
    CAN_SMART = "can-smart"


def simulate(
    network: Annotated[NetworkKind, typer.Argument(help="What is simulated.")],
    seed: Annotated[int, typer.Option(min=0, help="The first run's seed.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="How many, with seeds one after another.")] = 1,
    faults: Annotated[
        bool, typer.Option("--faults", help="Packets are lost and repeated, nodes crash.")
    ] = False,
    printed: Annotated[
        bool, typer.Option("--printed", help="By the papers' printed rules, which lose events.")
    ] = False,
    strategy: Annotated[
        str, typer.Option(help="Of brokers: exact, projection, hybrid or hilbert.")
    ] = "exact",
    announcing: Annotated[
        bool, typer.Option("--announcing", help="Of brokers: publishers say first what comes.")
    ] = False,
) -> None:
    """Run networks of brokers or a CAN at random, and compare with brute force.

    Exit code 1 if an event was lost or invented.
    """
    with exit_on_error():
        options: dict[str, Any] = {"with_faults": faults, "uses_paper_rules": printed}
        if network is NetworkKind.BROKERS:
            options |= {"strategy": strategy, "requires_announcements": announcing}
        elif announcing or strategy != "exact":
            raise InvalidArgumentError("--strategy and --announcing are for brokers")
        console = make_console(stderr=True)
        seeds = track(
            range(seed, seed + runs), "runs", console=console, transient=True,
            disable=not console.is_terminal,
        )  # fmt: skip
        outcomes = {number: _make_trial(network, number, options).run() for number in seeds}
    make_console().print(_make_outcomes_table(outcomes))
    if any(not outcome.is_correct for outcome in outcomes.values()):
        raise typer.Exit(1)


def _make_trial(network: NetworkKind, seed: int, options: dict[str, Any]) -> Any:
    from covey.overlay import BrokerTrial, CanTrial

    if network is NetworkKind.BROKERS:
        return BrokerTrial(seed, **options)
    return CanTrial(seed, smart=network is NetworkKind.CAN_SMART, **options)


def _make_outcomes_table(outcomes: dict[int, Any]) -> Table:
    """The runs that went wrong, and the sum of all."""
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
