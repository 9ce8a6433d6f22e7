# Every target that builds or tests installs what this machine lacks first (cmd/tools/deps.sh).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=cmd/tools/go.mod
GO_FILES = $(shell git ls-files --cached --others --exclude-standard '*.go')

.PHONY: help deps generate build demo run test check contract bench chaos

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

deps: ## install what this machine lacks (C compiler, headless Chrome, a font)
	@cmd/tools/deps.sh

generate: ## make the Go code of the templates again
	@$(TOOL) templ generate -log-level error

build: deps ## build bin/shiftpost
	@go build -o bin/shiftpost ./cmd/shiftpost

demo: build ## run everything on this machine with a simulated LINE and a sample school
	@bin/shiftpost demo

run: build ## run the product with the settings of the environment
	@bin/shiftpost serve

test: deps ## run every test, browser tests included
	@go test -json -race -timeout 20m ./... | go -C cmd/tools run ./testcount

check: deps ## check format, generated code, vet, staticcheck and the direction of imports
	@unformatted=$$(gofmt -l $(GO_FILES)); test -z "$$unformatted" || { echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	@$(MAKE) -s generate
	@git diff --exit-code -- '*_templ.go' || { echo "generated code was out of date: commit the result of make generate"; exit 1; }
	@go vet ./...
	@$(TOOL) staticcheck ./...
	@go -C cmd/tools test ./...
	@go test -run 'TestImports' ./cmd/shiftpost

contract: deps ## check requests and answers against LINE's OpenAPI files in the folder LINE_OPENAPI_DIR
	@test -n "$${LINE_OPENAPI_DIR:-}" || { echo "set LINE_OPENAPI_DIR to a folder with LINE's messaging-api.yml"; exit 1; }
	@go test -tags contract -count=1 ./jobs/line/...

bench: deps ## measure speed, each figure beside a minimal loop in the same run (under 5 minutes)
	@go run ./cmd/bench

chaos: deps ## kill the program 50 times under 10,000 messages and a failing LINE, and count (under 5 minutes)
	@go run ./cmd/chaos
