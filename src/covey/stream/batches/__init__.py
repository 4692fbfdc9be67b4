"""The decision protocol: which version of the store decides which micro-batch.

Spark writes the offset ranges of a batch to its checkpoint before it runs the batch. The driver
sees them there, decides the batch with the newest version and records the decision, durably and
only once. Workers poll for the record. A batch that is run again finds the record of the first run
and gets the same version, so its notifications are the same to the byte.

Modules, in the order in which a batch passes through them:

- `batch_size`: largest number of events of a batch, from the observed or probed cost per event.
- `checkpoint`: what Spark's checkpoint folder says: query id, offset ranges, committed batches.
- `decider`: `BatchDecider`, a driver thread that decides each batch as its offsets appear.
- `decision_log`: `BatchDecision` and `DecisionLog`, the records in the state folder.
- `version_source`: how a worker task gets its snapshot: a fixed version, or the decided one.
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
