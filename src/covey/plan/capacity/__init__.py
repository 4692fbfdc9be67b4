"""Assignment of all subscribers to leaves, within the capacity of each leaf.

Filters that were made for a sample cover most other subscribers as they are. Here the rest of the
work is done for any number of subscribers: those whom no filter covers widen one, and a maximum
flow between leaf sets and leaves decides how many of each set go to which leaf. The size of the
flow depends on the number of different leaf sets, not on the number of subscribers.

Modules, in the order in which data passes through them:

- `leaf_quotas`: the frequent leaf sets, how many of each every leaf takes, and who goes where.
- `max_flow`: the maximum flow behind the quotas, and the least load factor that serves all.
- `full_assignment`: `assign_all`, `enforce_capacity` and `relieve_overload`: plans for everybody.
"""
