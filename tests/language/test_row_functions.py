"""The list of row functions, compared with the function registry of the installed Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from covey.language.semantics.row_functions import (
    GRAMMAR_FUNCTIONS,
    REFUSED_FUNCTIONS,
    ROW_FUNCTIONS,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

SYNTAX = frozenset({"case", "cast"})
"""Functions of Spark's registry that are syntax in covey's language."""


def test_every_function_of_spark_is_either_admitted_or_refused(spark: SparkSession) -> None:
    names = {row["function"] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    refused = {name for names in REFUSED_FUNCTIONS.values() for name in names.split()}
    called = {name for name in names if re.fullmatch(r"\w+", name)} - SYNTAX
    assert called == (ROW_FUNCTIONS - GRAMMAR_FUNCTIONS) | refused
    assert not ROW_FUNCTIONS & refused


def test_row_functions_are_deterministic_and_return_one_value_per_row(spark: SparkSession) -> None:
    """The analyzer of Spark reads the examples in its documentation of each function."""
    from pyspark.errors import PySparkException

    jvm = spark._jvm
    assert jvm is not None
    catalog = spark._jsparkSession.sessionState().catalog()
    tried = set()
    for name in sorted(ROW_FUNCTIONS - GRAMMAR_FUNCTIONS):
        info = catalog.lookupFunctionInfo(
            jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
        )
        assert not re.search("agg|generator|window|table", info.getGroup()), name
        for call in re.findall(r"> (SELECT [^;]*);", info.getExamples()):
            if re.search(r"\bFROM\b| AS S,", call):
                continue  # some examples aggregate first, or use an alias
            try:
                plan = spark._jsparkSession.sql(call).queryExecution().analyzed()
            except PySparkException:
                continue  # a type that this Spark does not enable
            assert plan.deterministic(), call
            assert plan.nodeName() == "Project", call
            assert plan.children().head().nodeName() == "OneRowRelation", call
            tried.add(name)
    assert len(tried) > 290
