package jobs_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// waitFor yields to the other goroutines until cond holds.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
