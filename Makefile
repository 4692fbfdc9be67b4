# Run `make setup` once, then `make check`. CI runs the same commands.

VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
NAME ?=
ARGS ?=
BASE ?= HEAD
JOBS ?= auto
SPARK_JOBS ?= $(shell python3 -c 'import os; print(os.cpu_count() + 1)')
RUNS ?= 1000
SHORT_LIVED := -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xlog:disable

# Python always caches bytecode, because tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup check quick mutants test coverage docs dist jars kafka integration classic connect nightly soak bench fuzz lock clean
.DEFAULT_GOAL := check

# All packages come from the lock file, verified by hash; if uv is missing, pip installs the locked uv.
# Packages in uv's cache are not requested again; otherwise Spark's package would be built every time.
INSTALL = PATH="$$PATH:$(CURDIR)/$(BIN)" uv pip install --python $(BIN)/python

setup:
	@if command -v uv >/dev/null; then \
	    uv venv --quiet --allow-existing --python '>=3.11' $(VENV); \
	else \
	    $(PYTHON) -m venv $(VENV) && \
	    awk '/^[a-z]/ { on = /^uv==/ } on' requirements.lock > $(VENV)/uv.lock && \
	    $(BIN)/pip install --quiet --require-hashes -r $(VENV)/uv.lock; \
	fi
	$(INSTALL) --offline --quiet --require-hashes -r requirements.lock 2>/dev/null || \
	    $(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .

# One thread per process: two processes with two threads each would compete for two cores.
check: export OPENBLAS_NUM_THREADS ?= 1
check: export OMP_NUM_THREADS ?= 1
check:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# The tests that are affected by the changes since BASE, nearest first, for about a minute.
quick: export SPARK_LOCAL_IP ?= 127.0.0.1
quick: export SPARK_SUBMIT_OPTS ?= $(SHORT_LIVED)
quick:
	@$(BIN)/python -m tools.quick --base $(BASE) $(ARGS)

# Measures which deliberate faults in the sources `make quick` detects. Takes an hour.
mutants:
	@$(BIN)/python -m tools.mutants $(ARGS)

test:
	$(BIN)/python -m pytest $(ARGS)

# The documentation site, in site/; a broken link fails the build. Diagrams are drawn in the browser by a
# script that is part of the site; needs npm.
docs: .mermaid/mermaid.min.js
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

MERMAID := mermaid-11.17.2
MERMAID_SHA512 := 57a2b70bc101744b0f1595d228c25eea9a50384371b87011afd1af1d7e21878ee501b84c443f6a7f8a042bb2e869143150b31af34feab798073bbdda0a578106
.mermaid/mermaid.min.js:
	rm -rf .mermaid && mkdir .mermaid
	cd .mermaid && npm pack --silent $(subst -,@,$(MERMAID)) >/dev/null
	cd .mermaid && echo '$(MERMAID_SHA512)  $(MERMAID).tgz' | sha512sum --check --quiet
	cd .mermaid && tar -xzf $(MERMAID).tgz --strip-components 2 package/dist/mermaid.min.js
	rm .mermaid/$(MERMAID).tgz

# The jars of Delta, Kafka's connector and Avro, which are not Python packages; needs Maven. Two
# artifacts are older than Spark, since not every registry has theirs.
jars: .jars/pom.xml

.jars/pom.xml: jars/pom.xml
	rm -rf .jars
	mvn --quiet --batch-mode --file jars/pom.xml dependency:copy-dependencies \
	    -DexcludeTransitive=true -DoutputDirectory=$(CURDIR)/.jars
	cp jars/pom.xml .jars/pom.xml
	@echo 'jars: spark-token-provider-kafka-0-10 is 4.1.0-preview1 and spark-avro is 4.1.1, not 4.2.0 as Spark:'
	@echo 'not every registry has 4.2.0 of these two, and the older ones work with Spark 4.2.0 (jars/pom.xml).'

# A Kafka server for tests and benchmarks.
kafka: .kafka/pom.xml

.kafka/pom.xml: jars/kafka/pom.xml
	rm -rf .kafka
	mvn --quiet --batch-mode --file jars/kafka/pom.xml dependency:copy-dependencies \
	    -DoutputDirectory=$(CURDIR)/.kafka
	cp jars/kafka/pom.xml .kafka/pom.xml

# An archive of Spark's loaded classes, with which Spark sessions of tests start in two thirds of the time.
.jars/classes.jsa: .jars/pom.xml requirements.lock tests/classes.py
	rm -f $@
	SPARK_LOCAL_IP=127.0.0.1 SPARK_SUBMIT_OPTS='$(SHORT_LIVED) -XX:ArchiveClassesAtExit=$@' \
	    $(BIN)/python -m tests.classes

# Sessions of tests are too short for Java's last stage of compilation. Java's log is disabled because a
# warning about an archive of another Java would be part of the output of commands. Tests whose client
# differs under Spark Connect run through it too.
integration: classic connect

classic connect: export SPARK_SUBMIT_OPTS ?= $(SHORT_LIVED) -XX:SharedArchiveFile=$(CURDIR)/.jars/classes.jsa
classic connect: export SPARK_LOCAL_IP ?= 127.0.0.1
classic connect: jars kafka .jars/classes.jsa

# One process more than cores, because each sometimes waits for its Spark.
classic:
	$(BIN)/python -m pytest -q -m 'integration and not nightly' -n $(SPARK_JOBS) --dist loadfile $(ARGS)

connect:
	COVEY_TEST_REMOTE='local[2,4]' $(BIN)/python -m pytest -q -m connect tests/spark $(ARGS)

# The lines and branches that tests run in drivers, in programs and in Spark's workers. Takes an hour;
# htmlcov/ shows each line.
coverage: export COVERAGE_PROCESS_START := $(CURDIR)/pyproject.toml
coverage: export COVERAGE_FILE := $(CURDIR)/.coverage/data
coverage: export PYTHONPATH := $(CURDIR)/tools/coverage_site
coverage: jars kafka .jars/classes.jsa
	rm -rf .coverage && mkdir .coverage
	-$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal
	-$(MAKE) --no-print-directory integration
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet --ignore-errors
	$(BIN)/coverage report --precision=2 --sort=cover --ignore-errors

# Slow tests: most benchmarks at a small size, each setting of Spark, a stream with kills.
nightly: export SPARK_LOCAL_IP ?= 127.0.0.1
nightly: jars kafka
	$(BIN)/python -m pytest -q -m nightly $(ARGS)

# Every routing strategy in 1,000 runs of 200 adds and cancels, with crashes: an hour. Then a stream of a
# million events and 20,000 changes with 100 kills, and 10,000 subscriptions that must be notified of the
# next event after their acknowledgement: another hour.
soak: export SPARK_LOCAL_IP ?= 127.0.0.1
soak: jars kafka
	COVEY_RUNS=$(RUNS) $(BIN)/python -m pytest -q tests/routing/test_routing_table.py -k test_a_link
	folder=$$(mktemp -d) && $(BIN)/python -m soak --seed 7 --folder $$folder/soak && rm -r $$folder
	COVEY_SUBSCRIBED=10000 $(BIN)/python -m pytest -q -m integration tests/stream -k acknowledged

# make bench              lists the benchmarks
# make bench NAME=fuzz    runs one; ARGS="--only KEY --full" is passed on
bench:
	@$(BIN)/python -m benchmarks $(NAME) $(ARGS)

# A wheel in dist/, for `pip install`.
dist:
	$(BIN)/python -m hatchling build --target wheel

fuzz:
	@$(BIN)/python -m benchmarks fuzz --full

# One lock file for all platforms and Python 3.11 or later, with versions and hashes but no addresses.
lock:
	PATH="$$PATH:$(CURDIR)/$(BIN)" uv pip compile pyproject.toml --all-extras --universal \
	    --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --custom-compile-command "make lock" --quiet -o requirements.lock $(ARGS)
	@! grep -nE '://|^-|(^| )/' requirements.lock || { echo 'requirements.lock names an address or a path' >&2; exit 1; }

clean:
	rm -rf build dist site htmlcov .coverage .jars .kafka .mermaid .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples soak tools -name __pycache__ -type d -prune -exec rm -rf {} +
