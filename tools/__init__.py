"""Programs for developers of covey: `python -m tools.quick`, `python -m tools.mutants`.

`import_graph` reads the imports between files from the sources. `quick` runs the tests that a
change affects (`make quick`), and `mutants` measures which faults these tests detect (`make
mutants`). `names`, `signatures`, `package_borders` and `prose` list violations of the project's
rules, and `prose_sample` draws texts for a review. `executed_files` lists the files that run during
an action. `summary` adds up pytest's summaries for `.ci/run`.
"""
