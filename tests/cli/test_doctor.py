"""`covey doctor`: each kind of finding, and nothing where nothing is the matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

WELL = {"a": "price > 25 AND symbol = 'ACME'", "b": "price > 25 AND symbol = 'BETA'"}
ILL = {
    "c": "prise > 5",
    "d": "price > 5 AND price < 5",
    "e": "symbol = NULL",
    "f": "symbol IN ('BETA') AND NOT price <= 25",
    "g": "price > 25.0 AND symbol = 'BETA' OR symbol = 'BETA' AND price > 26",
    "h": "price >= 3 OR price IS NULL",
    "i": "venue = 'X' AND price > 5",
    "j": "upper(venue) = 'X'",
}


def test_each_kind_is_found_and_nothing_else(covey: Any, ticks: Any) -> None:
    _write({**WELL, **ILL})
    done = covey(
        "doctor", "s.jsonl", "--events", "ticks.parquet", "--json", "--owner", "owner"
    )  # fmt: skip
    assert done.exit_code == 1, done.output
    assert done.stderr == ""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["kind"], one["id"]) for one in found] == [
        ("absent", "i"), ("absent", "j"), ("broad", "h"), ("duplicate", "f"), ("duplicate", "g"),
        ("never", "d"), ("never", "e"), ("rejected", "c"),
    ]  # fmt: skip
    hints = {one["kind"] for one in found if one["severity"] == "hint"}
    assert hints == {"broad", "duplicate"}
    by_id = {one["id"]: one for one in found}
    assert by_id["f"]["problem"] == by_id["g"]["problem"] == "means the same as b"
    assert by_id["i"]["problem"] == "no event has a value of venue"
    assert by_id["j"]["problem"] == "no event has a value of upper(venue)"
    percent = 100 * ticks.where(ILL["h"]).count() / 60
    assert by_id["h"]["problem"] == f"matches {percent:.1f}% of 60 events"
    assert by_id["c"]["problem"] == "no column 'prise'; did you mean price?"
    assert (by_id["c"]["line"], by_id["c"]["column"]) == (1, 1)
    assert all(one["advice"] and one["predicate"] == ILL[one["id"]] for one in found)


def test_people_get_counts_advice_and_the_first_few(covey: Any) -> None:
    _write({**WELL, **ILL})
    done = covey("doctor", "s.jsonl", "--events", "ticks.parquet", "--limit", "1")
    assert done.exit_code == 1, done.output
    assert done.stderr == "next: to find duplicates, name the column of owners with --owner\n"
    assert done.stdout.startswith(
        "5 problems and 1 hint in 10 subscriptions, tried on 60 events\n"
        "\n"
        "cannot be read (1): correct it; until then it matches nothing\n"
        "  c: line 1, column 1: no column 'prise'; did you mean price?\n"
        "    prise > 5\n"
        "    ^\n"
        "\n"
        "can never match (2): correct it, or remove it\n"
        "  d: no event satisfies all of its conditions\n"
        "    price > 5 AND price < 5\n"
        "  … and 1 more: --limit 2 prints all\n"
    )


def test_what_only_spark_knows_and_what_raises_is_looked_at_too(covey: Any) -> None:
    texts = {"a": "md5(symbol) = 'x'", "b": "'x' = md5(symbol)", "c": "10 / n > 1", "d": "n > 40"}
    _write(texts)
    words = ["doctor", "s.jsonl", "--events", "ticks.parquet", "--json", "--owner", "owner"]
    done = covey(*words, "--check", "duplicate")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0, done.output
    assert [(one["kind"], one["id"]) for one in found] == [("duplicate", "b")]
    assert found[0]["problem"] == "means the same as a"


def test_the_share_decides_what_is_too_much(covey: Any, ticks: Any) -> None:
    _write({**WELL, "h": ILL["h"]})
    words = ["doctor", "s.jsonl", "--events", "ticks.parquet"]
    assert ticks.where(ILL["h"]).count() < 0.95 * 60
    assert "matches too many" not in covey(*words, "--share", "0.95").stdout
    done = covey(*words)
    assert "matches too many events (1)" in done.stdout
    assert done.exit_code == 0  # a hint, not a problem


def test_all_is_well(covey: Any) -> None:
    _write(WELL)
    done = covey("doctor", "s.jsonl", "--events", "ticks.parquet")
    assert done.exit_code == 0
    assert done.stdout == ("no problems and no hints in 2 subscriptions, tried on 60 events\n")
    assert covey("doctor", "s.jsonl", "--events", "ticks.parquet", "--json").stdout == ""


def test_repeated_and_missing_ids_are_no_duplicates(covey: Any) -> None:
    rows = [(1, "price > 1"), (1, "price > 1"), (None, "price > 2"), (2, None), (3, "n = 1")]
    Path("s.jsonl").write_text(
        "".join(json.dumps({"id": id_, "predicate": text}) + "\n" for id_, text in rows)
    )
    done = covey("doctor", "s.jsonl", "--events", "ticks.csv", "--json", "--share", "1",
                 "--check", "rejected", "--check", "broad")  # fmt: skip
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["kind"] for one in found} == {"rejected"}
    assert sorted(one.get("id", 0) for one in found) == [0, 1, 1, 2]


def test_a_sample_is_drawn_from_many_events(covey: Any, session: Any) -> None:
    session.range(5_000).write.parquet(f"file://{Path.cwd()}/many.parquet")
    texts = {"most": "id >= 1000", "few": "id < 1000"}
    _write(texts)
    done = covey(
        "doctor", "s.jsonl", "--events", "many.parquet", "--sample", "500", "--json",
        "--check", "broad",
    )  # fmt: skip
    [found] = map(json.loads, done.stdout.splitlines())
    words = found["problem"].split()
    assert found["id"] == "most"
    assert 70 < float(words[1].rstrip("%")) < 90
    assert 350 < int(words[3]) < 650


def test_only_subscriptions_of_one_owner_are_duplicates(covey: Any) -> None:
    rows = [("a", "ann"), ("b", "bob"), ("c", "ann"), ("d", None), ("e", None)]
    Path("s.jsonl").write_text(
        "".join(json.dumps({"id": i, "owner": o, "predicate": "n > 3"}) + "\n" for i, o in rows)
    )
    words = ["doctor", "s.jsonl", "--events", "ticks.parquet", "--json", "--share", "1"]
    found = map(json.loads, covey(*words, "--owner", "owner").stdout.splitlines())
    assert [(one["id"], one["problem"]) for one in found] == [
        ("c", "means the same as a"), ("e", "means the same as d"),
    ]  # fmt: skip
    assert covey(*words).stdout == ""


def test_a_value_that_no_event_has_comes_with_the_nearest_one(covey: Any) -> None:
    _write(
        {
            "a": "symbol = 'acme' AND n > 3",
            "b": "n > 3 AND symbol IN ('XETR', 'BETAA')",
            "c": "symbol = 'ZZZ'",
            "d": "symbol = 'acme' OR n = 5",
        }
    )
    done = covey("doctor", "s.jsonl", "--events", "ticks.parquet", "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert [(one["kind"], one["id"], one["severity"]) for one in found] == [
        ("unknown-value", "a", "problem"), ("unknown-value", "b", "problem"),
        ("unmatched", "c", "hint"),
    ]  # fmt: skip
    assert found[0]["problem"] == "no event has symbol = 'acme'; did you mean 'ACME'?"
    assert found[1]["problem"] == "no event has symbol = 'BETAA'; did you mean 'BETA'?"
    assert (found[1]["line"], found[1]["column"]) == (1, 11)
    assert found[2]["problem"] == "matches none of 60 events"
    chosen = covey("doctor", "s.jsonl", "--events", "ticks.parquet", "--check", "unmatched")
    assert chosen.exit_code == 0
    assert "compares with a value" not in chosen.stdout


def _write(texts: dict[str, str]) -> None:
    rows = ({"id": id_, "owner": "ann", "predicate": text} for id_, text in texts.items())
    Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
