"""Programs for developers of covey: `python -m tools.quick`, `python -m tools.mutants`.

`import_graph` reads the imports between files from the sources. `quick` runs the tests that a
change affects (`make quick`), and `mutants` measures which faults these tests detect (`make
mutants`). `summary` adds up pytest's summaries for `.ci/run`.
"""
