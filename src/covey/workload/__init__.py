"""Generators of subscriptions and events: the workloads of the papers, and realistic ones.

Every workload generates unlimited subscriptions and events, both numbered from 0. Subscription or
event i depends only on the parameters, the seed and i, and not on the other rows that are generated
with it. Subscriptions are available as regions and as predicates (Spark SQL); region i and
predicate i admit exactly the same events.

    >>> create_workload("zipf-boxes-2").generate_predicates(0, 1)
    ['x1 BETWEEN 0 AND 3 AND x2 BETWEEN 36 AND 39']

In the order in which data passes through them:

    protocol            `Workload`: the interface of every workload
    registry            workloads by name, with the parameters of papers and benchmarks
    block_rng           random rows in blocks, each block with its own generator
    zipf                ranks that follow Zipf's law
    vocabularies        distinct made-up words and ticker symbols
    alerts              alerts on market data
    balls               balls in the unit cube
    boxes               uniform boxes, and Zipf boxes on a grid
    classifieds         saved searches on classified ads
    skewed_boxes        boxes concentrated around a few hot spots
    embedding_watches   balls around embeddings
    constraints         the drawn constraints of each attribute, as regions and as Spark SQL
    literal_texts       numbers and vectors as exact Spark SQL literals
    arrow_arrays        drawn arrays as Arrow columns of events
"""

from covey.workload.alerts import Alerts
from covey.workload.balls import CubeBalls
from covey.workload.boxes import UniformBoxes, ZipfBoxes
from covey.workload.classifieds import Classifieds
from covey.workload.embedding_watches import EmbeddingWatches
from covey.workload.protocol import Workload
from covey.workload.registry import create_workload, list_workloads
from covey.workload.skewed_boxes import SkewedBoxes

__all__ = [
    "Alerts",
    "Classifieds",
    "CubeBalls",
    "EmbeddingWatches",
    "SkewedBoxes",
    "UniformBoxes",
    "Workload",
    "ZipfBoxes",
    "create_workload",
    "list_workloads",
]
