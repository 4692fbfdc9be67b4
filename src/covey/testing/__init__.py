"""Oracles, contract tests and random cases, shipped so that users can test their own index.

Import what you need from the modules: they depend on hypothesis, Spark or Kafka, which this package
itself does not import. Random cases draw from few values, so that predicates and events really
meet; a seed, or hypothesis, decides a whole case.

In the order in which data passes through them:

    random_values     values that events hold: ends of types, and few enough to meet again
    random_literals   literals for predicates, in all the spellings that Spark reads
    random_cases      random spaces, events and predicates, from one `random.Random`
    invalid_texts     texts that are no predicates: noise, and predicates gone slightly wrong
    strategies        hypothesis strategies for spaces, events, regions and predicates
    index_contract    `IndexContract`: the test class that every index passes
    range_tree        a layered range tree in plain Python, to compare an index with
    spark_oracle      what Spark's `where` keeps, beside what covey matches
    store_faults      kill writers and flip bytes of a store, and check what it says
    kafka_server      `KafkaServer`: a Kafka server to start, kill and start again
"""
