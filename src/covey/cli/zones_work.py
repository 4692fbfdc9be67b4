"""What events of a table cost in each zone of a model."""

from __future__ import annotations

from dataclasses import replace

from covey.cli.reading import Source
from covey.cli.session import Session
from covey.cli.zones_found import Found
from covey.spark import MatcherModel

__all__ = ["work_now"]


def work_now(found: Found, model: str, source: Source, session: Session) -> Found:
    """The same, with the work of these events."""
    with session.started() as spark:
        return replace(found, work=MatcherModel.load(model).work(source.read(spark)))
