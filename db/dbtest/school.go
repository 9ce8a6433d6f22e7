package dbtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/roster"
)

// School is a small school to begin a story with: one group of two classrooms that is linked to LINE, and three
// teachers, the third of whom is not linked.
type School struct {
	Store      *db.Store
	Clock      *clockwork.FakeClock
	Admin      roster.Admin
	Group      roster.Group
	Classrooms []roster.Classroom // 駅前教室, 本町教室
	Teachers   []roster.Teacher   // 佐藤 花子 and 鈴木 一郎 of the first classroom, 髙橋 健太 of the second
	Month      roster.Month       // the present one, January 2027
}

// LINEGroupID returns the well-formed LINE id of the n-th made-up group.
func LINEGroupID(n int) string { return fmt.Sprintf("C%032x", n) }

// LINEUserID returns the well-formed LINE id of the n-th made-up user.
func LINEUserID(n int) string { return fmt.Sprintf("U%032x", n) }

// NewSchool opens a store and fills it.
func NewSchool(t testing.TB, options ...func(*db.Options)) *School {
	t.Helper()
	store, clock := Open(t, append([]func(*db.Options){func(o *db.Options) { o.Compose = PlainComposer{} }}, options...)...)
	return Fill(t, store, clock)
}

// Fill fills an empty store with the school.
func Fill(t testing.TB, store *db.Store, clock *clockwork.FakeClock) *School {
	t.Helper()
	ctx := t.Context()
	s := &School{Store: store, Clock: clock, Month: roster.DateOf(clock.Now(), Tokyo).MonthOf()}
	s.Admin = Must(store.CreateAdmin(ctx, db.AdminEdit{Email: "manager@mihon-juku.example", Name: "見本 室長", PasswordHash: "none"}))(t)
	s.Group = Must(store.CreateGroup(ctx, db.GroupEdit{Name: "駅前・本町グループ", LeadMinutes: roster.DefaultLeadMinutes}))(t)
	for _, n := range [][2]string{{"駅前教室", "駅前"}, {"本町教室", "本町"}} {
		s.Classrooms = append(s.Classrooms, Must(store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: s.Group.ID, Name: n[0], ShortName: n[1]}))(t))
	}
	for i, name := range []string{"佐藤 花子", "鈴木 一郎", "髙橋 健太"} {
		s.Teachers = append(s.Teachers, Must(store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[i/2].ID, Name: name, NoticesOn: true}))(t))
	}
	if err := store.LinkGroup(ctx, s.Group.ID, LINEGroupID(1), "みほん塾 講師連絡", 14); err != nil {
		t.Fatal(err)
	}
	for i := range s.Teachers[:2] {
		if err := store.LinkTeacher(ctx, s.Teachers[i].ID, LINEUserID(i+1)); err != nil {
			t.Fatal(err)
		}
		s.Teachers[i] = Must(store.Teacher(ctx, s.Teachers[i].ID))(t)
	}
	s.Group = Must(store.Group(ctx, s.Group.ID))(t)
	return s
}

// Must fails the test on an error and returns the value otherwise.
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Edit returns what a form would say: a teacher by index in their home classroom, a day of the school's month, and
// times as people type them.
func (s *School) Edit(t testing.TB, teacher, day int, times string) db.ShiftEdit {
	t.Helper()
	r, err := roster.ParseTimeRange(times)
	if err != nil {
		t.Fatal(err)
	}
	date := s.Month.First().AddDays(day - 1)
	return db.ShiftEdit{TeacherID: s.Teachers[teacher].ID, ClassroomID: s.Teachers[teacher].ClassroomID, Date: date, Times: r}
}

// Confirm adds a confirmed shift.
func (s *School) Confirm(t testing.TB, teacher, day int, times string) roster.Shift {
	t.Helper()
	return Must(s.Store.AddShift(t.Context(), s.Edit(t, teacher, day, times), roster.ShiftConfirmed))(t)
}

// Draft adds a draft.
func (s *School) Draft(t testing.TB, teacher, day int, times string) roster.Shift {
	t.Helper()
	return Must(s.Store.AddShift(t.Context(), s.Edit(t, teacher, day, times), roster.ShiftDraft))(t)
}

// Publish publishes the school's month as it is now, with a page that was never drawn.
func (s *School) Publish(t testing.TB) db.Published {
	t.Helper()
	hash := s.Render(t)
	return Must(s.Store.Publish(t.Context(), db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: hash, AdminID: s.Admin.ID}))(t)
}

// Render pretends that the month's pages were drawn and returns the hash they are kept under.
func (s *School) Render(t testing.TB) string {
	t.Helper()
	p := Must(s.Store.Preview(t.Context(), s.Group.ID, s.Month))(t)
	hash := p.Sheet.Hash()
	if err := s.Store.SavePreview(t.Context(), hash, []roster.Image{{Page: 1, Title: "駅前教室", SHA256: strings.Repeat("a", 64), Width: 2160, Height: 3000, SizeBytes: 1}}); err != nil {
		t.Fatal(err)
	}
	return hash
}

// PlainComposer writes a message as one text object that names what it was composed from; for tests of what happens
// to messages, not of what they say.
type PlainComposer struct{}

// ComposePublication writes the message's fields as text.
func (PlainComposer) ComposePublication(m roster.PublicationMessage) ([]byte, error) {
	text := fmt.Sprintf("%s 第%d版", m.Month, m.Number)
	if m.Update() {
		text += fmt.Sprintf(" 更新 +%d ~%d -%d 第%d版から 確実=%v", m.Added, m.Changed, m.Removed, m.Base.Number, m.Base.Certain)
	}
	return json.Marshal(map[string]any{"to": m.LINEGroupID, "messages": []map[string]string{{"type": "text", "text": text}}})
}

// ComposeNotice writes the message's fields as text.
func (PlainComposer) ComposeNotice(m roster.NoticeMessage) ([]byte, error) {
	text := string(m.Kind)
	say := func(label string, x *roster.ToldShift) {
		if x != nil {
			text += fmt.Sprintf(" %s %s %s %s", label, x.Date, x.Times, x.Classroom)
		}
	}
	say("before", m.Before)
	say("now", m.Now)
	return json.Marshal(map[string]any{"to": m.LINEID, "messages": []map[string]string{{"type": "text", "text": text}}})
}

// ComposeReceiptRequest writes the message's fields as text.
func (PlainComposer) ComposeReceiptRequest(m roster.ReceiptRequestMessage) ([]byte, error) {
	text := fmt.Sprintf("%s %s 第%d版", roster.ReceiptRequest, m.Month, m.Number)
	if m.Stale {
		text += " 確認のあとに変更"
	}
	return json.Marshal(map[string]any{"to": m.LINEID, "messages": []map[string]string{{"type": "text", "text": text}}})
}
