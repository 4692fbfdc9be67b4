"""Parts of the benchmark `language` that need Spark: predicates with all of its functions.

- `generator`: random predicates from the functions in Spark's registry, of which Spark has analysed
  the calls.
- `registry`: how many of them covey accepts, and whether their matches are those of `where`.
- `real_life`: the same for predicates as people write them.
"""
