"""From a Kafka event to the rows that leave: notifications and dead letters.

Spark decodes the values of events and computes the attributes that subscriptions compare. Its
Python workers match them and build finished rows of `topic`, `key` and `value`; nothing is done to
a row afterwards. An event that cannot be decoded becomes a dead letter and stops nothing.

Modules, in the order in which an event passes through them:

- `decoder`: `EventDecoder`, Spark columns that decode JSON or Avro and detect what is malformed.
- `match_query`: `MatchQuery`, the DataFrame from Kafka's rows to the rows that leave, and
  `RequiredAttributes`, the attributes that workers need.
- `notify_task`: `NotifyTask`, the function that workers run: match, and build notifications.
- `dead_letters`: `DeadLetterFormatter`, the message about an event that could not be decoded.
- `sinks`: write the rows to Kafka, to a Delta table, or to a function of the user.
"""
