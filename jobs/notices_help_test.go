package jobs_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
)

// The stories of notices play on Friday 8 January 2027 in 駅前教室, where 佐藤 (teacher 0) and 鈴木 (teacher 1) work. They
// begin at 14:32; a shift from 17:00 is reminded of from 14:45.

// at sets the clock to a time of 8 January.
func (s *story) at(t testing.TB, clock string) {
	t.Helper()
	d, err := time.ParseInLocation("2006-01-02 15:04:05.999", "2027-01-08 "+clock, dbtest.Tokyo)
	if err != nil {
		d, err = time.ParseInLocation("2006-01-02 15:04", "2027-01-08 "+clock, dbtest.Tokyo)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(d.Sub(s.Clock.Now()))
}

// remind runs the reminder sweep.
func (s *story) remind(t testing.TB) int {
	t.Helper()
	return dbtest.Must(s.Store.MakeReminders(t.Context()))(t)
}

// change edits a shift as it is now: teacher, day and times.
func (s *story) change(t testing.TB, shiftID int64, teacher, day int, times string) roster.Shift {
	t.Helper()
	x := dbtest.Must(s.Store.Shift(t.Context(), shiftID))(t)
	return dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, teacher, day, times)))(t)
}

// move puts a shift into another state.
func (s *story) move(t testing.TB, shiftID int64, to roster.ShiftState) roster.Shift {
	t.Helper()
	x := dbtest.Must(s.Store.Shift(t.Context(), shiftID))(t)
	return dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, to))(t)
}

// told confirms a shift of 佐藤 from 17:00 to 21:30 on the 8th and lets it be reminded of at 14:45.
func (s *story) told(t testing.TB) roster.Shift {
	t.Helper()
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"))
	return x
}

// pastUndo lets the undo window pass and sends what is due then.
func (s *story) pastUndo(t testing.TB) {
	t.Helper()
	s.Clock.Advance(30 * time.Second)
	s.step(t)
}

// days are dates as messages write them.
var days = map[int]string{8: "2027年1月8日(金)", 9: "2027年1月9日(土)", 12: "2027年1月12日(火)", 15: "2027年1月15日(金)"}

func reminds(day int, times string) string {
	return "出勤のお知らせ：" + days[day] + " " + times + " 駅前教室"
}

func corrects(day int, times string) string {
	return "シフトの変更：" + days[day] + " " + times + " 駅前教室"
}

func cancels(day int, times string) string {
	return "シフトの取消：" + days[day] + " " + times + " 駅前教室"
}

// chat lists what the n-th LINE user reads in the notifications.
func (s *story) chat(n int) []string {
	var all []string
	for _, m := range s.sim.Messages(dbtest.LINEUserID(n)) {
		all = append(all, m.Text())
	}
	return all
}

func (s *story) wantChat(t testing.TB, n int, want ...string) {
	t.Helper()
	if got := s.chat(n); !slices.Equal(got, want) {
		t.Fatalf("the chat of LINE user %d shows\n  %s\nwant\n  %s", n, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// last returns all words of the last message that the n-th LINE user got.
func (s *story) last(t testing.TB, n int) string {
	t.Helper()
	all := s.sim.Messages(dbtest.LINEUserID(n))
	if len(all) == 0 {
		t.Fatalf("LINE user %d got nothing", n)
	}
	return strings.Join(words(t, all[len(all)-1].Object), "\n")
}

// words lists every text of a message in reading order, the alternative text first.
func words(t testing.TB, object []byte) []string {
	t.Helper()
	var m struct {
		AltText  string
		Contents struct{ Header, Body, Footer any }
	}
	if err := json.Unmarshal(object, &m); err != nil {
		t.Fatal(err)
	}
	all := []string{m.AltText}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				all = append(all, text)
			}
			walk(v["contents"])
			if action, ok := v["action"].(map[string]any); ok {
				all = append(all, action["label"].(string))
			}
		}
	}
	for _, part := range []any{m.Contents.Header, m.Contents.Body, m.Contents.Footer} {
		walk(part)
	}
	return all
}

// notices lists the notices about a shift, the oldest first.
func (s *story) notices(t testing.TB, shiftID int64) []db.DeliveryRow {
	t.Helper()
	var about []db.DeliveryRow
	for _, d := range dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{Limit: 1000}))(t) {
		if d.ShiftID == shiftID {
			about = append(about, d)
		}
	}
	slices.Reverse(about)
	return about
}

// wantNotices compares the notices about a shift with "kind state CODE" lines.
func (s *story) wantNotices(t testing.TB, shiftID int64, want ...string) []db.DeliveryRow {
	t.Helper()
	all := s.notices(t, shiftID)
	var got []string
	for _, d := range all {
		got = append(got, strings.TrimSpace(strings.TrimPrefix(string(d.Kind), "shift_")+" "+string(d.State)+" "+string(d.Code)))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the notices are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return all
}

// begin claims the try that is due and leaves the request open.
func (s *story) begin(t testing.TB) *db.Try {
	t.Helper()
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	if try == nil {
		t.Fatal("nothing is to be sent")
	}
	return try
}

// end closes a try. An accepted one is really sent before, so that its words can be read.
func (s *story) end(t testing.TB, try *db.Try, outcome roster.Outcome) {
	t.Helper()
	r := db.Result{Outcome: outcome}
	switch outcome {
	case roster.Accepted:
		if _, err := newClient(s.School, s.sim).Push(t.Context(), try.Body, try.RetryKey); err != nil {
			t.Fatal(err)
		}
		r.Status = 200
	case roster.Refused:
		r.Code, r.Status = "HTTP_400", 400
	case roster.Unknown:
		r.Code = roster.CodeTimeout
	}
	if err := s.Store.FinishTry(t.Context(), try, r); err != nil {
		t.Fatal(err)
	}
}

func (s *story) switchNotices(t testing.TB, teacher int, on bool) {
	t.Helper()
	if err := s.Store.SetNotices(t.Context(), s.Teachers[teacher].ID, on); err != nil {
		t.Fatal(err)
	}
}

func (s *story) link(t testing.TB, teacher, user int) {
	t.Helper()
	if err := s.Store.LinkTeacher(t.Context(), s.Teachers[teacher].ID, dbtest.LINEUserID(user)); err != nil {
		t.Fatal(err)
	}
}

func (s *story) unlink(t testing.TB, teacher int) {
	t.Helper()
	if err := s.Store.UnlinkTeacher(t.Context(), s.Teachers[teacher].ID); err != nil {
		t.Fatal(err)
	}
}

// spend lets the last notice about a shift use up its ladder.
func (s *story) spend(t testing.TB, shiftID int64) {
	t.Helper()
	for {
		s.step(t)
		all := s.notices(t, shiftID)
		d := all[len(all)-1]
		if d.State != roster.Queued {
			return
		}
		s.Clock.Advance(d.NextAttemptAt.Sub(s.Store.Now()))
	}
}

// openFiles opens an empty folder of pictures.
func openFiles(t testing.TB) *files.Store {
	t.Helper()
	store := dbtest.Must(files.Open(filepath.Join(t.TempDir(), "images")))(t)
	t.Cleanup(func() { store.Close() })
	return store
}
