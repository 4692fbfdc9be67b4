"""From Kafka events to output rows: notifications and dead letters.

Spark decodes the values of events and computes the attributes that subscriptions compare. Its
Python workers match the events and build complete output rows with the columns `topic`, `key` and
`value`. For an event that cannot be decoded, a dead letter is sent, and the stream goes on.

The modules, in the order in which an event passes through them, are:

- `decoder`: `EventDecoder`, Spark columns that decode JSON or Avro and detect malformed values.
- `match_query`: `MatchQuery`, which builds the DataFrame of output rows from rows of Kafka, and
  `RequiredAttributes`, the attributes that workers need.
- `late_rows`: `LateRows`, rows of candidates that Spark decides after the workers.
- `notify_task`: `NotifyTask`, the function that workers run: match, and build notifications.
- `dead_letters`: `DeadLetterFormatter`, the message about an event that could not be decoded.
- `sinks`: `Sink`, which writes the rows to Kafka or a Delta table, or passes them to a function.
"""
