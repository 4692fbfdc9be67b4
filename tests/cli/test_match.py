"""`covey match`: what it writes is what `where` keeps, and what it says is true."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from covey.cli.console_format import format_percent
from covey.testing.spark_oracle import match_with_spark
from tests.cli.simple import ALERTS, EVENTS, READ, expected

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("events", "alerts", "out"),
    [
        ("ticks.parquet", "alerts.parquet", "matches.parquet"),
        ("ticks.csv", "alerts.csv", "matches.csv"),
        ("ticks.jsonl", "alerts.jsonl", "matches.json"),
    ],
)
def test_pairs_in_every_format_are_what_where_keeps(
    covey: Any, ticks: Any, events: str, alerts: str, out: str, tmp_path: Path
) -> None:
    done = covey("match", events, alerts, "-o", out, "--id", "alert")
    assert done.exit_code == 3, done.output
    assert Path(out).is_file()
    pairs = _pairs(ticks.sparkSession, tmp_path / out)
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected(ticks)


def test_arrays_have_every_event_and_the_chosen_columns(
    covey: Any, ticks: Any, tmp_path: Path
) -> None:
    done = covey(
        "match", "ticks.parquet", "alerts.csv", "-o", "lists", "--output-format", "json",
        "--id", "alert", "--output", "arrays", "--columns", "n, price",
        "--matches-column", "wanted_by",
    )  # fmt: skip
    assert done.exit_code == 3, done.output
    rows = [
        json.loads(line)
        for file in (tmp_path / "lists").glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert {key for row in rows for key in row} == {"n", "price", "wanted_by"}
    found = {row["n"]: sorted(row["wanted_by"]) for row in rows}
    pairs = expected(ticks)
    assert found == {e["n"]: sorted(id_ for n, id_ in pairs if n == e["n"]) for e in EVENTS}


@pytest.mark.parametrize("output", ["pairs", "arrays"])
def test_the_summary_counts_what_was_written(covey: Any, ticks: Any, output: str) -> None:
    done = covey(
        "match", "ticks.parquet", "alerts.parquet", "-o", "m.parquet", "--id", "alert",
        "--output", output,
    )  # fmt: skip
    pairs = expected(ticks)
    per_event = sorted(Counter(n for n, _ in pairs).get(event["n"], 0) for event in EVENTS)
    per_alert = Counter(id_ for _, id_ in pairs)
    middle, high = (per_event[math.ceil(len(EVENTS) * q) - 1] for q in (0.5, 0.99))
    said = re.sub(r" +", " ", done.stdout).replace(" \n", "\n")
    mean = len(pairs) / len(EVENTS)
    assert "events 60 0 match nothing (0%)" in said
    assert (
        f"matches {len(pairs)} per event: mean {mean:.2f}, median {middle}, p99 {high}, "
        f"max {per_event[-1]}"
    ) in said
    never = len(READ) - len(per_alert)
    assert f"subscriptions {len(READ)} {never} never matched" in said
    for id_, count in per_alert.most_common(3):
        assert f"{count} {id_} ({format_percent(count, len(EVENTS))} of events)" in said
    assert "line 1, column 1: no column 'prise'; did you mean price?" in said
    assert re.search(r"start Spark [\d.]+\n read [\d.]+\n fit [\d.]+ parse [\d.]+", said)


def test_rejected_ones_are_written_with_their_place(covey: Any, session: Any) -> None:
    done = covey(
        "match", "ticks.csv", "alerts.csv", "-o", "m.parquet", "--id", "alert",
        "--rejected", "wrong", "--allow-rejected",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    [row] = session.read.parquet(f"file://{Path.cwd()}/wrong").collect()
    assert (row["alert"], row["predicate"], row["line"], row["column"]) == (
        "wrong", "prise > 5", 1, 1,
    )  # fmt: skip
    assert "did you mean price?" in row["error"]


def test_a_wrong_predicate_can_end_it(covey: Any) -> None:
    done = covey(
        "match",
        "ticks.csv",
        "alerts.csv",
        "-o",
        "m.parquet",
        "--id",
        "alert",
        "--on-error",
        "error",
    )
    assert done.exit_code == 2
    assert "'wrong'" in done.stderr
    assert "no column 'prise'" in done.stderr
    assert not Path("m.parquet").exists()


def test_what_is_there_is_replaced_on_demand_only(covey: Any, ticks: Any, tmp_path: Path) -> None:
    Path("m.parquet").mkdir()
    words = ["match", "ticks.parquet", "alerts.csv", "-o", "m.parquet", "--id", "alert"]
    refused = covey(*words)
    assert refused.exit_code == 2
    assert "m.parquet exists already" in refused.stderr
    assert covey(*words, "--overwrite").exit_code == 3
    assert Path("m.parquet").is_file()
    assert set(_pairs(ticks.sparkSession, tmp_path / "m.parquet")) == expected(ticks)


def test_lists_of_json_are_vectors_on_demand(covey: Any, session: Any, tmp_path: Path) -> None:
    rows = [{"n": n, "spot": [n / 4, 1.0]} for n in range(12)]
    Path("spots.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    near = "vector_l2_distance(spot, array(1F, 1F)) <= 0.5"
    Path("watches.json").write_text(json.dumps({"id": 5, "predicate": near}))
    done = covey(
        "match", "spots.json", "watches.json", "-o", "m.parquet", "--vectors", "spot=2"
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    spots = session.createDataFrame(rows, "n int, spot array<float>")
    found = session.read.parquet(f"file://{tmp_path}/m.parquet").collect()
    wanted = match_with_spark(spots, {5: near}, "n")
    assert wanted
    assert {(row["n"], row["id"]) for row in found} == wanted


def test_lifetimes_are_honoured(covey: Any, session: Any, tmp_path: Path) -> None:
    Path("passing.csv").write_text(
        "id,predicate,since,until\n"
        "old,true,,2024-05-01 06:00:00\n"
        "new,n > 3,2024-05-02 00:00:00,\n"
        "ever,symbol IS NULL,,\n"
    )
    done = covey(
        "match", "ticks.parquet", "passing.csv", "-o", "m.csv", "--columns", "n",
        "--valid-from", "since", "--valid-to", "until", "--event-time", "at",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    ticks = session.read.parquet(f"file://{tmp_path}/ticks.parquet")
    meant = {
        "old": "at < '2024-05-01 06:00:00'",
        "new": "n > 3 AND at >= '2024-05-02 00:00:00'",
        "ever": "symbol IS NULL",
    }
    wanted = match_with_spark(ticks, meant, "n")
    found = session.read.csv(f"file://{tmp_path}/m.csv", header=True, inferSchema=True).collect()
    assert {(row["n"], row["id"]) for row in found} == wanted


def test_the_id_column_of_events_is_in_nobodys_way(covey: Any, session: Any) -> None:
    Path("e.csv").write_text("id,x\n1,5\n2,6\n")
    Path("s.csv").write_text("id,predicate\na,x > 5\n")
    refused = covey("match", "e.csv", "s.csv", "-o", "m.parquet")
    assert refused.exit_code == 2
    assert "--matches-column" in refused.stderr
    done = covey("match", "e.csv", "s.csv", "-o", "m.parquet", "--matches-column", "alert")
    assert done.exit_code == 0, done.output
    [row] = session.read.parquet(f"file://{Path.cwd()}/m.parquet").collect()
    assert row.asDict() == {"id": 2, "x": 6, "alert": "a"}


def _pairs(session: Any, path: Path) -> list[tuple[int, str]]:
    """Return the rows that a command wrote, read without covey."""
    kind = path.suffix[1:]
    reader = session.read.format(kind).schema("n BIGINT, alert STRING")
    if kind == "csv":
        names = ("n", "symbol", "price", "at", "venue", "alert")
        reader = session.read.format(kind).schema(", ".join(f"{name} STRING" for name in names))
        reader = reader.options(header=True, enforceSchema=False, escape='"')
    return [(int(row["n"]), row["alert"]) for row in reader.load(f"file://{path}").collect()]


def test_every_alert_of_the_tests_is_worth_having(ticks: Any) -> None:
    counts = Counter(id_ for _, id_ in expected(ticks))
    assert {id_ for id_, _ in ALERTS} - set(counts) == {"nobody", "wrong"}


def test_rejections_are_grouped_by_reason_and_change_the_exit_code(covey: Any) -> None:
    rows = [f"{n},n > {n} AND tags = 'x'" for n in range(7)] + ["7,n > 7", "8,n >"]
    Path("s.csv").write_text("\n".join(["id,predicate", *rows]) + "\n")
    words = ["match", "ticks.parquet", "s.csv", "-o", "m.parquet", "--columns", "n"]
    done = covey(*words)
    assert done.exit_code == 3, done.output
    assert re.search(r"rejected +8 +left out, for 2 reasons:", done.stdout)
    assert "  7 times, for example 0: line 1, column 11: no column 'tags'" in done.stdout
    assert "  8: line 1, column " in done.stdout
    expected = "covey: 8 subscriptions were left out; to end with exit code 0, add --allow-rejected"
    assert expected in done.stderr
    assert "next: covey doctor s.csv --events ticks.parquet --limit 8   # all wrong" in done.stderr
    allowed = covey(*words, "--overwrite", "--allow-rejected", "--quiet")
    assert (allowed.exit_code, allowed.stderr) == (0, "")


def test_nothing_is_matched_if_all_subscriptions_are_rejected(covey: Any) -> None:
    Path("s.csv").write_text("id,predicate\n1,prise > 1\n2,n >\n")
    words = ["match", "ticks.parquet", "s.csv", "-o", "m.parquet"]
    done = covey(*words, "--rejected", "wrong.jsonl")
    assert done.exit_code == 3, done.output
    assert re.search(r"rejected +2 +left out, for 2 reasons:", done.stdout)
    assert "  1: line 1, column 1: no column 'prise'; did you mean price?" in done.stdout
    assert "nothing was matched or written to m.parquet: all subscriptions are wrong" in done.stdout
    assert "match and write" not in done.stdout
    assert not Path("m.parquet").exists()
    assert len(Path("wrong.jsonl").read_text().splitlines()) == 2
    assert "next: covey doctor s.csv --events ticks.parquet   # all wrong" in done.stderr
    allowed = covey(*words, "--allow-rejected")
    assert allowed.exit_code == 0, allowed.output
    assert pq.read_table("m.parquet").num_rows == 0


def test_a_very_large_result_needs_confirmation(
    covey: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.cli.match import size_estimate

    Path("s.csv").write_text("id,predicate\na,n >= 0\nb,n >= 0\n")
    monkeypatch.setattr(size_estimate, "MAX_UNCONFIRMED_MATCHES", 100)
    words = ["match", "ticks.parquet", "s.csv", "-o", "m.parquet", "--columns", "n"]
    refused = covey(*words)
    assert refused.exit_code == 2
    assert "about 120 matches, 2 for each of 60 events" in refused.stderr
    assert "--yes" in refused.stderr
    assert "--limit N" in refused.stderr
    assert not Path("m.parquet").exists()
    cut = covey(*words, "--limit", "7")
    assert cut.exit_code == 0, cut.output
    assert re.search(r"matches +7 +there may be more, because of --limit", cut.stdout)
    assert session.read.parquet(f"file://{Path.cwd()}/m.parquet").count() == 7
    assert covey(*words, "--yes", "--overwrite").exit_code == 0
    assert session.read.parquet(f"file://{Path.cwd()}/m.parquet").count() == 120


def test_a_limit_above_the_result_changes_nothing(covey: Any) -> None:
    Path("s.csv").write_text("id,predicate\na,n >= 50\n")
    done = covey("match", "ticks.parquet", "s.csv", "-o", "m.csv", "--limit", "1000")
    assert done.exit_code == 0, done.output
    assert re.search(r"matches +10 +per event: ", done.stdout)


def test_a_result_that_is_too_large_for_a_file_is_a_folder(
    covey: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.cli.io import targets

    Path("s.csv").write_text("id,predicate\na,n >= 50\n")
    monkeypatch.setattr(targets, "MAX_FILE_BYTES", 10)
    assert covey("match", "ticks.parquet", "s.csv", "-o", "m.csv").exit_code == 0
    assert Path("m.csv").is_dir()
    assert session.read.csv(f"file://{Path.cwd()}/m.csv", header=True).count() == 10
    assert sorted(path.name for path in Path().glob(".m.csv*")) == []


def test_a_compressed_file_is_one_file(covey: Any, session: Any) -> None:
    Path("s.csv").write_text("id,predicate\na,n >= 50\n")
    assert covey("match", "ticks.parquet", "s.csv", "-o", "m.csv.gz").exit_code == 0
    assert Path("m.csv.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert session.read.csv(f"file://{Path.cwd()}/m.csv.gz", header=True).count() == 10
