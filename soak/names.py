"""Names of the topics of a run, and of the files in its folder."""

from __future__ import annotations

EVENTS = "ads"
ALERTS = "alerts"
NOTIFICATIONS = "notifications"
DEAD_LETTERS = "dead-letters"

JOURNAL = "journal.jsonl"  # records that were acknowledged to the producers
RECORDED = "recorded.jsonl"  # copy of every record of the control topic
LEDGER = "ledger.sqlite"  # effects of the receiver
STOP = "stop"  # if this file exists, the producers end when their numbers are reached
STATE = "state"  # state folder of the pipeline
