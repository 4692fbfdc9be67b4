"""A direction between two nodes, under everything that can happen to packets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from covey.overlay.reliable_channel import ChannelReceiver, ChannelSender


@given(st.lists(st.integers(0, 9), max_size=60))
def test_in_whatever_order_packets_come_messages_come_in_theirs(order: list[int]) -> None:
    end, given_ = ChannelReceiver(), []
    for number in [*order, *range(10)]:
        given_ += end.receive(number, f"message {number}")
    assert given_ == [f"message {number}" for number in range(10)]
    assert not end.early_messages


def test_what_is_not_acknowledged_is_kept() -> None:
    end = ChannelSender()
    for text in "abcd":
        end.send(text)
    end.acknowledge(2)
    end.acknowledge(1)  # an older one that was overtaken
    assert end.unacknowledged_messages == {2: "c", 3: "d"}
