package main

import (
	"io"
	"strings"
	"testing"
)

func TestCountIsOfTestsAndOfPackagesThatFailWithoutOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		events                  []string
		passed, failed, skipped int
	}{
		{"all pass", []string{`{"Action":"pass","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p","Test":"A/x"}`, `{"Action":"pass","Package":"p"}`}, 2, 0, 0},
		{"one fails and its package with it", []string{`{"Action":"fail","Package":"p","Test":"A"}`, `{"Action":"fail","Package":"p"}`}, 0, 1, 0},
		{"a package does not build", []string{`{"Action":"build-output","ImportPath":"p","Output":"x"}`, `{"Action":"fail","Package":"p","FailedBuild":"p"}`}, 0, 1, 0},
		{"a skipped test", []string{`{"Action":"skip","Package":"p","Test":"A"}`, `{"Action":"pass","Package":"p"}`}, 0, 0, 1},
		{"a package without tests is no skip", []string{`{"Action":"skip","Package":"p"}`}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			passed, failed, skipped := count(strings.NewReader(strings.Join(c.events, "\n")), io.Discard)
			if passed != c.passed || failed != c.failed || skipped != c.skipped {
				t.Errorf("counted %d, %d, %d, want %d, %d, %d", passed, failed, skipped, c.passed, c.failed, c.skipped)
			}
		})
	}
}
