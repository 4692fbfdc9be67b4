"""The retry policy of a stream: delays and the deadline."""

from __future__ import annotations

import pytest

from covey.errors import StreamError
from covey.stream import retry
from covey.stream.retry import RetryPolicy

BROKEN = OSError("the disk is full\nat a.b.C")
LOST = RuntimeError("Some data may have been lost because …\nReason: Could not read [6, 7)\nwith …")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retry, "time", clock)
    return clock


def test_delays_increase_until_a_batch_succeeds(clock: Clock) -> None:
    policy = RetryPolicy("state/checkpoint", 7)
    assert [policy.next_delay_s(BROKEN, 7) for _ in range(6)] == [1, 2, 5, 10, 10, 10]
    assert [policy.next_delay_s(BROKEN, 8) for _ in range(2)] == [1, 2]


def test_the_stream_ends_after_the_deadline_of_ten_minutes(clock: Clock) -> None:
    policy = RetryPolicy("state/checkpoint", 7)
    clock.now += 599
    policy.next_delay_s(BROKEN, 7)
    clock.now += 2
    said = r"for 601 seconds \(deadline 600 seconds\): the disk is full$"
    with pytest.raises(StreamError, match=said):
        policy.next_delay_s(BROKEN, 7)


def test_a_successful_batch_resets_the_deadline(clock: Clock) -> None:
    policy = RetryPolicy("state/checkpoint", 7)
    clock.now += 599
    assert policy.next_delay_s(BROKEN, 8) == 1
    clock.now += 599
    assert policy.next_delay_s(BROKEN, 8) == 2


def test_deleted_events_end_the_stream_after_30_seconds(clock: Clock) -> None:
    policy = RetryPolicy("state/checkpoint", -1)
    assert policy.next_delay_s(LOST, -1) == 1
    clock.now += 31
    with pytest.raises(StreamError) as raised:
        policy.next_delay_s(LOST, -1)
    assert str(raised.value) == (
        "events were deleted from Kafka before they were read: Could not read [6, 7). To continue "
        "without them, delete state/checkpoint: the stream then begins where [events] "
        "starting_offsets says"
    )
