package render_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"shiftpost/jobs/render"
)

// victimFolder makes this test binary the program that is to be killed: it
// draws in that folder, says so, and waits.
const victimFolder = "SHIFTPOST_TEST_VICTIM_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(victimFolder); folder != "" {
		beVictim(folder)
	}
	os.Exit(m.Run())
}

func beVictim(folder string) {
	r, err := render.New(render.Options{TempDir: folder, Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))})
	if err == nil {
		_, err = r.PNG(context.Background(), page("髙"))
	}
	fmt.Println("drawn:", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(1)
}

func TestAKilledProgramTakesChromeWithItAndTheNextOneSweeps(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "chrome")
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimFolder+"="+folder)
	if _, err := victim.StdinPipe(); err != nil { // never closed: it waits for ever
		t.Fatal(err)
	}
	said, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var chrome int
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text()[max(0, strings.Index(lines.Text(), "pid=")):], "pid=%d", &chrome); err == nil {
			continue
		}
		if result, drawn := strings.CutPrefix(lines.Text(), "drawn: "); drawn {
			if result != "<nil>" {
				t.Errorf("the victim: %s", result)
			}
			break
		}
	}
	handle, err := unix.PidfdOpen(chrome, 0)
	if err != nil {
		t.Fatalf("Chrome %d of the victim does not run: %v", chrome, err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // "signal: killed"
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, int(patience.Milliseconds())); n != 1 {
		t.Errorf("Chrome %d outlives the program: %v", chrome, err)
	}
	if err := unix.Close(handle); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "chrome-*")); len(left) != 1 || err != nil {
		t.Errorf("left by the killed program: %q, %v; this test means to see one folder", left, err)
	}

	r, err := render.New(render.Options{TempDir: folder})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "chrome-*")); len(left) != 0 || err != nil {
		t.Errorf("not swept: %q, %v", left, err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
