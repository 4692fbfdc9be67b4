"""`covey doctor`: find subscriptions that are wrong, useless, too broad or duplicates.

Spark's workers analyse each subscription by itself, in one pass, and match all of them with a
sample of the events. A few queries on the whole set follow. The findings are a DataFrame with a row
for each finding, and only findings that are printed are fetched by the driver.

The modules, in the order in which data passes through them, are:

    command              the options, and the exit code: 1 if there are problems
    job                  `DoctorJob`: runs the steps below, and returns a `DoctorReport`
    subscription_facts   analyse each subscription: satisfiable, fingerprint, attributes
    event_checks         attributes that are null in all events; matches per subscription
    checks               the kinds of findings: a DataFrame, a heading and advice for each kind
    value_suggestions    values in predicates that no event has, and similar values of events
    summary              print the findings: some of each kind for people, or all as JSON lines
"""
