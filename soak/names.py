"""The topics of a run, and the files in its folder."""

from __future__ import annotations

EVENTS = "ads"
ALERTS = "alerts"
NOTIFICATIONS = "notifications"
DEAD_LETTERS = "dead-letters"

JOURNAL = "journal.jsonl"  # what was acknowledged to the producers
RECORDED = "recorded.jsonl"  # every record of the control topic
LEDGER = "ledger.sqlite"  # what the receiver did
STOP = "stop"  # when it is there, the producers end as soon as they made what was asked
STATE = "state"  # of the pipeline
