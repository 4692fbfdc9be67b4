"""Script that changes subscriptions in a Delta table and updates a model from its change feed.

Its arguments are a working folder and the jars of Delta. It prints how often each digit matched,
before and after the changes.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession

from covey.spark import Matcher


def main(folder: str, jars: str) -> None:
    """Fit a model, change the table, and update the model from the change feed alone."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars", jars)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .getOrCreate()
    )
    table = f"delta.`{folder}/alerts`"
    events = spark.range(1_000).selectExpr("id AS n", "id % 10 AS digit")
    spark.sql(
        f"CREATE TABLE {table} (id INT, predicate STRING) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, 'digit = 1'), (2, 'digit = 2'), (3, 'digit = 3')")
    model = Matcher(eventSchema=events.schema).fit(spark.table(table))
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    spark.sql(f"UPDATE {table} SET predicate = 'digit = 7' WHERE id = 2")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'digit = 8')")
    spark.sql(f"UPDATE {table} SET predicate = 'digit = 9' WHERE id = 4")
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", 2)
        .load(f"{folder}/alerts")
    )
    changed, refitted = (
        model.update(feed),
        Matcher(eventSchema=events.schema).fit(spark.table(table)),
    )
    counts = [_digits(matcher.transform(events)) for matcher in (model, changed, refitted)]
    print(json.dumps(counts))
    spark.stop()


def _digits(matches: DataFrame) -> list[list[int]]:
    rows = matches.groupBy("digit").count().collect()
    return sorted([row["digit"], row["count"]] for row in rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
