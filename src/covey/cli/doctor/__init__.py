"""`covey doctor`: find subscriptions that are wrong, useless, too broad or duplicates.

Spark workers analyse each subscription by itself, in one pass, and match all of them with a sample
of the events. A few queries on the whole set follow. Findings stay with Spark, as a DataFrame with
a row for each, until they are printed; the driver looks at no subscription one by one.

In the order in which data passes through them:

    command              the options, and the exit code: 1 if there are problems
    job                  `DoctorJob`: runs the steps below, and returns a `DoctorReport`
    subscription_facts   analyse each subscription: satisfiable, fingerprint, attributes
    event_checks         attributes that are null in all events; matches per subscription
    checks               the kinds of findings, each as a DataFrame, and advice for each
    value_suggestions    values that no event has, and the nearest value of events
    summary              print the findings: some of each kind for people, or all as JSON lines
"""
