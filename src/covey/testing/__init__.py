"""Oracles, contract tests and random cases, with which users can also test their own index.

Names are imported on first use, because some modules need hypothesis, Spark or a client of Kafka.
Hypothesis strategies have plain names such as `regions`; import them from
`covey.testing.strategies`.

Random cases draw from few values, so that predicates often match events. All choices of a case
follow from a seed, or from hypothesis.

Modules, in the order in which data passes through them:

    random_values     values of events: the limits of types, and a few other values
    random_literals   literals for predicates, in all notations that Spark accepts
    random_cases      random spaces, events and predicates, from one `random.Random`
    invalid_texts     texts that are not predicates: noise, and slightly damaged predicates
    strategies        hypothesis strategies for spaces, events, regions and predicates
    index_contract    `IndexContract`: the test class that every index must pass
    range_tree        a layered range tree in plain Python, as a reference for an index
    spark_oracle      comparison of covey's matches with Spark's `where`
    store_faults      kill writers and change bytes of a store, and check its answers
    writer_race       several processes that change one store at the same time
    kafka_server      `KafkaServer`: a Kafka server that tests start, kill and restart
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.testing.index_contract import IndexCase, IndexContract, index_cases
    from covey.testing.invalid_texts import malformed_predicates
    from covey.testing.kafka_server import KafkaServer
    from covey.testing.random_cases import random_events, random_predicate, random_space
    from covey.testing.random_literals import literal_writers, random_literal, random_text
    from covey.testing.random_values import random_value
    from covey.testing.range_tree import RangeTree, boxes_to_points
    from covey.testing.spark_oracle import (
        Disagreement,
        OracleReport,
        compare_with_spark,
        configure_session,
        match_with_spark,
        to_ddl,
    )
    from covey.testing.store_faults import FlipReport, KillReport, flip_bytes, kill_writers

__all__ = [
    "Disagreement",
    "FlipReport",
    "IndexCase",
    "IndexContract",
    "KafkaServer",
    "KillReport",
    "OracleReport",
    "RangeTree",
    "boxes_to_points",
    "compare_with_spark",
    "configure_session",
    "flip_bytes",
    "index_cases",
    "kill_writers",
    "literal_writers",
    "malformed_predicates",
    "match_with_spark",
    "random_events",
    "random_literal",
    "random_predicate",
    "random_space",
    "random_text",
    "random_value",
    "to_ddl",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Disagreement": "spark_oracle",
        "FlipReport": "store_faults",
        "IndexCase": "index_contract",
        "IndexContract": "index_contract",
        "KafkaServer": "kafka_server",
        "KillReport": "store_faults",
        "OracleReport": "spark_oracle",
        "RangeTree": "range_tree",
        "boxes_to_points": "range_tree",
        "compare_with_spark": "spark_oracle",
        "configure_session": "spark_oracle",
        "flip_bytes": "store_faults",
        "index_cases": "index_contract",
        "kill_writers": "store_faults",
        "literal_writers": "random_literals",
        "malformed_predicates": "invalid_texts",
        "match_with_spark": "spark_oracle",
        "random_events": "random_cases",
        "random_literal": "random_literals",
        "random_predicate": "random_cases",
        "random_space": "random_cases",
        "random_text": "random_literals",
        "random_value": "random_values",
        "to_ddl": "spark_oracle",
    },
)
