# Every target works from a fresh clone. Each module is built by itself, as its
# users build it: without the workspace, which is for editors.
export GOWORK := off

# What a target needs besides make and a POSIX shell. As root on Debian it is
# installed when missing, see scripts/need.
TEST_NEEDS := go curl prometheus promtool amtool systemd-analyze chromium redis-server redis-cli initdb ip gcc
RACE_NEEDS := $(TEST_NEEDS)

BIN     := bin
MODULES := $(shell scripts/modules)

# each runs a command in the folder of every module, and fails in the end if
# one of them did.
each = @status=0; for m in $(MODULES); do echo "== $$m: $(1)"; (cd $$m && $(1)) || status=1; done; exit $$status

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## hotels that hang while people wait, with Recloser and without: on the panel, a page and the terminal
	@$(BIN)/recloser demo

.PHONY: build
build: ## the gateway and command line: bin/recloser
	@scripts/need go
	go -C gateway build -trimpath -o ../$(BIN)/recloser ./cmd/recloser

.PHONY: test
test: ## all tests of all modules
	@scripts/need $(TEST_NEEDS)
	@scripts/test ./...

.PHONY: shots
shots: ## shots/: pictures of every page of the panel and every card, both themes and a phone
	@scripts/need $(TEST_NEEDS)
	@mkdir -p shots
	SHOTS=$(abspath shots) go -C gateway test ./internal/panel -count 1 -run 'Shots|Dialog|SignIn|NotLive|Embed|Plan|Channels|Hostile'
	SHOTS=$(abspath shots) go -C gateway test ./internal/channel -count 1 -run TestCardsAreDrawn

.PHONY: race
race: ## the same under the race detector, but for what it does not see: browsers, other processes, simulations on one goroutine
	@scripts/need $(RACE_NEEDS)
	@scripts/test -race ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	@scripts/need $(TEST_NEEDS)
	@scripts/fuzz

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/gofumpt ## format, vet and lint; builds the linters when first used (2 minutes)
	@unformatted=$$($(BIN)/gofumpt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; fi
	$(call each,go vet ./...)
	$(call each,$(abspath $(BIN))/golangci-lint run --config $(abspath .golangci.yml) ./...)

.PHONY: format
format: $(BIN)/gofumpt ## format all Go code
	$(BIN)/gofumpt -w .

.PHONY: bench
bench: ## Recloser and its rivals in one interleaved run, 2 minutes; BENCH="-quick -only guard" for less
	@scripts/need go
	go -C bench run ./cmd/ratios $(BENCH)

.PHONY: bench-fleet
bench-fleet: ## a fleet on Redis beside gobreaker's distributed breaker, and what 50 nodes cost it, 4 minutes
	@scripts/need go redis-server
	go -C bench test ./fleet -run '^$$' -bench . -benchtime 1x

.PHONY: bench-gateway
bench-gateway: ## the gateway, nginx, haproxy and Caddy side by side, an hour; BENCH="-quick" for 6 minutes
	@scripts/need go nginx haproxy
	go -C bench/gateway run ./cmd/compare $(BENCH)

.PHONY: soak
soak: ## 20 minutes at 80 % load with random faults; SOAK="-for 2m" for less
	@scripts/need go
	go -C bench/gateway run ./cmd/soak $(SOAK)

.PHONY: load
load: ## what 20 viewers of 500 dependencies cost, 11 minutes; LOAD="-rounds 1 -for 20s" for 3
	@scripts/need go chromium
	go -C bench/gateway run ./cmd/load $(LOAD)

.PHONY: man
man: ## docs/man: the manual pages of the command line, from its own help
	@scripts/need go
	go -C gateway test ./cmd/recloser -run TestManPages -update

.PHONY: release
release: ## VERSION=v1.2.3: a release commit without replace lines, and its tags; nothing is pushed
	@scripts/need go git
	@scripts/release $(VERSION)

# The tools are pinned in tools/go.mod, so a change there builds them anew.
$(BIN)/golangci-lint: tools/go.mod tools/go.sum
	@scripts/need go
	go -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/gofumpt: tools/go.mod tools/go.sum
	@scripts/need go
	go -C tools build -o ../$@ mvdan.cc/gofumpt

$(BIN)/benchstat: tools/go.mod tools/go.sum
	@scripts/need go
	go -C tools build -o ../$@ golang.org/x/perf/cmd/benchstat
