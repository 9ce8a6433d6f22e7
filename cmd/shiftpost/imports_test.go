package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers lists every package by how high it stands. A package imports only what stands lower; those in exceptions, and
// packages for tests, aside.
var layers = [][]string{
	{"db/roster", "db/queue", "static"},
	{"db", "db/files", "db/migrations", "jobs/line", "jobs/render", "views/ui", "views/text"},
	{"handlers/auth", "views", "views/sheet", "jobs/line/linesim"},
	{"handlers", "jobs"},
	{"cmd/shiftpost", "cmd/bench", "cmd/chaos"},
}

// sameLayer lists the imports within one layer that are meant so.
var sameLayer = map[string][]string{
	"db":    {"db/migrations"},
	"views": {"views/sheet"},
}

// forbidden lists imports that the layers would allow.
var forbidden = map[string][]string{
	"views":       {"db", "db/files"},
	"views/ui":    {"db/roster"},
	"views/sheet": {"db", "db/files"},
}

// standardLibraryOnly lists packages that import nothing from other modules.
var standardLibraryOnly = []string{"db/roster", "db/queue", "static"}

// testsOnly lists packages that only tests may import.
var testsOnly = []string{"db/dbtest", "jobs/render/browsertest"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Doc        string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Doc", "shiftpost/...").Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func layerOf(name string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, name) })
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "shiftpost/")
		if slices.Contains(testsOnly, name) {
			continue
		}
		layer := layerOf(name)
		if layer < 0 {
			t.Errorf("package %s stands in no layer", name)
			continue
		}
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, "shiftpost/")
			if !ours {
				if strings.Contains(path, ".") && slices.Contains(standardLibraryOnly, name) {
					t.Errorf("%s imports %s; it may import the standard library alone", name, path)
				}
				continue
			}
			below := layerOf(imported) < layer || slices.Contains(sameLayer[name], imported)
			switch {
			case slices.Contains(testsOnly, imported):
				t.Errorf("%s imports %s, which is for tests", name, imported)
			case !below:
				t.Errorf("%s imports %s, which does not stand lower", name, imported)
			case slices.Contains(forbidden[name], imported):
				t.Errorf("%s imports %s, which it must not know", name, imported)
			}
		}
	}
}

func TestImportsServeNothingOfTheDemo(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		stages := p.ImportPath == "shiftpost/cmd/shiftpost" || p.ImportPath == "shiftpost/cmd/chaos"
		if !stages && slices.Contains(p.Imports, "shiftpost/jobs/line/linesim") {
			t.Errorf("%s imports the simulator", p.ImportPath)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}
