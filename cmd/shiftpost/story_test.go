package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"testing"

	"shiftpost/jobs/render/browsertest"
)

// demoStory is the demo running in this process, as a person finds it.
type demoStory struct {
	*demonstration
	opened struct{ Admin, SignIn, Simulator, Control, DataDir string }
}

// startStory starts the demo with some settings on free ports, with a folder of its own, and stops it with the test.
func startStory(t *testing.T, environ ...string) *demoStory {
	t.Helper()
	return startDemoStory(t, demoFlags{dataDir: t.TempDir()}, environ...)
}

func startDemoStory(t *testing.T, f demoFlags, environ ...string) *demoStory {
	t.Helper()
	d, err := startDemo(t.Context(), f, environ, quietLogger())
	if err != nil {
		t.Fatal(err)
	}
	s := &demoStory{demonstration: d}
	var out bytes.Buffer
	if err := d.announce(&out, true); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &s.opened); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the demo ended with %v", err)
		}
	})
	return s
}

func TestStoryAnEmptyDemoLetsItsAdminInAndMakesNoSchool(t *testing.T) {
	t.Parallel()
	s := startDemoStory(t, demoFlags{dataDir: t.TempDir(), empty: true})
	admin := browsertest.Start(t).Tab(t, 390, 844)
	admin.Open(s.opened.SignIn)
	admin.ClickOn("main form button")
	admin.Sees("まずグループを1つつくってください")
	groups, err := s.app.store.Groups(t.Context())
	if err != nil || len(groups) != 0 || len(s.sim.Users()) != 0 {
		t.Errorf("there are %d groups and %d LINE users, %v", len(groups), len(s.sim.Users()), err)
	}
	admin.Shot("empty-home")
}

func TestStoryAnAdminPublishesAMonthAndATeacherOpensItFromLINE(t *testing.T) {
	t.Parallel()
	s := startStory(t)
	browser := browsertest.Start(t)
	admin := browser.Tab(t, 1280, 900)

	admin.Open(s.opened.SignIn)
	admin.Shot("01-sign-in")
	admin.ClickOn("main form button")
	admin.Sees("要対応")
	admin.Shot("02-home")
	admin.Click("月のシフト")
	admin.Has("table")
	admin.Shot("02-month")

	// An empty cell opens the form; a time typed by hand is read; the shift is confirmed at once.
	admin.ClickOn("a.cell[data-form]")
	admin.Until(`(() => {
		const panel = document.getElementById("shift-panel");
		return panel.contains(document.activeElement) && !panel.classList.contains("htmx-settling");
	})()`) // what is typed before goes elsewhere
	admin.Shot("03-form")
	admin.Type("#shift-panel input[name=times]", "9-1030")
	admin.Click("確定で追加")
	admin.Sees("9:00–10:30")
	admin.Shot("04-added")

	admin.Click("公開へ進む")
	admin.Has("img[src*='/previews/']")
	admin.Shot("05-publish")
	admin.Click("第1版を公開して")
	admin.Sees("送信済")
	admin.Shot("06-delivery")

	phone := browser.Tab(t, 390, 844)
	phone.Open(s.opened.Simulator)
	phone.Sees("シフト表を開く")
	phone.Shot("07-simulator")
	phone.Click("シフト表を開く") // as the teacher who holds this phone
	phone.Sees("次の出勤")
	phone.Sees("佐藤 花子")
	phone.Has("img[src*='/viewer/documents/']")
	phone.Shot("08-viewer")

	// Whoever is no teacher of this school sees no name and no picture.
	stranger := browser.Tab(t, 390, 844)
	liff := liffAddress(t, s)
	stranger.Open(s.opened.Simulator[:len(s.opened.Simulator)-len("/sim")] + "/sim/open?" + url.Values{"as": {s.userID(t, "他校 次郎")}, "uri": {liff}}.Encode())
	stranger.Sees("講師だけが見られます")
	stranger.Shot("09-stranger")
	if shown := browsertest.Value[string](stranger, `document.body.innerText`); strings.Contains(shown, "佐藤") {
		t.Errorf("a stranger sees a teacher's name:\n%s", shown)
	}
	if browsertest.Value[bool](stranger, `document.querySelector("img[src*='/viewer/']") !== null`) {
		t.Error("a stranger sees a picture")
	}
}

// liffAddress returns where the button of the group's only message leads.
func liffAddress(t *testing.T, s *demoStory) string {
	t.Helper()
	groups, err := s.app.store.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages := s.sim.Messages(groups[0].LINEGroupID)
	if len(messages) != 1 || len(messages[0].URIs()) != 1 {
		t.Fatalf("the group shows %d messages, want one with one button", len(messages))
	}
	return messages[0].URIs()[0]
}

// userID returns the LINE id of a person in the simulated LINE.
func (s *demoStory) userID(t *testing.T, name string) string {
	t.Helper()
	for _, u := range s.sim.Users() {
		if u.Name == name {
			return u.ID
		}
	}
	t.Fatalf("nobody is called %s", name)
	return ""
}

func quietLogger() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
