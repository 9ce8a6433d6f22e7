package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sys/unix"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// command runs the program with that command line and input beside whatever runs, and returns its exit code and words.
func (s *killStory) command(t *testing.T, input string, args ...string) (exitCode int, said string) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env, c.Stdin = s.env, strings.NewReader(input)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

func TestASecondProgramOnADataFolderEndsAtOnceAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.start(t)
	if code, said := s.command(t, "", "serve"); code != 1 || !strings.Contains(said, "lock "+s.dir+": another process already serves this data folder") {
		t.Errorf("the second one ended with %d and said:\n%s", code, said)
	}
	s.signIn(t) // the first one goes on
	s.kill(t)
	s.start(t) // the lock of a killed one is free
	s.stop(t)
}

func TestAnAdminIsAddedBesideTheProgramAndNothingIsSentByThat(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.inStore(t, clockwork.NewRealClock(), func(store *db.Store) {
		dbtest.Must(store.Publish(t.Context(), db.PublishInput{GroupID: s.groups[0].ID, Month: s.month, SheetHash: s.sheets[0]}))(t)
	})
	const password = "another-mihon-juku"
	if code, said := s.command(t, password+"\n", "admin", "add", "first@mihon-juku.example", "見本 一郎"); code != 0 || !strings.Contains(said, "Added first@mihon-juku.example") {
		t.Errorf("adding an admin while nothing runs ended with %d and said:\n%s", code, said)
	}
	if n := len(s.sim.Pushes()); n != 0 {
		t.Errorf("adding an admin made %d pushes", n)
	}
	d := s.deliveries(t)[0]
	wantAttempts(t, d, roster.Queued)
	if d.LadderTries != 0 || len(d.Events) != 0 {
		t.Fatalf("adding an admin spent %d tries of what waits: %+v", d.LadderTries, d.Events)
	}
	s.start(t)
	s.answered(t, 1)
	if code, said := s.command(t, password+"\n", "admin", "add", "second@mihon-juku.example", "見本 二郎"); code != 0 {
		t.Errorf("adding an admin beside the program ended with %d and said:\n%s", code, said)
	}
	for _, email := range []string{"first@mihon-juku.example", "second@mihon-juku.example"} {
		if status, _, err := s.request(http.MethodPost, "/session", url.Values{"email": {email}, "password": {password}}); err != nil || status != http.StatusSeeOther {
			t.Errorf("%s signed in with %d, %v", email, status, err)
		}
	}
	s.stop(t)
	s.wantEnd(t, 1)
}

// terminal runs the program with that command line in a terminal where somebody answers the first question, and returns
// its exit code and all that the terminal showed.
func (s *killStory) terminal(t *testing.T, answer string, args ...string) (exitCode int, shown string) {
	t.Helper()
	master := dbtest.Must(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n := dbtest.Must(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	slave := dbtest.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = s.env, slave, slave, slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	for buffer := make([]byte, 4096); ; {
		n, err := master.Read(buffer)
		if err != nil { // EIO: nobody has the terminal open any more
			break
		}
		shown += string(buffer[:n])
		if strings.HasSuffix(shown, ": ") && answer != "" {
			if _, err := master.WriteString(answer); err != nil {
				t.Fatal(err)
			}
			answer = ""
		}
	}
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), shown
}

func TestATerminalDoesNotShowThePasswordThatIsTyped(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	const password = "another-mihon-juku"
	for _, command := range [][]string{{"admin", "add", "first@mihon-juku.example", "見本 一郎"}, {"admin", "passwd", "first@mihon-juku.example"}} {
		code, shown := s.terminal(t, password+"\r", command...)
		if code != 0 || !strings.Contains(shown, "first@mihon-juku.example") || strings.Contains(shown, password) {
			t.Errorf("%v ended with %d and showed:\n%s", command, code, shown)
		}
	}
	const ctrlC = "\x03"
	if code, shown := s.terminal(t, ctrlC, "admin", "add", "second@mihon-juku.example", "見本 二郎"); code != 1 || !strings.Contains(shown, "nothing was changed") {
		t.Errorf("Ctrl-C ended it with %d and showed:\n%s", code, shown)
	}
}

func TestAStopWritesTheJournalBackIntoTheDatabaseFile(t *testing.T) {
	t.Parallel()
	s := newKillStory(t)
	s.start(t)
	s.signIn(t)
	s.publish(t)
	s.answered(t, 1)
	if _, err := os.Stat(filepath.Join(s.dir, db.FileName+"-wal")); err != nil {
		t.Error(err)
	}
	s.stop(t)
	for _, left := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(filepath.Join(s.dir, db.FileName+left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the stop there is still %s%s (%v)", db.FileName, left, err)
		}
	}
	wantAttempts(t, s.deliveries(t)[0], roster.Sent, roster.Accepted)
	s.wantEnd(t, 1)
}
