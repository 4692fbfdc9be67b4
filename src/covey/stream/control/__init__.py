"""The control topic: subscription changes, from messages to versions of the store.

A message creates, changes or cancels one subscription; its key is the subscription's id. Each
predicate gets a validity interval: it matches only events that were appended after its own change
and before the next change of the same subscription. The interval begins earlier by the clock skew.

The modules, in the order in which a change passes through them, are:

- `messages`: format of the messages; `SubscriptionChange` is one parsed message.
- `reader`: `ControlTopicReader` reads the topic from a position to its committed end.
- `change_translator`: `ChangeTranslator` turns changes into upserts with validity intervals.
- `subscriptions`: `LiveSubscriptions` commits the upserts and decides the version of a batch.
- `dead_letters`: send a dead letter for each change that could not be read.
- `rebuild`: build the store from the whole topic, in Spark's workers.
- `purged_subscriptions`: find stored subscriptions that no longer have a message on the topic.
"""
