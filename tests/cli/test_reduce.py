"""`covey reduce`: its output contains all subscriptions, with their true status."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from covey import SessionSettings
from covey.workload import UniformBoxes
from tests.damaged import write_damaged_parquet

BOXES = UniformBoxes(2, 0.2)
OWNERS = ("ann", "bob", "cy", "")
ALERTS = [
    *((f"a{n}", text) for n, text in enumerate(BOXES.generate_predicates(0, 160))),
    *(
        (f"b{n}", text) for n, text in enumerate(BOXES.generate_predicates(0, 5))
    ),  # equal to the first ones
    ("nobody", "x1 > 2 AND x1 < 1"),
    ("wrong", "y > 5"),
]
WORDS = ["reduce", "boxes.csv", "points.parquet", "-o", "out"]


class Done(NamedTuple):
    """One run of the command: what it printed, where it wrote, and the session."""

    said: str
    out: Path
    spark: Any

    def table(self, name: str) -> Any:
        return self.spark.read.parquet(f"file://{self.out}/{name}")

    @property
    def summary(self) -> Any:
        return json.loads((self.out / "summary.json").read_text())


def write_boxes(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.Table.from_batches([BOXES.generate_events(0, 1000)]), folder / "points.parquet"
    )
    with (folder / "boxes.csv").open("w", newline="") as file:
        rows = ((id_, text, OWNERS[n % 4]) for n, (id_, text) in enumerate(ALERTS))
        csv.writer(file).writerows([("id", "predicate", "who"), *rows])


def run(*words: str) -> Any:
    from typer.testing import CliRunner

    from covey.cli import app

    return CliRunner().invoke(app, words)


@pytest.fixture
def boxes(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the tables of this module to a folder, and return the session."""
    write_boxes(tmp_path)
    monkeypatch.chdir(tmp_path)
    return session


@pytest.fixture(scope="module")
def done(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Done:
    from covey.testing.spark_oracle import configure_session

    if os.environ.get("COVEY_TEST_REMOTE"):
        pytest.skip("the command line starts a session of its own, never one of Spark Connect")
    configure_session(spark, SessionSettings())
    folder = tmp_path_factory.mktemp("boxes")
    write_boxes(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        made = run(*WORDS, "--owner", "who")
    assert made.exit_code == 3, made.output
    refusal, next_step = made.stderr.splitlines()
    expected = "covey: 1 subscription was left out; to end with exit code 0, add --allow-rejected"
    assert refusal == expected
    assert next_step.startswith("next: covey match points.parquet out/active ")
    return Done(made.stdout, folder / "out", spark)


@pytest.mark.integration
def test_active_and_passive_are_all_that_can_be_read(done: Done) -> None:
    active = {row["id"]: row for row in done.table("active").collect()}
    redundant = {row["id"]: row for row in done.table("redundant").collect()}
    assert active.keys() | redundant.keys() == {id_ for id_, _ in ALERTS} - {"wrong"}
    assert not active.keys() & redundant.keys()
    given = {id_: (text, OWNERS[n % 4]) for n, (id_, text) in enumerate(ALERTS)}
    assert all((row["predicate"], row["who"] or "") == given[id_] for id_, row in active.items())
    assert {row["status"] for row in redundant.values()} == {
        "equal", "covered", "subsumed", "never",
    }  # fmt: skip
    for id_, row in redundant.items():
        assert bool(row["absorbed_by"]) == (id_ != "nobody")
        assert active.keys() >= set(row["absorbed_by"])


@pytest.mark.integration
def test_active_ones_and_filters_want_what_all_want(done: Done) -> None:
    events = done.spark.read.parquet(f"file://{done.out.parent}/points.parquet")

    def wanted(texts: list[str]) -> set[Any]:
        return {tuple(row) for row in events.where(" OR ".join(texts)).collect()}

    of_all = wanted([text for id_, text in ALERTS if id_ not in ("wrong", "nobody")])
    assert 0 < len(of_all) < 1000
    assert wanted([row["predicate"] for row in done.table("active").collect()]) == of_all
    filters = done.table("filters").collect()
    assert [sorted(row.asDict()) for row in filters[:1]] == [["filter", "predicate", "regions"]]
    assert wanted([row["predicate"] for row in filters]) >= of_all


@pytest.mark.integration
def test_what_is_said_is_what_was_written(done: Done) -> None:
    found = done.summary
    active, redundant = done.table("active").count(), done.table("redundant").count()
    assert done.said.splitlines()[0] == found["line"]
    assert found["line"].startswith(f"{len(ALERTS) - 1} subscriptions → {active} active")
    assert (found["redundant"], found["active_subscriptions"]) == (redundant, active)
    filters = done.table("filters")
    assert found["filters"] == filters.count() < found["active"]
    assert filters.groupBy().sum("regions").first()[0] == found["active"]
    said = re.sub(r" +", " ", done.said)
    for name, key in (
        ("equal", "equal"), ("covered", "covered"), ("subsumed", "subsumed"),
        ("imperfect merges", "imperfectly_merged"),
    ):  # fmt: skip
        assert found[key] > 0
        of_all = 100 * found[key] / found["regions"]
        assert f" {name} −{found[key]} {of_all:.1f}%" in said
    assert f"false forwards {found['false_forwards']} " in said
    assert "of 500 events" in said
    assert re.search(r"rejected 1 left out: *\n wrong: line 1, column 1: no column 'y'", said)
    assert re.search(r"seconds [\d.]+ \n start Spark .*\n reduce [\d.]+ \n fit [\d.]+", said, re.S)
    assert said.endswith("\nwritten to out\n")
    assert max(map(len, done.said.splitlines())) <= 100


@pytest.mark.integration
def test_owners_and_attributes_are_counted(done: Done) -> None:
    found = done.summary
    owner = {id_: OWNERS[n % 4] or "null" for n, (id_, _) in enumerate(ALERTS)}
    redundant = [owner[row["id"]] for row in done.table("redundant").collect()]
    owners = found["largest_owners"]
    assert owners.keys() == {"ann", "bob", "cy", "null"}
    for name, counts in owners.items():
        total = sum(of == name and id_ != "wrong" for id_, of in owner.items())
        assert sum(counts.values()) == total
        assert total - counts["active"] == redundant.count(name)
    most = max(sorted(owners), key=redundant.count)
    assert next(iter(found["most_redundant_owners"])) == most
    assert f"most redundant {redundant.count(most)} of " in re.sub(r" +", " ", done.said)
    names = ("active", "subsumed", "covered", "equal")
    assert found["by_attribute"].keys() == {"x1", "x2"}
    for counts in found["by_attribute"].values():  # every box has both
        assert counts == {name: found[name] for name in names}


@pytest.mark.integration
def test_the_picture_is_one_for_a_page(done: Done) -> None:
    from PIL import Image

    path = done.out / "reduced.png"
    assert 10_000 < path.stat().st_size < 150_000
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width == 1000
        assert picture.height > 700  # three panels
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20)}
    assert len(colours) > 20


@pytest.mark.integration
def test_a_compaction_is_replaced_when_the_new_one_is_complete(
    boxes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*WORDS, "--no-picture", "--added", "0", "--allow-rejected").exit_code == 0
    assert {path.name for path in Path("out").iterdir()} == {
        "active", "redundant", "filters", "summary.json",
    }  # fmt: skip
    before = Path("out/summary.json").read_bytes()
    assert json.loads(before)["imperfectly_merged"] == 0
    refused = run(*WORDS)
    check(refused, "out exists already")

    def fails(*_: Any) -> bytes:
        raise OSError(28, "No space left on device", "out/reduced.png")

    again = ["reduce", "out/active", "points.parquet", "--subscriptions-format", "parquet"]
    with monkeypatch.context() as patch:
        patch.setattr("covey.cli.reduce.plot.draw_reduction", fails)
        check(run(*again, "-o", "out", "--overwrite"), "out/reduced.png cannot be written: No sp")
    assert Path("out/summary.json").read_bytes() == before
    assert {path.name for path in Path().iterdir()} == {"boxes.csv", "points.parquet", "out"}

    done = run(*again, "-o", "out", "--overwrite", "--picture", "drawn.png")
    assert done.exit_code == 0, done.output
    assert "written to out, the picture to drawn.png" in done.stdout
    assert Path("drawn.png").read_bytes().startswith(b"\x89PNG")
    after = json.loads(Path("out/summary.json").read_text())
    assert after["subscriptions"] == json.loads(before)["active_subscriptions"]
    assert {path.name for path in Path().iterdir()} == {
        "boxes.csv", "points.parquet", "out", "drawn.png",
    }  # fmt: skip


@pytest.mark.integration
def test_a_place_may_be_on_any_file_system_of_sparks(boxes: Any, tmp_path: Path) -> None:
    out = f"file://{tmp_path}/far"
    done = run("reduce", "boxes.csv", "points.parquet", "-o", out)
    assert done.exit_code == 3, done.output
    assert (tmp_path / "far/reduced.png").read_bytes().startswith(b"\x89PNG")
    made = Done(done.stdout, tmp_path / "far", boxes)
    assert made.table("active").count() == made.summary["active_subscriptions"]
    check(run("reduce", "boxes.csv", "points.parquet", "-o", out), "exists already")


EARLY = [
    (["reduce", "nope.csv", "points.parquet", "-o", "out"], "no subscriptions at nope.csv"),
    (["reduce", "boxes.csv", "nope.csv", "-o", "out"], "no events at nope.csv"),
    ([*WORDS, "--added", "1"], "--added must be at least 0 and less than 1, got 1"),
    ([*WORDS, "--added", "-0.1"], "got -0.1"),
    ([*WORDS[:-1], "taken"], "taken exists already: write to another path"),
    ([*WORDS[:-1], "taken", "--overwrite"], "not a folder that contains only a reduction"),
    ([*WORDS[:-1], "boxes.csv", "--overwrite"], "boxes.csv contains the subscriptions"),
    (
        [*WORDS[:-1], "boxes.csv/out"],
        "boxes.csv is not a folder with write permission; name another folder with --out",
    ),
    ([*WORDS, "--picture", "a.png", "--no-picture"], "exclude each other"),
    ([*WORDS, "--picture", "nowhere/a.png"], "picture nowhere/a.png must be in an existing"),
    ([*WORDS, "--picture", "boxes.csv", "--overwrite"], "boxes.csv contains the subscriptions"),
    ([*WORDS, "--picture", "a.csv"], "the picture a.csv must be a PNG"),
    ([*WORDS, "--picture", "taken", "--overwrite"], "the picture taken must be a PNG"),
    ([*WORDS, "--vectors", "x1"], "--vectors must be COLUMN=LENGTH"),
    (
        [*WORDS, "--picture", "a.png"],
        "pip install 'covey[report]', or leave the picture out with --no-picture",
    ),
]


@pytest.mark.parametrize(("words", "said"), EARLY, ids=lambda value: " ".join(value)[-40:])
def test_what_is_wrong_is_said_before_spark_starts(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.cli.session import SessionLauncher

    def start(_: SessionLauncher) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SessionLauncher, "launch", start)
    if "pip install" in said:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    for name in ("boxes.csv", "points.parquet"):
        Path(name).touch()
    Path("taken").mkdir()
    for name in ("summary.json", "thesis.txt"):
        Path("taken", name).touch()
    check(run(*words), said)
    assert {path.name for path in tmp_path.iterdir()} == {"boxes.csv", "points.parquet", "taken"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--id", "who?"], " have no column 'who?': their columns are id, "),
        (["--predicate", "text"], " have no column 'text'"),
        (["--predicate", "text"], "name one of them with --predicate"),
        (["--owner", "team"], " have no column 'team'"),
        (["--vectors", "x1=3"], "column 'x1' is double, not a vector of 3 floats"),
    ],
)
def test_what_spark_must_be_asked_for(boxes: Any, words: list[str], said: str) -> None:
    check(run(*WORDS, *words), said)
    assert not Path("out").exists()


@pytest.mark.integration
def test_without_matplotlib_only_the_picture_is_missing(
    boxes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run(*WORDS)
    assert done.exit_code == 3, done.output
    assert "no picture: matplotlib is not installed" in done.stderr
    assert Path("out/summary.json").exists()
    assert not Path("out/reduced.png").exists()


@pytest.mark.integration
def test_a_sample_that_cannot_be_computed_ends_it(boxes: Any) -> None:
    write_damaged_parquet(Path("big.parquet"))
    Path("s.csv").write_text("id,predicate\na,n > 5\n")
    check(run("reduce", "s.csv", "big.parquet", "-o", "out"), "Spark failed")
    assert not Path("out").exists()


def check(done: Any, said: str) -> None:
    """One line on stderr, nothing on stdout."""
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("covey: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["true", "true"], "2 subscriptions → 1 active"),
        (["false", "x1 > 2 AND x1 < 1"], "2 subscriptions → 0 active"),
        (["x1 > 0.5", "x1 > 0.7"], "2 subscriptions → 1 active"),
    ],
)
def test_odd_sets_are_compacted_too(boxes: Any, texts: list[str], line: str) -> None:
    rows = [{"id": n, "predicate": text} for n, text in enumerate(texts)]
    Path("s.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("reduce", "s.json", "points.parquet", "-o", "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(line)


@pytest.mark.integration
def test_when_nothing_can_be_read_it_says_so(boxes: Any) -> None:
    Path("s.json").write_text(json.dumps({"id": 1, "predicate": "x1 >"}) + "\n")
    done = run("reduce", "s.json", "points.parquet", "-o", "out")
    assert done.exit_code != 0
    assert "none of 1 subscriptions is valid; the error of the smallest id, 1, is: " in done.output
    assert not Path("out").exists()
