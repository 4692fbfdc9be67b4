"""The list of row functions beside the registry of the Spark that is installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from covey.language.semantics.row_functions import REFUSED_FUNCTIONS, ROW_FUNCTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

SYNTAX = frozenset({"and", "between", "case", "cast", "ilike", "in", "like", "not", "or", "when"})
"""What Spark's registry has as functions and the language as syntax."""


def test_every_function_of_spark_is_either_listed_or_refused(spark: SparkSession) -> None:
    names = {row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    refused = {name for names in REFUSED_FUNCTIONS.values() for name in names.split()}
    called = {name for name in names if re.fullmatch(r"\w+", name)} - SYNTAX
    assert called == ROW_FUNCTIONS | refused
    assert not ROW_FUNCTIONS & refused


def test_row_functions_are_deterministic_and_keep_the_number_of_rows(spark: SparkSession) -> None:
    """Spark's own examples of each function, as its analyzer sees them."""
    from pyspark.errors import PySparkException

    jvm = spark._jvm
    assert jvm is not None
    catalog = spark._jsparkSession.sessionState().catalog()
    tried = set()
    for name in sorted(ROW_FUNCTIONS):
        info = catalog.lookupFunctionInfo(
            jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
        )
        assert not re.search("agg|generator|window|table", info.getGroup()), name
        for call in re.findall(r"> (SELECT [^;]*);", info.getExamples()):
            if call == "SELECT unix_timestamp()" or re.search(r"\bFROM\b", call):
                continue  # refused without an argument; some examples aggregate first
            try:
                plan = spark._jsparkSession.sql(call).queryExecution().analyzed()
            except PySparkException:
                continue  # types that Spark has not switched on yet
            assert plan.deterministic(), call
            assert plan.nodeName() == "Project", call
            assert plan.children().head().nodeName() == "OneRowRelation", call
            tried.add(name)
    assert len(tried) > 290
