"""A reliable channel with packets that are duplicated and reordered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from covey.overlay.reliable_channel import ChannelReceiver, ChannelSender


@given(st.lists(st.integers(0, 9), max_size=60))
def test_packets_in_any_order_give_messages_once_and_in_order(order: list[int]) -> None:
    end, messages = ChannelReceiver(), []
    for number in [*order, *range(10)]:
        messages += end.receive(number, f"message {number}")
    assert messages == [f"message {number}" for number in range(10)]
    assert not end.early_messages


def test_unacknowledged_messages_are_stored() -> None:
    end = ChannelSender()
    for text in "abcd":
        end.send(text)
    end.acknowledge(2)
    end.acknowledge(1)  # an older acknowledgement that arrives late
    assert end.unacknowledged_messages == {2: "c", 3: "d"}
