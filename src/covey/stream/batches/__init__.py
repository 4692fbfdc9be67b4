"""The decision protocol: which version of the store decides which micro-batch.

Spark writes the offset ranges of a batch to its checkpoint before it runs the batch. The driver
reads them there, brings the store up to date, and records durably that its newest version decides
the batch. A decision is made only once. Workers poll for the decision. When a batch is run again,
its decision already exists and names the same version, so its notifications are identical to the
byte.

Modules, in the order in which a batch passes through them:

- `batch_size`: largest number of events of a batch, from the observed or probed cost per event.
- `checkpoint`: read Spark's checkpoint folder: query id, offset ranges, committed batches.
- `decider`: `BatchDecider`, a driver thread that decides each batch as its offsets appear.
- `decision_log`: `BatchDecision` and `DecisionLog`, the decisions as files in the state folder.
- `version_source`: the snapshot that a worker task matches with: a fixed or the decided version.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.stream.batches.decision_log import DecisionLog

__all__ = [
    "DecisionLog",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "DecisionLog": "decision_log",
    },
)
