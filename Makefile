# What a developer of prdiff types often. Everything here is plain go; nothing
# needs make.

.PHONY: build test race fuzz browser screenshots bench e2e lint update demo

build:
	go build -o prdiff ./cmd/prdiff

test:
	go test ./...

race:
	go test -race ./cmd/prdiff ./internal/source ./render/...

# Every fuzz target in turn; what one finds is written to testdata/fuzz beside it.
# FUZZDIRS=internal/diff runs those of one package.
FUZZTIME ?= 60s
FUZZDIRS ?= $(shell grep -rl --include='*_test.go' '^func Fuzz' cmd internal render rules | xargs -n1 dirname | sort -u)

fuzz:
	@set -e; for dir in $(FUZZDIRS); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$dir/*_test.go); do \
			echo "== $$dir $$target"; \
			go test ./$$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1; \
		done; \
	done

# Clicks through the HTML report, and has axe look at it; needs Chromium and npm.
browser:
	go test -tags browser ./internal/report -run Browser -chromium chromium -axe "$$(.ci/screenshots --tools)/axe-core/axe.min.js"

# Pictures of reports, those of the README among them; needs Chromium, npm and pngquant.
screenshots:
	.ci/screenshots --readme

# Ratios against the naive way and against other tools, which it installs. Run it on
# a machine at rest: it takes some ten minutes.
bench: rivals := $(shell go env GOPATH)/bin/prdiff-rivals
bench:
	GOBIN=$(rivals) go install github.com/homeport/dyff/cmd/dyff@v1.12.0
	GOBIN=$(rivals) go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
	GOBIN=$(rivals) go install helm.sh/helm/v3/cmd/helm@v3.22.0
	go test -run '^$$' -bench 'Monorepo|Memory|Rivals|Growth' -benchtime 1x -timeout 1h ./cmd/prdiff -rivals $(rivals)
	go test -run '^$$' -bench . ./internal/... ./render/... ./rules

lint:
	test -z "$$(gofmt -l cmd internal render rules)"
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Rewrites golden files and generated text; read the difference like code.
update:
	go test ./internal/report -update
	go test ./rules -update
	go test ./cmd/prdiff -run TestScript -update

demo:
	go run ./cmd/prdiff demo

# The action as a runner runs it, against a GitHub on this machine; installs its tools.
e2e:
	.ci/e2e
