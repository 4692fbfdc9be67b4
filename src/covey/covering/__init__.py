"""Redundant subscriptions: covering, subsumption by a union, and merging into filters.

A region is redundant if it is equal to an earlier region, if another region covers it, or if it is
subsumed: the union of several other regions contains it. All other regions are active; their union
is the union of all regions. Active regions are merged into filters. A filter is the hull of one or
several regions, so it may admit more events than these; the share of such false forwards is
limited.

Modules: first the steps, in the order in which regions pass through them, then the modules that run
and measure the steps:

- `axes`: one attribute as integer codes, with a different code for each interval end of a batch.
- `region_boxes`: `RegionBoxes`, regions as boxes of codes with ids of residual constraints.
- `cover_pointers`: equal regions, and for each covered region a region that covers it.
- `absorber_index`: `AbsorberIndex`, which finds the boxes that contain a point of codes.
- `subsumption`: regions within the union of other regions, found by exact subtraction.
- `box_bounds`: boxes in normalised coordinates, measured by interval ends or by a sample of events.
- `hull_merging`: groups of active regions, and which of their boxes are merged.
- `filters`: `FilterSet`, filters within the limit, checked on events that merging did not see.
- `executor`: `Executor`, the steps that can be distributed; `LocalExecutor` runs them locally.
- `reduce`: `reduce_regions`, all steps in order, and `Reduction`, the result.
- `summary`, `step_timer`: counts and seconds of each step.
- `kernels`: the compiled loops of `subsumption` and `hull_merging`.
"""

from covey.covering.executor import Executor
from covey.covering.reduce import Reduction, ReductionLimits, RegionStatus, reduce_regions
from covey.covering.summary import ReductionSummary

__all__ = [
    "Executor",
    "Reduction",
    "ReductionLimits",
    "ReductionSummary",
    "RegionStatus",
    "reduce_regions",
]
