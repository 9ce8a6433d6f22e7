// Command shiftpost is the whole product: the admins' site, the teachers' viewer and the runner that carries messages
// to LINE, in one process on one data folder.
//
// This package reads the environment, wires everything together, runs it and stops it. It is the only one that reads
// the real clock and the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // the school's zone must be known on a machine without zone files
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

const usage = `Shiftpost posts a small school's shifts to LINE and makes sure they arrive.

  shiftpost serve                 run the product; settings come from the environment (see README.md)
  shiftpost demo [flags]          run everything on this machine with a simulated LINE and a sample school
    --data-dir DIR                keep the demo's data there; otherwise it is removed at the end
    --empty                       begin without the sample school
    --once                        publish one month without a browser, print each step and end
    --json                        print machine-readable output
    --line-fault STATUS           with --once: the simulated LINE answers every message with this HTTP status
  shiftpost admin add EMAIL NAME  make an admin; the password is read from standard input
  shiftpost admin passwd EMAIL    set an admin's password, read from standard input
  shiftpost version               print the version
`

// usageError is a command line that says nothing this program can do.
type usageError struct{ problem string }

// Error names the problem.
func (e *usageError) Error() string { return e.problem }

// run executes one command line and returns the exit code: 0 when all went well, 2 for a wrong command line, else 1.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command(ctx, args, environ, stdin, stdout, stderr)
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "shiftpost: %v\n\n%s", err, usage)
		return 2
	case errors.Is(err, errReported):
		return 1
	}
	fmt.Fprintf(stderr, "shiftpost: %v\n", err)
	return 1
}

// errReported tells that the command failed and has said so itself.
var errReported = errors.New("reported")

func command(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return &usageError{"no command"}
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	switch args[0] {
	case "serve":
		config, err := readConfig(environ)
		if err != nil {
			return err
		}
		return serve(ctx, config, logger)
	case "demo":
		return demo(ctx, args[1:], environ, stdout, stderr)
	case "admin":
		config, err := readConfig(environ)
		if err != nil {
			return err
		}
		return admin(ctx, config, args[1:], stdin, stdout)
	case "version":
		_, err := fmt.Fprintln(stdout, "shiftpost", version())
		return err
	case "help", "-h", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	}
	return &usageError{fmt.Sprintf("there is no command %q", args[0])}
}

// version returns the version that the build was made from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version
}
