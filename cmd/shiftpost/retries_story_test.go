package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
)

func TestStoryLINEFailsForEverAndAnAdminSendsItAgainOnceItIsMended(t *testing.T) {
	t.Parallel()
	s := startStory(t)
	groups, err := s.app.store.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	group := groups[0].LINEGroupID
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "push", To: group}); err != nil {
		t.Fatal(err)
	}
	admin := browsertest.Start(t).Tab(t, 1280, 900)
	admin.Open(s.opened.SignIn)
	admin.ClickOn("main form button")
	admin.Sees("要対応")
	admin.Click("月のシフト")
	admin.Has("table")
	admin.Click("公開へ進む")
	admin.Has("img[src*='/previews/']")
	admin.Click("第1版を公開して")

	// Each retry is announced with its time, and the page follows by itself.
	wait := 2 * time.Minute
	for try := 2; try <= roster.MaxLadderTries; try++ {
		admin.Sees(fmt.Sprintf("%d回目の予定", try))
		admin.Sees("再送を待っています")
		admin.Sees("LINEの障害で、届いたかどうか分かりません（500）。")
		admin.Sees("同じキーで送り直すので、二重には届きません。")
		if next := nextTry(t, s); !strings.Contains(browsertest.Value[string](admin, `document.querySelector(".plan-next").innerText`), next) {
			t.Errorf("the plan does not say that try %d is at %s", try, next)
		}
		admin.Has("[data-countdown]")
		if try == 3 {
			admin.Shot("retries-1-waiting")
		}
		if err := s.clock.Advance(wait); err != nil {
			t.Fatal(err)
		}
		wait *= 2
	}
	admin.Sees("届いたかどうか分かりません")
	admin.Sees("再送打ち切り。自動ではもう送りません。")
	admin.Sees("6回目　LINEの障害（500）")
	admin.Shot("retries-2-failed")
	if n := len(s.sim.Messages(group)); n != 0 {
		t.Fatalf("the group got %d messages from a LINE that fails", n)
	}

	admin.Click("配信の一覧へ")
	admin.Click("再送打ち切り")
	admin.Sees("この理由の失敗")
	admin.Has(".row-failed")
	admin.Has(".place .count")
	admin.Shot("retries-3-dead-letters")
	admin.Click("詳しく")

	s.sim.ClearFaults()
	admin.Click("再送（")
	admin.Sees("送信済")
	admin.Sees("7回目の送信をLINEが受け付けました。届いたメッセージは1つだけです。")
	admin.Shot("retries-4-sent")
	if n := len(s.sim.Messages(group)); n != 1 {
		t.Errorf("the group got %d messages, want 1", n)
	}
	keys := map[string]bool{}
	tries := 0
	for _, p := range s.sim.Pushes() {
		if p.To == group {
			keys[p.RetryKey] = true
			tries++
		}
	}
	if len(keys) != 1 || tries != roster.MaxLadderTries+1 {
		t.Errorf("%d tries used %d keys, want 7 tries and one key", tries, len(keys))
	}
	s.sim.Assert(t)
}

// nextTry is the time of the delivery's next try as its page shows it, which may be on the next day.
func nextTry(t *testing.T, s *demoStory) string {
	t.Helper()
	d, err := s.app.store.Delivery(t.Context(), announcement(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return d.NextAttemptAt.In(s.app.store.Location()).Format("15:04")
}

// announcement returns the id of the only delivery to the group.
func announcement(t *testing.T, s *demoStory) int64 {
	t.Helper()
	month := roster.DateOf(s.app.store.Now(), s.app.store.Location()).MonthOf()
	groups, err := s.app.store.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []roster.Month{month, month.Add(-1)} {
		all, err := s.app.store.Publications(t.Context(), groups[0].ID, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			deliveries, err := s.app.store.PublicationDeliveries(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(deliveries) == 1 {
				return deliveries[0].ID
			}
		}
	}
	t.Fatal("nothing was published")
	return 0
}
