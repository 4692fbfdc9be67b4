"""Programs for developers of covey: `python -m tools.quick`, `python -m tools.mutants`.

`import_graph` reads who imports whom from the sources; `quick` runs the tests that a change
affects (`make quick`); `mutants` measures what those tests notice (`make mutants`); `summary` adds
up pytest's summaries for `.ci/run`.
"""
