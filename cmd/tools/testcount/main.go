// Command testcount reads the output of go test -json, prints what failed tests said and one line for each package,
// and ends with the line "N passed, N failed, N skipped". It exits 1 unless tests ran and every one passed: a skipped
// test counts as a failure, since a missing browser must not look like success.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string
	FailedBuild string
}

func main() {
	passed, failed, skipped := count(os.Stdin, os.Stdout)
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if passed == 0 || failed > 0 || skipped > 0 {
		os.Exit(1)
	}
}

// count sums up the events of r and writes what a reader needs to w. A package that fails without a failed test, for
// example because it does not build, counts as one failure.
func count(r io.Reader, w io.Writer) (passed, failed, skipped int) {
	type key struct{ pkg, test string }
	said := map[key][]string{}
	bad := map[string]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(w, lines.Text()) // not an event: the go command itself says something
			continue
		}
		if e.Action == "build-output" {
			fmt.Fprint(w, e.Output)
			continue
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "output":
			said[k] = append(said[k], e.Output)
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Test == "" {
			if e.Action == "fail" && !bad[e.Package] {
				failed++
				print(w, said[k])
			}
			if e.Action != "skip" {
				fmt.Fprintf(w, "%s  %s  %.1f s\n", e.Action, e.Package, e.Elapsed)
			}
			continue
		}
		switch e.Action {
		case "pass":
			passed++
		case "fail":
			failed++
			bad[e.Package] = true
			print(w, said[k])
		case "skip":
			skipped++
			print(w, said[k])
		}
		delete(said, k)
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(w, "read events:", err)
		failed++
	}
	return passed, failed, skipped
}

func print(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprint(w, l)
	}
}
