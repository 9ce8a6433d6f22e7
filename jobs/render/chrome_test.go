package render_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shiftpost/jobs/render"
)

// patience is how long a test waits for what must happen at all.
const patience = time.Minute

// studio is a Renderer under test with what it leaves to see from outside.
type studio struct {
	*render.Renderer
	folder string
	events chan event // what it logged
	groups sync.Map   // process groups of the Chromes it started
}

type event struct {
	message, reason string
	pid             int
}

// newStudio makes a Renderer with a folder of its own, closes it at the end and
// fails if anything is left then.
func newStudio(t *testing.T, o render.Options) *studio {
	t.Helper()
	if o.ChromePath == "" {
		if _, err := render.FindChrome(""); err != nil {
			t.Fatalf("these tests draw with a real Chrome: %v", err)
		}
	}
	s := &studio{folder: filepath.Join(t.TempDir(), "chrome"), events: make(chan event, 100)}
	o.TempDir = s.folder
	o.Logger = slog.New(recorder{s})
	r, err := render.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Renderer = r
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		s.mustBeEmpty(t)
	})
	return s
}

// recorder is a slog.Handler that hands the events on.
type recorder struct{ *studio }

func (r recorder) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (r recorder) WithAttrs([]slog.Attr) slog.Handler               { return r }
func (r recorder) WithGroup(string) slog.Handler                    { return r }
func (r recorder) Handle(_ context.Context, record slog.Record) error {
	e := event{message: record.Message}
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "pid":
			e.pid = int(a.Value.Int64())
		case "reason":
			e.reason = a.Value.String()
		}
		return true
	})
	if e.pid != 0 {
		r.groups.Store(e.pid, nil)
	}
	r.events <- e
	return nil
}

// await gives the next event with this message.
func (s *studio) await(t *testing.T, message string) event {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case e := <-s.events:
			if e.message == message {
				return e
			}
		case <-timeout:
			t.Fatalf("no event %q", message)
		}
	}
}

// process is one that Chrome consists of.
type process struct {
	pid  int
	kind string // Chrome's --type, "browser" for the main one
}

// processes are those of this studio's Chromes, found by the folder in their
// command line or by the process group that each Chrome leads. Dead ones do not
// count, which have no memory and so no command line: they are init's to reap.
func (s *studio) processes(t *testing.T) []process {
	t.Helper()
	folders, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		// The name in brackets may hold spaces; state, parent and group follow it.
		stat, err := os.ReadFile(filepath.Join("/proc", folder.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		command, err := os.ReadFile(filepath.Join("/proc", folder.Name(), "cmdline"))
		if err != nil || len(command) == 0 {
			continue
		}
		group, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, ours := s.groups.Load(group); !ours && !bytes.Contains(command, []byte(s.folder)) {
			continue
		}
		p := process{pid: pid, kind: "browser"}
		// Chrome's helpers separate the arguments by spaces.
		for argument := range strings.FieldsFuncSeq(string(command), func(c rune) bool { return c == 0 || c == ' ' }) {
			if kind, ok := strings.CutPrefix(argument, "--type="); ok {
				p.kind = kind
			}
		}
		found = append(found, p)
	}
	return found
}

// signal sends a signal to the processes of a kind ("" means all) and returns how
// many there were.
func (s *studio) signal(t *testing.T, kind string, signal syscall.Signal) (n int) {
	t.Helper()
	for _, p := range s.processes(t) {
		if kind == "" || p.kind == kind {
			if syscall.Kill(p.pid, signal) == nil {
				n++
			}
		}
	}
	return n
}

// mustBeEmpty fails if a process of Chrome or a folder of it is left.
func (s *studio) mustBeEmpty(t *testing.T) {
	t.Helper()
	if left := s.processes(t); len(left) > 0 {
		t.Errorf("processes left behind: %+v", left)
	}
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != "lock" {
			t.Errorf("left in the folder: %s", entry.Name())
		}
	}
}

// page is a document of 100 CSS px at 1x with the shipped fonts.
func page(body string) render.Page {
	return render.Page{Width: 100, Scale: 1, HTML: []byte(`<!doctype html><html lang="ja"><meta charset="utf-8"><title>test</title>` +
		`<link rel="stylesheet" href="` + render.FontStyles + `"><style>html,body{margin:0;background:#fff;color:#000}` +
		`body{font:32px/40px "BIZ UDPGothic","Noto Sans JP"}</style>` + body)}
}

// mustDraw draws the page and checks the picture against what is said about it.
func mustDraw(t *testing.T, s *studio, p render.Page) image.Image {
	t.Helper()
	shot, err := s.PNG(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(shot.PNG))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != shot.Width || size.Y != shot.Height {
		t.Fatalf("picture is %v, but is said to be %d × %d", size, shot.Width, shot.Height)
	}
	return picture
}
