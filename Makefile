# The targets of developers and of the gate, .ci/run. verify only reads; fix writes.

SHELL      := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS  += --no-print-directory

# The packages that the README tests.
PACKAGES := ./... ./cmd/hustings/...

# All modules, and the modules with code. They are checked one by one and without
# go.work, because that is how other modules depend on them.
MODULES := $(sort $(patsubst %/,%,$(dir $(shell find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*'))))
CODE    := $(filter-out ./internal/tools ./internal/tools/proto,$(MODULES))

# The packages of the modules that go.work joins, which are tested from the root, and the other
# modules, which are tested one by one. A new module is in one of the two lists without an edit
# here. The tests of storetest need servers, so that only make databases runs them.
JOINED := $(shell awk '$$1 ~ /^\./ { print $$1 }' go.work)
ALL    := $(addsuffix /...,$(JOINED))
OTHERS := $(filter-out $(JOINED) ./lease/internal/storetest,$(CODE))

# $(call tests,FLAGS) runs go test in all these modules.
define tests
go test $(1) $(ALL)
@for m in $(OTHERS); do (cd $$m && GOWORK=off go test $(1) ./...) || exit 1; done
endef

# The developers' tools, at the versions that internal/tools/go.mod pins.
TOOL := GOWORK=off go tool -modfile=$(CURDIR)/internal/tools/go.mod
LINT := $(TOOL) golangci-lint
BUF  := GOWORK=off go tool -modfile=$(CURDIR)/internal/tools/proto/go.mod buf

# Where the wire formats are defined.
PROTO := proto examples/ledger/proto

# The duration of each fuzz target.
FUZZTIME ?= 5s

# The duration of each campaign with real processes.
LONG ?= 2m

# The steps of verify that come before the tests. The gate asks for this list
# (make checks), so that the two cannot drift apart.
# The linters include all of go vet.
CHECKS := format lint tidy generated paths

##@ Every day

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: ## Run the tests of the library and the command, with a part of their cases.
	go test $(PACKAGES)

.PHONY: test-all
test-all: export HUSTINGS_TEST_WHOLE = 1
test-all: ## Run all tests that need no server, with all their cases.
	$(call tests,)

.PHONY: verify
verify: $(CHECKS) test-all ## Check and test everything, and change nothing. Run it before you send a change.

.PHONY: fix
fix: ## Format the code, apply the linters' own fixes, tidy every module.
	@for m in $(CODE); do (cd $$m && $(LINT) fmt ./... && { $(LINT) run --fix ./... || true; }); done
	@for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy); done

##@ One check at a time

.PHONY: format
format: ## The code is formatted.
	@for m in $(CODE); do (cd $$m && $(LINT) fmt --diff ./...) || { echo "$$m: not formatted; make fix does it" >&2; exit 1; }; done

.PHONY: vet
vet: ## go vet finds nothing. (The linters find what it does, but take longer.)
	@for m in $(CODE); do (cd $$m && GOWORK=off go vet ./...) || exit 1; done

.PHONY: lint
lint: ## The linters find nothing, in style or in architecture.
	@$(LINT) config verify
	@for m in $(CODE); do (cd $$m && $(LINT) run ./...) || { echo "$$m: the linters found something" >&2; exit 1; }; done

.PHONY: tidy
tidy: ## Every go.mod and go.sum is tidy.
	@for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy -diff) || { echo "$$m: not tidy; make fix does it" >&2; exit 1; }; done

.PHONY: generated
generated: ## The generated code is what its source makes.
	@$(BUF) lint proto
	@made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	for from in $(PROTO); do GOWORK=off $(BUF) generate $$from --template proto/buf.gen.yaml --output "$$made"; done; \
	for to in proto/electorpb examples/ledger/ledgerpb; do \
		diff -r "$$made/$$to" $$to || { echo "$$to is not what its source makes; make generate does it" >&2; exit 1; }; \
	done

.PHONY: generate
generate: ## Make the Go of the wire formats from their definitions.
	@for from in $(PROTO); do GOWORK=off $(BUF) generate $$from --template proto/buf.gen.yaml; done

# A path that only exists on one machine: a path out of this tree, or the directory of
# this checkout (unless that is a single word such as /src, which texts may contain for
# other reasons). The pattern is put together here so that this file does not match it.
.PHONY: paths
paths: ## No file names a path outside the tree.
	@outside='\.\.'/shared; here='$(CURDIR)'; \
	[[ $$here == /*/* ]] && outside+="|(^|[^[:alnum:]_./-])$$(sed 's/[][\.*^$$+?(){}|]/\\&/g' <<< "$$here")([^[:alnum:]_-]|$$)"; \
	if grep -rnE --exclude-dir=.git --exclude-dir=node_modules --exclude=.git --exclude=hustings --exclude-dir=bin --exclude-dir=dist -e "$$outside" .; then \
		echo "a file names a path that only exists on one machine" >&2; exit 1; \
	fi

##@ The longer ones

# By default a process under the race detector waits for a second at its end, and these
# tests start hundreds of processes.
.PHONY: race
race: export GORACE = atexit_sleep_ms=100
race: ## Run the tests in random order under the race detector; random tests try fewer cases.
	$(call tests,-race -short -shuffle=on)

.PHONY: bench
bench: ## Compile and run every benchmark, once.
	$(call tests,-run '^$$' -bench . -benchtime 1x)

.PHONY: processes
processes: ## Kill, pause and cut off real processes, each for LONG (2m).
	HUSTINGS_TEST_LONG=$(LONG) go test -count 1 -parallel 1 -v -timeout 1h ./cmd/hustings/internal/processes

.PHONY: ledger
ledger: ## Play 10,000 worlds of the example engine, break it in many places, and have processes of it fail for LONG (2m).
	cd examples/ledger/internal/simulated && for first in $$(seq 0 500 9500); do GOWORK=off go test -count 1 -timeout 1h . -seeds 500 -first $$first || exit 1; done
	cd examples/ledger/internal/simulated && GOWORK=off go test -count 1 -timeout 4h -run Broken -v . -broken
	cd examples/ledger && HUSTINGS_TEST_LONG=$(LONG) GOWORK=off go test -count 1 -timeout 4h -run Processes -v .

# The older version of a rolling upgrade: a commit, a branch or a tag.
OLD ?=

.PHONY: upgrade
upgrade: ## Replace real nodes of version OLD by nodes of this one, and back, for LONG (2m) each way of stopping them.
	@[ -n "$(OLD)" ] || { echo "make upgrade OLD=v0.1.0: OLD is missing" >&2; exit 2; }
	HUSTINGS_TEST_OLD=$(OLD) HUSTINGS_TEST_LONG=$(LONG) go test -count 1 -v -timeout 1h -run OlderVersion ./cmd/hustings/internal/processes

.PHONY: browser
browser: ## Check the simulator's pictures in a real browser.
	bash internal/browser/run

.PHONY: alerts
alerts: ## Check the alert rules and the dashboard with Prometheus' promtool.
	bash internal/alerts/run

.PHONY: databases
databases: ## Test the stores of leases, and the command, with real databases, which it starts.
	bash lease/internal/storetest/run -count 1

.PHONY: rehearse
rehearse: ## Try the next release as users would (VERSION: the newest in CHANGELOG.md).
	HUSTINGS_TEST_LONG=1 go test ./internal/release
	go run ./internal/release rehearse $(VERSION)

.PHONY: release
release: ## Prepare a release of the last commit in dist, as in make release VERSION=v0.1.0.
	go run ./internal/release prepare "$(VERSION)"

.PHONY: campaign
campaign: ## Simulate 100,000 worlds with all faults.
	go run ./cmd/hustings sim --seeds 100000 --json

.PHONY: week
week: ## Simulate a virtual week, in which memory must not grow.
	HUSTINGS_TEST_LONG=1 go test -count 1 -v -run Memory ./simulation

# Two jobs in parallel, for two cores; both take equally long. Files of a violation are
# written outside of the tree, and kept.
.PHONY: interleavings
interleavings: ## Check every interleaving, within bounds that take a minute.
	@there=$$(mktemp -d); trap 'rm -rf "$$there"' EXIT; go build -o "$$there"/hustings ./cmd/hustings; \
	explore() { local found out code=0; found=$$(mktemp -d); out=$$("$$there"/hustings explore --out "$$found" "$$@") || code=$$?; \
		rmdir --ignore-fail-on-non-empty "$$found"; printf 'hustings explore %s\n%s\n' "$$*" "$$out"; return $$code; }; \
	beats() { printf 'hustings explore beats %s\n' "$$*"; "$$there"/hustings explore beats "$$@"; }; \
	(explore --terms 2 --workers 1 && \
	explore --members 5 --ledger 0 --workers 1 && \
	explore --members 5 --terms 2 --ledger 0 --features pre-vote,crashes --workers 1) & first=$$!; \
	(explore --members 5 --features pre-vote,crashes --workers 1 && \
	explore --members 5 --terms 2 --features crashes --workers 1 && \
	explore --terms 2 --ledger 0 --features crashes,leases --lag 1 --workers 1 && \
	explore --terms 2 --rounds 2 --leak 2 --ledger 0 --features crashes,leases --lag 1 --workers 1 && \
	explore --members 2 --rounds 5 --leak 5 --ledger 0 --features crashes,leases --workers 1 && \
	explore --members 2 --terms 2 --rounds 2 --ledger 0 --features pre-vote,crashes,transfers,leases,withdrawals,pauses --lag 1 --workers 1 && \
	explore --ledger 0 --features pre-vote,crashes,transfers,leases,withdrawals,pauses --lag 1 --workers 1 && \
	explore --terms 2 --ledger 0 --features pre-vote,crashes,ability --workers 1 && \
	explore --ledger 0 --features crashes,leases,ability --lag 1 --workers 1 && \
	beats --leader-restarts 1 && \
	beats --ends 1 && \
	beats --calm 0 --inabilities 1 && \
	beats --groups 2 --moments 1 --ends 2 --leavings 1 && \
	explore --live --members 2 --terms 2 --ledger 0 --features ability --in-flight 2 --restarts 0 --inabilities 2 && \
	explore --live --terms 2 --ledger 0 --features pre-vote && \
	explore --live --ledger 0 --features pre-vote --drops 1 --duplicates 1 && \
	explore --live --members 2 --terms 2 --rounds 2 --ledger 0 --features pre-vote --drops 1 --duplicates 1 --in-flight 2) && others=0 || others=$$?; wait $$first && exit $$others

# A search that was stopped continues from its checkpoint, unless the command was rebuilt
# from other sources: then it refuses the checkpoint.
.PHONY: explore
explore: ## Check every interleaving within the largest bounds: hours, and up to 20 GB.
	@mkdir -p bin && go build -o bin/hustings ./cmd/hustings
	@explore() { echo "hustings explore $$*"; bin/hustings explore --out bin --memory 20000 "$$@"; }; \
	explore --terms 3; \
	for more in '--waits 1' '--calm 2 --moments 3 --changes 1' '--follower-restarts 1' '--slow-disks 1' '--moments 4' '--moments 4 --leader-restarts 1' '--groups 2 --moments 2' '--calm 0 --groups 2 --moments 2 --ends 2 --leavings 1' '--calm 0 --groups 2 --moments 2 --waits 1 --ends 1 --leavings 1' '--members 3 --calm 0 --moments 2 --follower-restarts 1' '--members 3 --moments 2'; do \
		echo "hustings explore beats $$more"; bin/hustings explore beats $$more; done; \
	explore --terms 2 --ledger 0 --features pre-vote,crashes,transfers,leases,withdrawals,pauses --lag 1; \
	explore --terms 2 --rounds 2 --ledger 0 --features crashes,transfers,leases --lag 1; \
	explore --terms 6 --ledger 0 --features crashes; \
	explore --terms 5 --ledger 0 --features pre-vote,crashes; \
	explore --live --members 2 --terms 2 --rounds 2 --ledger 0 --features pre-vote --drops 1 --duplicates 1; \
	explore --live --terms 2 --ledger 0 --features pre-vote --drops 1; \
	explore --members 5 --terms 2 --ledger 0 --features pre-vote,crashes,hints; \
	explore --members 5 --terms 3 --ledger 0 --features crashes; \
	explore --members 5 --terms 3 --ledger 0 --features pre-vote,crashes; \
	explore --members 5 --terms 3 --features crashes --checkpoint bin/5x3.checkpoint

# Unit tests do not count, because no invariant checks a statement that these worlds and
# interleavings do not run. Only the explorer runs the canonical forms, and only whole
# hosts run most ends of groups.
COVERED ?= 98
.PHONY: covered
covered: ## Simulator and explorer run at least COVERED (98) per cent of elector/protocol.
	@there=$$(mktemp -d); trap 'rm -rf "$$there"' EXIT; mkdir "$$there"/campaign "$$there"/others "$$there"/out; \
	module=$$(go list -m -f '{{.Path}}' | head -n 1); protocol=$$module/elector/protocol; \
	go build -cover -covermode set -coverpkg "$$protocol,$$module/cmd/hustings" -o "$$there"/hustings ./cmd/hustings; \
	cd "$$there"/out; \
	run() { "$$there"/hustings "$$@" > "$$there"/log || { cat "$$there"/log; exit 1; }; }; \
	profile() { go tool covdata textfmt -i "$$1" -pkg "$$protocol" -o "$$there"/profile; }; \
	share() { awk -v who="$$1" -v least="$$2" 'NR > 1 { all += $$2; if ($$3 > 0) run += $$2 } \
		END { printf "%s run %d of %d statements: %.1f %%%s\n", who, run, all, 100 * run / all, (least > 0 ? ", want " least " %" : ""); exit 100 * run < least * all }' "$$there"/profile; }; \
	export GOCOVERDIR="$$there"/campaign; \
	run sim --seeds 1500; \
	profile "$$there"/campaign; share 'worlds of a campaign alone' 0; \
	export GOCOVERDIR="$$there"/others; \
	run sim --seeds 500 --faults all,assumptions; \
	run sim --seeds 100 --timing dledger; \
	run sim --shell --seeds 60; \
	for story in "$(CURDIR)"/simulation/testdata/*.txt; do run replay "$$story" --text; done; \
	run explore --terms 2 --ledger 0 --features crashes,leases --lag 1; \
	run explore --terms 2 --ledger 0; \
	run explore --members 2 --terms 2 --ledger 0 --features transfers,withdrawals; \
	run explore --members 2 --ledger 0 --features crashes,ability; \
	run explore beats --moments 2; \
	run explore --live --members 2 --terms 2 --rounds 2 --ledger 0 --features pre-vote --drops 1 --duplicates 1 --in-flight 2; \
	profile "$$there"/campaign,"$$there"/others; \
	echo 'statements that are not run, by file and line:'; \
	awk -F '[:, ]' 'NR > 1 && $$NF == 0 && $$(NF-1) > 0 { sub(".*/", "", $$1); split($$2, from, "."); split($$3, to, "."); print "  " $$1 ":" from[1] "-" to[1] }' "$$there"/profile | sort -V; \
	share 'all of these' $(COVERED)

.PHONY: profile
profile: ## Profile simulator and explorer; go build uses the profile for the command.
	@there=$$(mktemp -d); trap 'rm -rf "$$there"' EXIT; \
	for what in simulation simulation/explore; do \
		GOMAXPROCS=1 go test -trimpath -run '^$$' -bench 'Run|Explore' -benchtime 4s -o "$$there"/test -cpuprofile "$$there"/$$(basename $$what).prof ./$$what; \
	done; \
	go tool pprof -proto -output cmd/hustings/default.pgo "$$there"/simulation.prof "$$there"/explore.prof

# The last line takes a day or more. If it is stopped, it continues the next time, unless a
# source has changed.
.PHONY: mutants
mutants: ## Break the shipped code in every way that there are rules for: tests must notice.
	go run ./simulation/mutants
	HUSTINGS_TEST_LONG=1 go test -count 1 -timeout 1h ./simulation/mutants
	@mkdir -p bin
	go run ./simulation/mutants --generated --for 10s --results bin/mutants.jsonl

# Every commit has another sample. TURN=... repeats one.
TURN ?= $(shell git rev-parse HEAD 2>/dev/null || echo none)

# Some mutants that are made by rule survive. As docs/verification.md computes, more than 3 of a sample of 8 do so
# by chance less than once in 200 samples, so then the tests have become worse. A survivor has met all tests that use
# its package, which may take minutes.
.PHONY: sample
sample: ## Break it in a few of these ways.
	go run ./simulation/mutants --sample 5 --turn $(TURN)
	go run ./simulation/mutants --generated --sample 8 --survivors 3 --turn $(TURN) --for 3s --within 2m

# Go 1.26 may end a run whose time is up with the failure "context deadline exceeded"
# (golang/go#75804, fixed in 1.27). If it wrote no failing input, it has found nothing and
# is repeated.
.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (5s).
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	targets=$$(go test -list '^Fuzz' $(ALL)); \
	awk '/^Fuzz/ { names[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, names[i]; n = 0 }' <<< "$$targets" | \
	while read -r package name; do \
		for try in 1 2 3; do \
			echo "fuzz $$package $$name"; \
			if go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" > "$$log" 2>&1 < /dev/null; then tail -n 3 "$$log"; continue 2; fi; \
			cat "$$log"; \
			if grep -q 'Failing input written' "$$log" || ! grep -q '^ *context deadline exceeded' "$$log"; then break; fi; \
		done; \
		exit 1; \
	done

# For .ci/run.
.PHONY: checks
checks:
	@echo $(CHECKS)
