"""`covey simulate`: random runs of a network, each of which its seed brings back."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from covey.cli.failures import reported
from covey.errors import ValueRefused

__all__ = ["simulate"]


class Network(StrEnum):
    """What is simulated."""

    brokers = "brokers"
    can_pure = "can-pure"
    can_smart = "can-smart"


def simulate(
    network: Annotated[Network, typer.Argument(help="What is simulated.")],
    seed: Annotated[int, typer.Option(help="The first run's seed.")] = 0,
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
    with reported():
        options: dict[str, Any] = {"faults": faults, "printed": printed}
        if network is Network.brokers:
            options |= {"strategy": strategy, "announcing": announcing}
        elif announcing or strategy != "exact":
            raise ValueRefused("--strategy and --announcing are for brokers")
        console = Console(stderr=True)
        seeds = track(
            range(seed, seed + runs), "runs", console=console, transient=True,
            disable=not console.is_terminal,
        )  # fmt: skip
        outcomes = {number: _trial(network, number, options).run() for number in seeds}
    Console().print(_table(outcomes))
    if any(not outcome.is_right for outcome in outcomes.values()):
        raise typer.Exit(1)


def _trial(network: Network, seed: int, options: dict[str, Any]) -> Any:
    from covey.overlay import BrokerTrial, CanTrial

    if network is Network.brokers:
        return BrokerTrial(seed, **options)
    return CanTrial(seed, smart=network is Network.can_smart, **options)


def _table(outcomes: dict[int, Any]) -> Table:
    """The runs that went wrong, and the sum of all."""
    table = Table(box=None, pad_edge=False)
    names = ("lost", "invented", "repeated", "notifications", "messages")
    for name in ("seed", *names):
        table.add_column(name, justify="right")
    for seed, outcome in outcomes.items():
        if not outcome.is_right:
            table.add_row(str(seed), *(f"{getattr(outcome, name):,}" for name in names))
    sums = {name: sum(getattr(outcome, name) for outcome in outcomes.values()) for name in names}
    runs = "1 run" if len(outcomes) == 1 else f"{len(outcomes):,} runs"
    table.add_row(runs, *(f"{sums[name]:,}" for name in names))
    return table
