"""Regions and what holds between them: arrays in, arrays out."""

from covey.geometry.regions import Regions

__all__ = ["Regions"]
