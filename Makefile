# Everything a newcomer types. `make help` lists the targets; .ci/run calls `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PY := .venv/bin/python
REBAR := cd erlang_node && rebar3
CHART := charts/partisan-operator
CONSOLE := npm --prefix operator/console run --silent
# The release of the images; `make test` tests on it and on the machine's own.
OTP ?= 27
# Where the parts of a release will be found.
RELEASED = $(if $(REGISTRY),--registry "$(REGISTRY)") $(if $(DOWNLOADS),--downloads "$(DOWNLOADS)")

# All but the Erlang code's. A browser takes pods that come and go for changes of its network, so
# these tests run before the end-to-end tests.
LINT := lint-prose lint-python lint-chart lint-console site
UNIT := unit-console unit-python

export PYTHONUNBUFFERED := 1

# Makes $(1) and $(2) at the same time, where one mostly waits. $(2) shows as it runs, $(1) at its
# end: three lines, or all of build/results/$(3).log when it fails.
define together
	@mkdir -p build/results; log=build/results/$(3).log; \
	    { $(MAKE) --no-print-directory $(1) > $$log 2>&1 || \
	        { echo "make $(1) has failed: $$log"; exit 1; }; } & other=$$!; \
	    ok=0; $(MAKE) --no-print-directory $(2) || ok=$$?; \
	    wait $$other || { ok=$$?; cat $$log; }; tail -n 3 $$log; exit $$ok
endef

# Runs $(1), EUnit on release $(2). What failed comes again at the end: there are 2,000 lines.
define eunit
	@mkdir -p build/results; log=build/results/eunit-$(2).log; \
	    ( $(1) ) 2>&1 | tee $$log || \
	        { ok=$$?; echo "Failed tests, also in $$log:"; \
	          grep -B 1 -A 8 -F -e 'Failed: After' -e '*failed*' -e '*timed out*' -e 'failed ***' \
	              -e '*unexpected termination' $$log || true; exit $$ok; }
endef

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## ---- What a newcomer wants ------------------------------------------------------------------

.PHONY: demo
demo: bootstrap ## From a bare machine to a converged 32-node overlay cluster, with a live display
	$(PY) -m scale_tests demo run

.PHONY: down
down: bootstrap ## Remove everything that `make demo` made
	$(PY) -m scale_tests demo down

.PHONY: test
test: bootstrap ## Every check and every test, on a real Kubernetes included
	$(call together,lint-erlang,$(LINT) $(UNIT),lint-erlang)
	$(call together,unit-erlang,e2e,unit-erlang)

.PHONY: test-fast
test-fast: export QUICK = 1
test-fast: bootstrap ## What needs no cluster, on the machine's OTP
	$(call together,lint-erlang eunit,lint-python lint-console unit-console unit-python,test-fast-erlang)

## ---- Parts ----------------------------------------------------------------------------------

.PHONY: bootstrap
bootstrap: ## Install what the targets need (apt packages, Python environment), saying what
	@python3 -m scale_tests.bootstrap

.PHONY: cluster
cluster: bootstrap ## Bring up the local Kubernetes (the first time builds it)
	$(PY) -m scale_tests.localkube up

.PHONY: images
images: bootstrap ## Build the images of the node and the operator
	$(PY) -m images.builder build

.PHONY: console
console: lint-console unit-console ## Check, test and bundle the live page of the operator

.PHONY: page
page: bootstrap
	$(PY) -m images.builder page

.PHONY: lint
lint: bootstrap ## Every formatter, linter and type checker
	$(call together,lint-erlang,$(LINT),lint-erlang)

.PHONY: lint-prose
lint-prose: ## Check documents and messages for phrases with a better word
	python3 .ci/phrases.py

.PHONY: lint-python
lint-python: bootstrap
	$(PY) -m ruff format --check . && $(PY) -m ruff check .
	$(PY) -m mypy
	cd operator && ../$(PY) -m ruff format --check . && ../$(PY) -m ruff check . && ../$(PY) -m mypy
	PYTHONPATH=. .venv/bin/lint-imports
	cd operator && PYTHONPATH=src ../.venv/bin/lint-imports
	cd operator && PYTHONPATH=src ../$(PY) -m partisan_operator.models.crd --check ../crds/partisanclusters.yaml
	diff -u crds/partisanclusters.yaml $(CHART)/files/partisanclusters.yaml

.PHONY: lint-erlang
lint-erlang: bootstrap
	escript erlang_node/scripts/lint.escript
	$(REBAR) as test compile
	cd erlang_node && escript scripts/calls.escript _build/test/lib
	$(REBAR) xref
	$(REBAR) dialyzer

.PHONY: lint-chart
lint-chart: bootstrap
	$(PY) -m charts.tools

.PHONY: lint-console
lint-console: page
	$(CONSOLE) check

.PHONY: unit
unit: bootstrap ## Unit and property tests of both languages
	$(call together,unit-erlang,$(UNIT),unit-erlang)

.PHONY: unit-python
unit-python: page
	cd operator && ../$(PY) -m pytest
	$(PY) -m pytest

.PHONY: unit-console
unit-console: page
	$(CONSOLE) test

.PHONY: unit-erlang
unit-erlang: bootstrap
	$(call together,test-otp,eunit,test-otp)

.PHONY: eunit
eunit: bootstrap
	$(call eunit,$(REBAR) eunit,own)

.PHONY: test-otp
test-otp: export PYTHONPATH = $(CURDIR)
test-otp: bootstrap ## Unit and property tests of the runtime on OTP 27, or on OTP=29
	$(call eunit,cd erlang_node && ../$(PY) -m scale_tests.otp $(OTP) rebar3 eunit,$(OTP))

.PHONY: fuzz
fuzz: export FUZZ_SECONDS ?= 60
fuzz: bootstrap ## Fuzz decoder, listener and streams, FUZZ_SECONDS (60) each; FUZZ_SEED repeats a run
	$(REBAR) eunit --module=partisan_fuzz_tests

.PHONY: e2e
e2e: bootstrap ## End-to-end tests on a real cluster: KUBECONFIG's, or the local one
	$(PY) -m pytest scale_tests/e2e -n 4 --dist loadfile --no-loadscope-reorder --durations=40

.PHONY: crd
crd: bootstrap ## Regenerate the CRD from the operator's models, and its page
	cd operator && PYTHONPATH=src ../$(PY) -m partisan_operator.models.crd > ../crds/partisanclusters.yaml
	cp crds/partisanclusters.yaml $(CHART)/files/partisanclusters.yaml
	$(PY) -m docs.tools.api

.PHONY: compatibility
compatibility: bootstrap ## Regenerate the page of versions that work together
	$(PY) -m docs.tools.compatibility

.PHONY: dashboards
dashboards: bootstrap ## Regenerate the Grafana dashboards; fails when a committed one was different
	$(PY) -m charts.tools.dashboards

.PHONY: dashboards-check
dashboards-check: bootstrap ## See a 32-node run with faults in dashboards and alerts, and draw them (QUICK=1: smaller)
	$(PY) -m scale_tests dashboards $(PICTURES)

.PHONY: readme
readme: bootstrap ## Regenerate the tables of the chart's README from its values and alerts
	$(PY) -m charts.tools.readme

.PHONY: reference
reference: bootstrap ## Regenerate the pages of docs/reference and a picture from the CRD, the modules and the results
	PYTHONPATH=operator/src $(PY) -m docs.tools.api
	PYTHONPATH=operator/src $(PY) -m docs.tools.cli
	PYTHONPATH=operator/src $(PY) -m docs.tools.metrics
	$(PY) -m docs.tools.runtime
	$(PY) -m docs.tools.transmission

.PHONY: overlays
overlays: bootstrap ## Draw the overlays of docs/explanation/overlays.md anew, simulated
	$(REBAR) compile
	PYTHONPATH=operator/src $(PY) -m docs.tools.overlays

.PHONY: site
site: export NO_MKDOCS_2_WARNING = 1
site: ## Build the site of the documents, build/site, with its links checked
	@python3 -m scale_tests.bootstrap site
	build/site-environment/bin/python -m mkdocs build --quiet

.PHONY: site-pictures
site-pictures: site ## Draw some pages of the site, light and dark, into build/results/site
	$(PY) -m docs.tools.screenshots

.PHONY: bench
bench: bootstrap ## Measure join latency, operator overhead and memory per node on the running cluster
	$(PY) -m scale_tests joining

.PHONY: bench-operator
bench-operator: bootstrap ## Measure the operator with thousands of simulated pods; as root (QUICK=1: hundreds)
	$(PY) -m scale_tests operator-bench

.PHONY: bench-control-plane
bench-control-plane: bootstrap ## Measure how a control plane starts thousands of simulated pods; as root (QUICK=1: hundreds)
	$(PY) -m scale_tests control-plane

.PHONY: bench-formation
bench-formation: bootstrap ## Measure how clusters form and fail, one virtual machine per node on loopback (QUICK=1: fewer)
	$(PY) -m scale_tests formation

.PHONY: bench-mesh
bench-mesh: bootstrap ## Measure how large Distributed Erlang's mesh and our overlays get; as root, resumable (PLAN=1: its length; OUT=DIRECTORY; QUICK=1: 16 nodes)
	$(PY) -m scale_tests mesh $(if $(filter 1,$(PLAN)),--plan) $(if $(OUT),--out $(OUT))

.PHONY: bench-client-server
bench-client-server: bootstrap ## Show that a server's memory is bounded, and what happens without bounds (OUT=DIRECTORY; QUICK=1: 128 clients)
	$(PY) -m scale_tests client-server $(if $(OUT),--out $(OUT))

.PHONY: bench-runtime
bench-runtime: bootstrap ## Compare the runtime with Distributed Erlang and raw sockets; as root (QUICK=1: fewer points)
	$(PY) -m scale_tests runtime

.PHONY: bench-reply
bench-reply: bootstrap ## Compare ways in which a server may answer a call: inline, spawned, pool, read (OUT=DIRECTORY; QUICK=1: fewer points)
	$(PY) -m scale_tests reply $(if $(OUT),--out $(OUT))

.PHONY: bench-ring
bench-ring: bootstrap ## Repeat the published echo, key-value and message benchmarks on three systems; as root; resumable (PLAN=1: its length; OUT=DIRECTORY; QUICK=1: fewer points)
	$(PY) -m scale_tests ring $(if $(filter 1,$(PLAN)),--plan) $(if $(OUT),--out $(OUT))

.PHONY: bench-interposition
bench-interposition: bootstrap ## Measure what fault injection costs when it is off, compared with an earlier revision (BASE=REVISION; QUICK=1: fewer pairs)
	$(PY) -m scale_tests interposition $(if $(BASE),--base $(BASE))

.PHONY: bench-console
bench-console: page ## Measure the live page with 1,024 simulated nodes: drawing, changes, memory, viewers (OUT=DIRECTORY; QUICK=1: 128 nodes)
	PYTHONPATH=operator/src $(PY) -m scale_tests console $(if $(OUT),--out $(OUT))

.PHONY: upgrade
upgrade: bootstrap ## Upgrade a counting cluster of NODES (16) from an earlier revision: operator, chart, CRD, nodes (FROM=75e4a70)
	$(PY) -m scale_tests upgrade $(or $(FROM),75e4a70) $(if $(NODES),--nodes $(NODES))

.PHONY: scale
scale: bootstrap ## Repeat the published evaluation, as large as the cluster holds; resumable (SPEEDUP=1: real time; SIZES=32,64)
	$(PY) -m scale_tests experiments run experiments/paper.yaml --out build/results/scale-paper \
	    $(if $(SPEEDUP),--speedup $(SPEEDUP)) $(if $(SIZES),--sizes $(SIZES)) \
	    $(if $(SIMULATED),--simulated $(SIMULATED))

.PHONY: scale-1024
scale-1024: bootstrap ## 1,024 nodes as plain processes, as published, in real time (40 minutes for each cell; resumable; OVERLAYS=, SYNCHRONIZATIONS=)
	$(PY) -m scale_tests.localkube up
	$(PY) -m scale_tests.cluster.agent -- $(PY) -m scale_tests experiments run experiments/thousand.yaml \
	    --out $(or $(OUT),build/results/scale-thousand) $(if $(OVERLAYS),--overlays $(OVERLAYS)) \
	    $(if $(SYNCHRONIZATIONS),--synchronizations $(SYNCHRONIZATIONS))

.PHONY: bench-deletion
bench-deletion: bootstrap ## Measure what deleting clusters of 64 to 1,024 nodes costs; resumable (SIZES=, OVERLAYS=, OUT=DIRECTORY; QUICK=1: 64 nodes)
	$(PY) -m scale_tests.localkube up
	$(PY) -m scale_tests.cluster.agent -- $(PY) -m scale_tests deletion $(if $(OUT),--out $(OUT)) \
	    $(if $(SIZES),--sizes $(SIZES)) $(if $(OVERLAYS),--overlays $(OVERLAYS))

.PHONY: scale-quick
scale-quick: bootstrap ## The same on three small sizes, in under ten minutes; anew each time
	rm -rf build/results/scale-quick
	$(PY) -m scale_tests experiments run experiments/quick.yaml --out build/results/scale-quick

.PHONY: bench-churn
bench-churn: bootstrap ## Kill nodes of, churn and partition a cluster of NODES (64) that counts (OUT=DIRECTORY; QUICK=1: 16 nodes)
	$(PY) -m scale_tests churn $(if $(NODES),--nodes $(NODES)) $(if $(OUT),--out $(OUT))

.PHONY: verify
verify: bootstrap ## Explore every protocol and model under faults; counts, counterexamples, replays (QUICK=1: fewer; PUBLISH=1: into docs)
	$(PY) -m scale_tests verify $(if $(filter 1,$(PUBLISH)),--publish)

.PHONY: simulate
simulate: bootstrap ## Repeat the overlay papers' experiments in virtual time (ONLY=scale_curves; OUT=DIRECTORY; QUICK=1: a tenth of the size)
	$(PY) -m scale_tests simulate run $(if $(ONLY),--only $(ONLY)) $(if $(MOST),--most $(MOST)) \
	    $(if $(OUT),--out $(OUT))

.PHONY: prediction
prediction: bootstrap ## Compare predictions of `kubectl partisan plan` with the real cells of CELLS (build/results/scale-paper); page in OUT
	PYTHONPATH=operator/src $(PY) -m scale_tests prediction $(or $(CELLS),build/results/scale-paper) \
	    $(if $(OUT),--out $(OUT))

.PHONY: release
release: bootstrap ## Build what users install into build/release/VERSION: images, chart, manifest, plugin, bundle (REGISTRY=, DOWNLOADS=)
	$(PY) -m images.release build "$(VERSION)" $(RELEASED)

.PHONY: release-check
release-check: bootstrap ## Build them a second time without caches, and compare the digests (the same arguments)
	$(PY) -m images.release check "$(VERSION)" $(RELEASED)

.PHONY: release-push
release-push: bootstrap ## Push a release's images, chart and bundle to the REGISTRY that it was built for
	$(PY) -m images.release push "$(VERSION)" $(RELEASED)

.PHONY: version
version: bootstrap ## Write the next VERSION of chart, operator and runtime
	$(PY) -m images.release version "$(VERSION)"

.PHONY: requirements
requirements: bootstrap ## Lock the Python requirements anew
	$(PY) -m piptools compile --quiet --generate-hashes --strip-extras --no-emit-index-url --no-emit-find-links \
	    --output-file operator/requirements.txt operator/requirements.in
	$(PY) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
	    --output-file requirements.txt requirements.in
	$(PY) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
	    --output-file docs/tools/requirements.txt docs/tools/requirements.in
