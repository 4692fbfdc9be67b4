"""What users get wrong: one line on stderr that says what, where and how to go on, and exit code 2.

The first ones are noticed before Spark is asked for anything.
"""

from __future__ import annotations

import errno
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import write_tables
from tests.damaged import write_damaged_parquet
from tests.stream.test_config import LEAST

MATCH = ["match", "ticks.parquet", "alerts.parquet", "-o", "m.parquet", "--id", "alert"]
DOCTOR = ["doctor", "alerts.csv", "--events", "ticks.csv"]
EXPLAIN = ["explain", "alerts.csv", "--events", "ticks.csv", "--subscription", "x"]
PLAN = ["plan", "make", "--position", "a", "--lower", "a", "--upper", "b", "--publisher", "0",
        "--attributes", "x"]  # fmt: skip
EARLY = [
    (["match", "nope.parquet", "alerts.csv", "-o", "m.csv"], "no events at nope.parquet"),
    (["match", "ticks.csv", "nope.csv", "-o", "m.csv"], "no subscriptions at nope.csv"),
    (["preview", "n > 1", "nope.csv"], "no events at nope.csv"),
    (["doctor", "alerts.csv", "--events", "nope.csv"], "no events at nope.csv"),
    (["match", "notes.txt", "alerts.csv", "-o", "m.csv"], "name the format with --events-format"),
    (["match", "ticks.csv", "notes.txt", "-o", "m.csv"], "with --subscriptions-format"),
    (["match", "ticks.csv", "alerts.csv", "-o", "m"], "name the format with --output-format"),
    (["match", "ticks.csv", "alerts.csv", "-o", "notes.csv"], "replace it with --overwrite"),
    (["match", "ticks.csv", "alerts.csv", "-o", "ticks.csv", "--overwrite"], "contains the ev"),
    (["match", "ticks.csv", "alerts.csv", "-o", "m.csv", "--output", "arrays"], "CSV cannot have "),
    ([*MATCH, "--events-schema", "n INT"], "--events-schema is for CSV and JSON"),
    ([*MATCH, "--vectors", "price"], "--vectors must be COLUMN=LENGTH"),
    ([*MATCH, "--conf", "spark.driver.memory"], "--conf must be KEY=VALUE"),
    *(([*MATCH, "--vectors", f"x={n}"], "must be COLUMN=LENGTH") for n in ("²", "0", "9" * 5000)),
    (["match", "x" * 5000, "alerts.csv", "-o", "m.csv"], "File name too long"),
    (["match", "ticks.csv", "alerts.csv", "-o", f"{'x' * 5000}.csv"], "File name too long"),
    (["preview", "n > 1", "a\0b.csv"], "null byte"),
    ([*MATCH, "--yes", "--limit", "3"], "give one of the two"),
    ([*DOCTOR, "--check", "duplicate"], "name the column of owners with --owner"),
    ([*EXPLAIN, "--row", "1", "--key", "n=2"], "give one of them"),
    ([*EXPLAIN, "--key", "n"], "--key must be COLUMN=VALUE"),
    ([*EXPLAIN, "--event-offset", "ads-0-1"], "is for the configuration of a stream"),
    (["explain", "alerts.csv", "--subscription", "x"], "name a table of events with --events"),
    (["explain", "no.toml", "--subscription", "x"], "name the event with --event-offset"),
    (["reduce", "alerts.csv", "ticks.csv", "-o", "x" * 5000, "--no-picture"], "too long"),
    (["zones", "m", "--worker-memory", "²g"], "must be a size such as 512m"),
    (["zones", "m", "--worker-memory", "9" * 5000 + "g"], "must be a size such as 512m"),
    (["status", "notes.csv"], "Is a directory"),
    (["status", "x" * 5000], "File name too long"),
    (["plan", "deploy", "notes.csv", "--servers", "s", "--events", "e", "--schema", "x INT",
      "--checkpoint", "c"], "there is no plan at notes.csv"),
    ([*PLAN, "nope.csv", "nope.csv", "-o", "p"], "nope.csv does not exist"),
    ([*PLAN, "notes.csv", "notes.csv", "-o", "p"], "cannot be read as CSV"),
    ([*PLAN, "x" * 5000, "nope.csv", "-o", "p"], "File name too long"),
    ([*PLAN, "ticks.csv", "ticks.csv", "-o", "x" * 5000], "File name too long"),
]  # fmt: skip
WITH = ["match", "ticks.csv", "-o", "m.csv"]
HEADERS = [
    ([*MATCH[:-1], "symbol"], "at alerts.parquet have no column 'symbol': their columns are alert, "
     "predicate; name one of them with --id"),
    ([*MATCH, "--predicate", "text"], "no column 'text': their columns are alert, predicate; "),
    ([*MATCH, "--columns", "n,prise"], "events at ticks.parquet have no column 'prise': their "),
    ([*MATCH, "--event-time", "when"], "the events at ticks.parquet have no column 'when'"),
    ([*MATCH, "--valid-to", "until"], "at alerts.parquet have no column 'until'"),
    ([*MATCH, "--vectors", "x=2"], "the events at ticks.parquet have no column 'x'"),
    ([*MATCH, "--matches-column", "n"], "the events already have a column 'n'"),
    (["match", "alerts.csv", "ticks.csv", "-o", "m.csv", "--id", "alert"],
     "the events have both columns: are the two tables swapped?"),
    ([*WITH, "semicolons.csv"], "seem to be separated by semicolons: separate them by commas"),
    ([*WITH, "headless.csv"], "the first line seems to be a row, not a header: add a first line"),
    ([*WITH, "commas.csv"], "the subscriptions at commas.csv: the row that ends on line 4 has 3 "
     "values, but the header has 2: 2,n IN (1,2); put a text that contains a comma, such as"),
    ([*WITH, "bare.csv"], "at bare.csv are empty: the file has only a header; give a table with "),
    (["reduce", "alerts.csv", "ticks.csv", "-o", "r", "--no-picture"], "have no column 'id'"),
    (["doctor", "alerts.csv", "--events", "ticks.csv"], "at alerts.csv have no column 'id'"),
    (["preview", "n > 1", "empty.csv"], "the events at empty.csv are empty"),
    (["preview", "n > 1", "empty.parquet"], "the events at empty.parquet are empty: give a table"),
    (["preview", "n > 1", "bare.csv"], "the events at bare.csv are empty"),
    (["preview", "n > 1", "rowless.parquet"], "are empty: the file has columns, but no rows"),
    (["preview", "n > 1", "ticks.csv", "--time", "when"], "at ticks.csv have no column 'when'"),
    (["preview", "n > 1", "notes.txt", "--events-format", "parquet"], "it is not a Parquet file; "),
    ([*EXPLAIN, "--events", "empty.csv"], "the subscriptions at alerts.csv have no column 'id'"),
    ([*EXPLAIN, "--events", "empty.csv", "--id", "alert", "--subscription", "all"],
     "the events at empty.csv are empty: give a table with rows"),
]  # fmt: skip
LATE = [
    (["match", "ticks.jsonl", "alerts.jsonl", "-o", "m.csv"], "alerts.jsonl have no column 'id'"),
    ([*MATCH, "--vectors", "price=2"], "column 'price' is double, not a vector of 2 floats"),
    (["preview", "n > 1", "bare.parquet"], "the events at bare.parquet cannot be read as parquet"),
    (["preview", "n > 1", "torn.json"], "the events at torn.json cannot be read as json"),
    (["preview", "n > 1", "ticks.csv", "--time", "symbol"], "column must be a date or timestamp"),
    (["preview", "n > 1", "ticks.csv", "--events-schema", "n WHAT"], "Unsupported data type"),
    (["preview", "n > 1", "ticks.csv", "--events-format", "delta"], "with --jars"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), EARLY, ids=lambda value: " ".join(value)[:60])
def test_what_can_be_told_without_spark(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ticks.csv", "alerts.csv", "ticks.parquet", "alerts.parquet", "notes.txt"):
        Path(name).touch()
    Path("notes.csv").mkdir()
    check(run_without_spark(words, monkeypatch), said)


@pytest.mark.parametrize(("words", "said"), HEADERS, ids=lambda value: " ".join(value)[:60])
def test_a_local_file_with_a_wrong_header_is_refused_before_spark_starts(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    write_odd_files()
    check(run_without_spark(words, monkeypatch), said)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("quoted.csv", 'id,predicate\n1,"n IN (1,2)"\n\n2,"n > 1\nAND n < 5"\n'),
        ("marked.csv", "\ufeffid,predicate\r\n1,n > 1\r\n"),
        ("twice.csv", "id,ID,predicate\n1,1,n > 1\n"),  # Spark renames such columns
        ("nameless.csv", ",predicate\n1,n > 1\n"),
    ],
)
def test_a_header_that_spark_may_accept_is_left_to_it(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    Path(name).write_text(content, newline="")
    done = run_without_spark(["match", "ticks.csv", name, "-o", "m.csv"], monkeypatch)
    assert str(done.exception) == "Spark was started"


def test_wrong_syntax_of_a_predicate_is_refused_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path)
    done = run_without_spark(["preview", "n >", f"{tmp_path}/ticks.jsonl"], monkeypatch)
    assert done.exit_code == 2
    assert "line 1, column 4: the predicate ends after >" in done.stderr


def test_a_file_that_the_system_refuses_ends_with_its_name_and_the_reason(tmp_path: Path) -> None:
    from typer import Exit

    from covey.cli.errors import exit_on_error

    with pytest.raises(Exit) as ended, exit_on_error():
        (tmp_path / "nothing").read_text()
    assert ended.value.exit_code == 2
    with pytest.raises(BrokenPipeError), exit_on_error():  # of typer, whom `| head` concerns
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_path_that_no_terminal_can_show_is_escaped(tmp_path: Path) -> None:
    code = "from covey.cli import app; app()"
    words = [sys.executable, "-c", code, "preview", "n > 1", b"\xff.csv"]
    ended = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 2
    assert "no events at \\udcff.csv" in ended.stderr


@pytest.mark.parametrize("text", ["[/red]", "[red]x[/red]", "[link=x]", ":heart:", "a\\[b]"])
def test_texts_of_users_are_printed_as_they_are(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from covey.cli.console_format import make_console, make_grid
    from covey.cli.match.report import MatchReport
    from covey.cli.match.summary import print_summary
    from covey.cli.rejections import Rejections

    report = MatchReport(1, 0, 1, 1, 1, 1, 1, 1, [(text, 1)], Rejections(0, 0, []), {text: 1.0})
    print_summary(make_console(), report, {text: 1.0}, text)
    table = make_grid()
    table.add_row(text, text)
    make_console().print(table)
    assert capsys.readouterr().out.count(text) == 5


def test_no_command_makes_a_console_that_reads_markup() -> None:
    import covey.cli

    folder = Path(covey.cli.__file__).parent
    makers = [p.name for p in folder.rglob("*.py") if re.search(r"\bConsole\(", p.read_text())]
    assert makers == ["console_format.py"]


@pytest.mark.integration
def test_ids_and_predicates_with_markup_are_told_as_they_are(covey: Any) -> None:
    Path("odd.csv").write_text("alert,predicate\n[/red],n > 1\n[b]x,n > '[/red]' OR prise > 5\n")
    done = covey("match", "ticks.parquet", "odd.csv", "-o", "m.parquet", "--id", "alert")
    assert done.exit_code == 3, done.output
    assert "[/red] (" in done.stdout
    assert "[b]x: line 1" in done.stdout
    done = covey("doctor", "odd.csv", "--events", "ticks.parquet", "--id", "alert")
    assert done.exit_code == 1, done.output
    assert "\ncannot be read (1): correct it" in done.stdout
    assert "n > '[/red]' OR prise > 5" in done.stdout
    words = ["-o", "c", "--id", "alert", "--owner", "alert", "--no-picture"]
    done = covey("reduce", "odd.csv", "ticks.parquet", *words)
    assert done.exit_code == 3, done.output
    assert "[b]x: line 1" in done.stdout
    done = covey("preview", "symbol <> '[/red]'", "ticks.parquet", "--rows", str(2**70))
    assert done.exit_code == 0, done.output


@pytest.mark.integration
@pytest.mark.parametrize(("words", "said"), LATE, ids=lambda value: " ".join(value)[:60])
def test_what_spark_must_be_asked_for(words: list[str], said: str, covey: Any) -> None:
    Path("bare.parquet").mkdir()
    Path("torn.json").write_text('{"n": 1}\n{"n": \n')
    check(covey(*words), said)
    assert not Path("m.parquet").exists()


@pytest.mark.integration
def test_what_spark_logs_is_as_before_after_a_command(covey: Any) -> None:
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, filters = logger.level, list(logger.filters)
    assert covey("preview", "n > nothing", "ticks.csv").exit_code == 2
    assert logger.level == before < logging.ERROR
    assert logger.filters == filters


@pytest.mark.integration
def test_a_row_that_does_not_fit_ends_it(covey: Any) -> None:
    Path("short.csv").write_text("n,m\n1,2\n3\n")
    check(covey("preview", "n > 1", "short.csv"), "short.csv")


@pytest.mark.integration
def test_nothing_is_left_of_a_match_that_fails(covey: Any) -> None:
    """The events are damaged: only the match itself finds that out."""
    write_damaged_parquet(Path("big.parquet"))
    Path("s.csv").write_text("id,predicate\na,n > 5\n")
    done = covey("match", "big.parquet", "s.csv", "-o", "m.parquet")
    check(done, "big.parquet")
    assert not Path("m.parquet").exists()


@pytest.mark.integration
def test_an_event_for_which_nothing_can_be_computed_disturbs_no_other(covey: Any) -> None:
    Path("big.csv").write_text("n\n1\n2\n9000000000000000000\n")
    Path("s.csv").write_text("id,predicate\na,n * 10 > 5\nb,n > 1\n")
    done = covey("match", "big.csv", "s.csv", "-o", "m.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table("m.parquet").to_pylist()
    assert sorted((row["n"], row["id"]) for row in found) == [
        (1, "a"), (2, "a"), (2, "b"), (9000000000000000000, "b"),
    ]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize(
    "words",
    [
        ["stream", "stream.toml"],
        ["explain", "stream.toml", "--event-offset", "ads-0-0", "--subscription", "x"],
        ["plan", "deploy", "plan", "--servers", "127.0.0.1:1", "--events", "ads",
         "--schema", "x DOUBLE", "--checkpoint", "c"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_session_without_the_connector_is_refused(words: list[str], covey: Any) -> None:
    from covey.plan import SavedPlan, greedy
    from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

    Path("stream.toml").write_text(LEAST)
    SavedPlan.from_plan(greedy(ASSIGNMENT_PROBLEMS["topics"](20, 2, seed=1)), ["x", "y"]).save(
        Path("plan")
    )
    check(covey(*words), "Spark has no Kafka connector: ")


@pytest.mark.parametrize("words", [["match"], ["preview"], ["doctor", "x.csv"], ["nothing"]])
def test_a_command_that_is_incomplete_says_how_it_is_used(words: list[str]) -> None:
    from typer.testing import CliRunner

    from covey.cli import app

    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "Usage: " in done.stderr


def write_odd_files() -> None:
    """Write files that commands refuse to the working directory."""
    Path("empty.csv").touch()
    Path("empty.parquet").touch()
    Path("notes.txt").write_text("not a table")
    Path("bare.csv").write_text("id,predicate\n")
    Path("semicolons.csv").write_text("id;predicate\n1;n > 1\n")
    Path("headless.csv").write_text("1,n > 1\n2,n > 2\n")
    Path("commas.csv").write_text("id,predicate\n\n1,n > 1\n2,n IN (1,2)\n")
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), "rowless.parquet")


def run_without_spark(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command that must not start Spark."""
    from typer.testing import CliRunner

    from covey.cli import app
    from covey.cli.session import SessionLauncher

    def start(_: SessionLauncher) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SessionLauncher, "launch", start)
    return CliRunner().invoke(app, words)


def check(done: Any, said: str) -> None:
    """One line on stderr, nothing on stdout."""
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("covey: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("module", ["typer", "pyspark"])
def test_a_command_line_that_is_not_installed_says_what_is_missing(module: str) -> None:
    hidden = f"import sys; sys.modules[{module!r}] = None; import covey.cli"
    ended = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"the command line needs {module}, which is not installed: pip install 'covey[cli,spark]'\n"
    )


def test_an_extra_that_is_not_installed_is_named() -> None:
    hidden = "import sys; sys.modules['confluent_kafka'] = None; from covey.cli import app; app()"
    words = ["--servers", "localhost:1", "--events", "e", "--schema", "x DOUBLE"]
    ended = subprocess.run(
        [sys.executable, "-c", hidden, "plan", "deploy", "nowhere", *words, "--checkpoint", "c"],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "covey: this command needs confluent_kafka, which is not installed: "
        "pip install 'covey[stream]'\n"
    )


def test_a_malformed_row_of_csv_comes_with_advice() -> None:
    from covey.cli.errors import spark_error_message

    said = spark_error_message(Exception("Malformed CSV record: s13,max(amount) > 100"))
    assert said.startswith("Malformed CSV record: s13")
    assert "; check that the row has as many values as the header (put a predicate that" in said
    assert said.endswith("all lines of the file end in the same way")
