// Command chaos shows that no message is lost or sent twice, however often the program is killed and however LINE fails.
//
// It runs the product's store, runner and sweeps as a process of their own, the victim, on real files and over real
// HTTP, and kills that process at random instants. Admins who enter, change, give away and delete shifts and publish
// months, and a simulated LINE that fails one request of five in every way it can, run in the driver, which nobody
// kills. The driver keeps its own list of what was acknowledged and counts what LINE accepted by recipient and words;
// from the victim's tables it takes only what an admin would see to have failed.
//
// It is set by CHAOS_SEED, CHAOS_DELIVERIES, CHAOS_KILLS, and CHAOS_BREAK, which breaks the victim on purpose:
// "newkey" sends each try with a new retry key, so that messages must be doubled, and "norecover" takes nothing back
// that was being sent when the victim was killed, so that messages must be lost.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	_ "time/tzdata" // the school's zone must be known on a machine without zone files
)

func main() {
	if config := os.Getenv(victimVariable); config != "" {
		if err := beVictim(config, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		return
	}
	if err := drive(os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// drive makes one run as the environment says and prints what it found. The error says what was not as it must be.
func drive(env func(string) string, stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := settings{seed: rand.Uint64N(1_000_000), deliveries: 10_000, kills: 50, speed: 60, broken: env("CHAOS_BREAK")}
	for _, n := range []struct {
		name string
		set  func(int)
	}{
		{"CHAOS_SEED", func(n int) { s.seed = uint64(n) }},
		{"CHAOS_DELIVERIES", func(n int) { s.deliveries = n }},
		{"CHAOS_KILLS", func(n int) { s.kills = n }},
	} {
		v := env(n.name)
		if v == "" {
			continue
		}
		i, err := strconv.Atoi(v)
		if err != nil || i < 0 {
			return fmt.Errorf("%s: %q is no number", n.name, v)
		}
		n.set(i)
	}
	if s.broken != "" && s.broken != breakNewKey && s.broken != breakNoRecover {
		return fmt.Errorf("CHAOS_BREAK: %q is neither %s nor %s", s.broken, breakNewKey, breakNoRecover)
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "shiftpost-chaos-"); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "seed %d: %d deliveries, %d kills, clock × %.0f, broken on purpose: %s\n", s.seed, s.deliveries, s.kills, s.speed, orNothing(s.broken))
	s.progress = func(made int64, kills int) {
		if kills%10 == 0 {
			fmt.Fprintf(stdout, "… %d deliveries, killed %d times\n", made, kills)
		}
	}
	r, err := carryOut(ctx, s)
	if err != nil {
		return fmt.Errorf("%w (the victim's data and log are in %s)", err, s.dir)
	}
	r.print(stdout)
	if err := r.check(s.broken); err != nil {
		return fmt.Errorf("%w (the victim's data and log are in %s)", err, s.dir)
	}
	return os.RemoveAll(s.dir)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// examples is how many lost, and how many doubled, messages are printed.
const examples = 10

func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "made       %d deliveries, for which LINE got %d requests\n", r.made, r.requests)
	fmt.Fprintf(w, "delivered  %d\n", r.delivered)
	fmt.Fprintf(w, "failed     %s\n", counts(r.failed))
	fmt.Fprintf(w, "canceled   %s\n", counts(r.canceled))
	fmt.Fprintf(w, "killed     %d times, longest recovery %s\n", r.kills, r.recovery.Round(time.Millisecond))
	fmt.Fprintf(w, "took       %s, %s on the clock of the run\n", r.took.Round(100*time.Millisecond), r.simulated)
	if r.refused > 0 {
		fmt.Fprintf(w, "refused    %d requests of admins, the last one %s\n", r.refused, r.refusal)
	}
	for state, n := range r.unfinished {
		fmt.Fprintf(w, "unfinished %d %s\n", n, state)
	}
	printExamples(w, "lost", r.lost)
	printExamples(w, "doubled", r.doubled)
	fmt.Fprintf(w, "lost %d doubled %d\n", len(r.lost), len(r.doubled))
}

func printExamples(w io.Writer, what string, of []string) {
	for i, x := range of {
		if i == examples {
			fmt.Fprintf(w, "%-10s … and %d more\n", what, len(of)-i)
			return
		}
		fmt.Fprintf(w, "%-10s %s\n", what, x)
	}
}

// check says what is not as it must be: nothing may be lost or doubled, and what is broken on purpose must be noticed.
func (r report) check(broken string) error {
	switch {
	case r.refused > 0:
		return fmt.Errorf("%d requests of admins were refused", r.refused)
	case broken == breakNewKey && len(r.doubled) == 0:
		return fmt.Errorf("new keys doubled nothing")
	case broken == breakNoRecover && len(r.lost) == 0:
		return fmt.Errorf("nothing was lost without recovery")
	case broken == "" && len(r.lost)+len(r.doubled) > 0:
		return fmt.Errorf("%d messages were lost and %d doubled", len(r.lost), len(r.doubled))
	case broken == "" && len(r.unfinished) > 0:
		return fmt.Errorf("deliveries were left unfinished")
	}
	return nil
}
