package db_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// home reads the school's home page.
func home(t *testing.T, s *dbtest.School) roster.Home {
	t.Helper()
	return dbtest.Must(s.Store.Home(t.Context(), s.Group.ID))(t)
}

// end lets LINE answer the next due try.
func end(t *testing.T, s *dbtest.School, r db.Result) int64 {
	t.Helper()
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	if try == nil {
		t.Fatal("a job needed no request")
	}
	if err := s.Store.FinishTry(t.Context(), try, r); err != nil {
		t.Fatal(err)
	}
	return try.DeliveryID
}

var (
	accepted = db.Result{Outcome: roster.Accepted, Status: 200}
	refused  = db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400}
	lost     = db.Result{Outcome: roster.Unknown, Code: roster.CodeTimeout}
)

// to moves the clock to a time of the school's day, 8 January, and runs the sweeps.
func to(t *testing.T, s *dbtest.School, hour, minute int) {
	t.Helper()
	s.Clock.Advance(time.Date(2027, 1, 8, hour, minute, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	dbtest.Must(s.Store.RecoverDeliveries(t.Context()))(t)
	dbtest.Must(s.Store.MakeReminders(t.Context()))(t)
}

func change(t *testing.T, s *dbtest.School, x roster.Shift, e db.ShiftEdit) roster.Shift {
	t.Helper()
	return dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, e))(t)
}

func TestAFailedNoticeMustBeActedOnUntilItWouldBeCanceled(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "16:30-20:00")
	id := end(t, s, refused)
	failed := home(t, s).Concerns.Failed
	if len(failed) != 1 || failed[0].ID != id || failed[0].Teacher != "佐藤 花子" || failed[0].Shift.Classroom != "駅前教室" || failed[0].Shift.Times != x.Times {
		t.Fatalf("failed: %+v", failed)
	}
	// A change makes the old one history; the new one waits.
	x = change(t, s, x, s.Edit(t, 0, 8, "17:30-20:00"))
	if failed := home(t, s).Concerns.Failed; len(failed) != 0 {
		t.Errorf("after a change %d failed ones are listed", len(failed))
	}
	to(t, s, 15, 15)
	end(t, s, refused)
	if failed := home(t, s).Concerns.Failed; len(failed) != 1 {
		t.Errorf("%d failed ones are listed, want that of the changed shift", len(failed))
	}
	to(t, s, 17, 30)
	if failed := home(t, s).Concerns.Failed; len(failed) != 0 {
		t.Errorf("after the shift began %d failed ones are listed", len(failed))
	}
}

func TestAFailedAnnouncementMustBeActedOnUntilItIsSupersededOrItsMonthIsOver(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	s.Publish(t)
	end(t, s, refused)
	h := home(t, s)
	if f := h.Concerns.Failed; len(f) != 1 || f[0].Group != s.Group.Name || f[0].Month != s.Month || f[0].Number != 1 {
		t.Fatalf("failed: %+v", f)
	}
	if h.Months[0].Announcement != roster.AnnouncementFailed {
		t.Errorf("the month's announcement is %q", h.Months[0].Announcement)
	}
	s.Confirm(t, 1, 21, "17:00-21:30")
	s.Publish(t)
	if f := home(t, s).Concerns.Failed; len(f) != 0 {
		t.Errorf("the superseded one is listed")
	}
	end(t, s, refused)
	s.Clock.Advance(25 * 24 * time.Hour)
	if f := home(t, s).Concerns.Failed; len(f) != 0 {
		t.Errorf("the one of last month is listed")
	}
}

func TestANoticeThatCameTooLateIsListedUntilADayAfterItsShift(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "16:30-20:00")
	end(t, s, lost)
	if m := home(t, s).Concerns.Missed; len(m) != 0 {
		t.Fatal("a waiting one is listed as missed")
	}
	to(t, s, 16, 30)
	m := home(t, s).Concerns.Missed
	if len(m) != 1 || !m[0].MayHaveArrived || m[0].Kind != roster.ShiftReminder || m[0].Teacher != "佐藤 花子" || m[0].Shift.Times != x.Times {
		t.Fatalf("missed: %+v", m)
	}
	if r := home(t, s).Days[0].Shifts[0].Reminder; r.State != roster.ReminderMissed {
		t.Errorf("its reminder is %s", r.State)
	}
	to(t, s, 43, 59)
	if m := home(t, s).Concerns.Missed; len(m) != 1 {
		t.Error("it was gone before the day was over")
	}
	to(t, s, 44, 0)
	if m := home(t, s).Concerns.Missed; len(m) != 0 {
		t.Error("it stays for longer than a day")
	}
}

func TestWhoWasPhonedIsNotListedUntilTheShiftChangesAgain(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "16:30-20:00")
	to(t, s, 16, 30)
	m := home(t, s).Concerns.Missed
	if len(m) != 1 {
		t.Fatalf("missed: %+v", m)
	}
	if err := s.Store.NotePhoneCall(t.Context(), m[0].ID, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	if m := home(t, s).Concerns.Missed; len(m) != 0 {
		t.Error("whoever was phoned is listed")
	}
	d := dbtest.Must(s.Store.Delivery(t.Context(), m[0].ID))(t)
	if e := d.Events[0]; e.Event != db.EventPhoned || e.Admin != s.Admin.Name {
		t.Errorf("the history says %+v", e)
	}
	s.Clock.Advance(time.Minute)
	change(t, s, x, s.Edit(t, 0, 8, "16:30-21:00"))
	if m := home(t, s).Concerns.Missed; len(m) != 1 || m[0].Shift.Times.End != 21*60 {
		t.Errorf("after a further change: %+v", m)
	}
}

func TestOnlyNoticesThatToldNobodyNeedAPhoneCall(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.Publish(t)
	sent := end(t, s, accepted)
	publication := end(t, s, refused)
	for _, id := range []int64{sent, publication} {
		if err := s.Store.NotePhoneCall(t.Context(), id, s.Admin.ID); !errors.Is(err, db.ErrNotUntold) {
			t.Errorf("delivery %d: %v, want ErrNotUntold", id, err)
		}
	}
	if err := s.Store.NotePhoneCall(t.Context(), 999, s.Admin.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("no delivery: %v, want ErrNotFound", err)
	}
}

func TestAMissedNoticeWhoseShiftIsNotTheirsAnyMoreIsListedNoMore(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "16:30-20:00")
	to(t, s, 16, 30)
	dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
	if c := home(t, s).Concerns; len(c.Missed) != 0 || len(c.Running) != 0 {
		t.Errorf("of a deleted shift that nobody was told of: %+v %+v", c.Missed, c.Running)
	}
}

func TestAMissedCancellationNamesWhatWasTold(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	e := s.Edit(t, 1, 9, "10:00-15:00")
	e.ClassroomID = s.Classrooms[1].ID
	change(t, s, x, e) // given to somebody else, on another day
	to(t, s, 16, 30)
	m := home(t, s).Concerns.Missed
	if len(m) != 1 || m[0].Kind != roster.ShiftCancellation || m[0].Teacher != "佐藤 花子" {
		t.Fatalf("missed: %+v", m)
	}
	if got := m[0].Shift; got.Classroom != "駅前教室" || got.Date != x.Date || got.Times != x.Times {
		t.Errorf("it names %+v, want what was told", got)
	}
}

func TestAChangeOfAShiftThatRunsIsListedUntilItEnds(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	to(t, s, 17, 0)
	if r := home(t, s).Concerns.Running; len(r) != 0 {
		t.Fatalf("unchanged: %+v", r)
	}
	change(t, s, x, s.Edit(t, 0, 8, "16:30-21:00"))
	r := home(t, s).Concerns.Running
	if len(r) != 1 || r[0].Teacher != "佐藤 花子" || r[0].GroupID != s.Group.ID || r[0].Before.Times.End != 20*60 || r[0].Now.Times.End != 21*60 {
		t.Fatalf("changed: %+v", r)
	}
	to(t, s, 20, 59)
	if r := home(t, s).Concerns.Running; len(r) != 1 {
		t.Error("it is gone before the shift ends")
	}
	to(t, s, 21, 0)
	if r := home(t, s).Concerns.Running; len(r) != 0 {
		t.Error("it stays after the shift ended")
	}
}

func TestAShiftThatRunsAndIsGivenToSomebodyElseConcernsBoth(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	to(t, s, 17, 0)
	change(t, s, x, s.Edit(t, 1, 8, "16:30-20:00"))
	r := home(t, s).Concerns.Running
	if len(r) != 2 {
		t.Fatalf("given away: %+v", r)
	}
	if old := r[0]; old.Teacher != "佐藤 花子" || old.Before == nil || old.Now != nil {
		t.Errorf("whose it was: %+v", old)
	}
	if now := r[1]; now.Teacher != "鈴木 一郎" || now.Before != nil || now.Now == nil {
		t.Errorf("whose it is: %+v", now)
	}
}

func TestAShiftChangedBeforeItBeganIsNoChangeOfOneThatRuns(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Draft(t, 2, 8, "16:30-20:00") // of one who is not linked, and so was told nothing
	dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftConfirmed))(t)
	to(t, s, 17, 0)
	if r := home(t, s).Concerns.Running; len(r) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAShiftEnteredAfterItBeganIsARecordAndNoConcern(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "13:00-20:00")
	change(t, s, x, s.Edit(t, 0, 8, "13:00-19:00"))
	if c := home(t, s).Concerns; len(c.Running) != 0 || len(c.Missed) != 0 {
		t.Errorf("%+v %+v", c.Running, c.Missed)
	}
}

func TestAChangeThatCannotBeToldIsListedWhileItIsUntrueAndAhead(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	off := func(on bool) {
		t.Helper()
		v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t)
		if err := s.Store.EditTeacher(t.Context(), v.ID, v.EditNumber, db.TeacherEdit{ClassroomID: v.ClassroomID, Name: v.Name, Position: 1, NoticesOn: on}); err != nil {
			t.Fatal(err)
		}
	}
	off(false)
	x = change(t, s, x, s.Edit(t, 0, 8, "17:30-21:00"))
	u := home(t, s).Concerns.Untold
	if len(u) != 1 || u[0].Kind != roster.ShiftCorrection || u[0].Code != roster.CodeLINEDisabled || u[0].Shift.Times != x.Times {
		t.Fatalf("changed: %+v", u)
	}
	if err := s.Store.NotePhoneCall(t.Context(), u[0].ID, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	if u := home(t, s).Concerns.Untold; len(u) != 0 {
		t.Error("it is listed after the phone call")
	}
	s.Clock.Advance(time.Minute)
	x = change(t, s, x, s.Edit(t, 0, 8, "18:00-21:00"))
	if u := home(t, s).Concerns.Untold; len(u) != 1 {
		t.Error("a further change is not listed")
	}
	change(t, s, x, s.Edit(t, 0, 8, "16:30-20:00"))
	if u := home(t, s).Concerns.Untold; len(u) != 0 {
		t.Error("it is listed although what was told is true again")
	}
}

func TestATeacherUnlinkedBeforeACorrectionWentIsListed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	change(t, s, x, s.Edit(t, 0, 8, "17:30-21:00"))
	if err := s.Store.UnlinkTeacher(t.Context(), s.Teachers[0].ID); err != nil {
		t.Fatal(err)
	}
	u := home(t, s).Concerns.Untold
	if len(u) != 1 || u[0].Code != roster.CodeTeacherUnlinked {
		t.Fatalf("unlinked: %+v", u)
	}
	if err := s.Store.LinkTeacher(t.Context(), s.Teachers[0].ID, dbtest.LINEUserID(9)); err != nil {
		t.Fatal(err)
	}
	if u := home(t, s).Concerns.Untold; len(u) != 0 {
		t.Error("it is listed although a new LINE user will be reminded")
	}
}

func TestTeachersWhoCannotBeToldAreListedBeforeTheMomentComes(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 9, "10:00-15:00")
	s.Confirm(t, 2, 8, "10:00-14:00") // began
	second := s.Confirm(t, 2, 10, "10:00-14:00")
	s.Confirm(t, 2, 11, "10:00-14:00")
	u := home(t, s).Concerns.Unreachable
	if len(u) != 1 || u[0].Teacher.Name != "髙橋 健太" || u[0].Code != roster.CodeTeacherUnlinked || u[0].First.Date != second.Date || u[0].First.Classroom != "本町教室" {
		t.Fatalf("not linked: %+v", u)
	}
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), `UPDATE teachers SET blocked = 1 WHERE id = ?`, s.Teachers[0].ID); err != nil {
		t.Fatal(err)
	}
	if u = home(t, s).Concerns.Unreachable; len(u) != 2 || u[0].Teacher.ID != s.Teachers[0].ID || u[0].Code != "" {
		t.Errorf("one blocks the account: %+v", u)
	}
	s.Clock.Advance(4 * 24 * time.Hour)
	s.Confirm(t, 2, 20, "10:00-14:00") // eight days ahead
	if u = home(t, s).Concerns.Unreachable; len(u) != 0 {
		t.Errorf("nothing within a week: %+v", u)
	}
}

func TestADeliveryWithoutAJobIsListedUntilItHasOne(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), `CREATE TRIGGER no_jobs BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no jobs'); END`); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 8, "16:30-20:00")
	h := home(t, s)
	if p := h.Concerns.Pending; len(p) != 1 || p[0].Teacher != "佐藤 花子" || !p[0].NextAttemptAt.Equal(dbtest.Start.Add(15*time.Minute)) {
		t.Fatalf("pending: %+v", p)
	}
	if h.Days[0].Shifts[0].Reminder.State != roster.ReminderPending || !h.Live {
		t.Errorf("its reminder is %s", h.Days[0].Shifts[0].Reminder.State)
	}
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), `DROP TRIGGER no_jobs`); err != nil {
		t.Fatal(err)
	}
	to(t, s, 14, 47)
	if p := home(t, s).Concerns.Pending; len(p) != 0 {
		t.Errorf("after the sweep: %+v", p)
	}
}

func TestAMonthSaysWhatIsPublishedAndWhatChangedSince(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 12, "17:00-21:30")
	s.Draft(t, 1, 13, "17:00-21:30")
	m := home(t, s).Months
	if len(m) != 2 || m[0].Month != s.Month || m[1].Month != s.Month.Add(1) || m[0].Published() || m[0].Confirmed != 1 || m[0].Drafts != 1 {
		t.Fatalf("before it was published: %+v", m)
	}
	s.Publish(t)
	if m := home(t, s).Months[0]; m.Number != 1 || len(m.Changes) != 0 || m.Announcement != roster.AnnouncementWaiting {
		t.Errorf("just published: %+v", m)
	}
	end(t, s, accepted)
	change(t, s, x, s.Edit(t, 0, 12, "18:00-21:30"))
	s.Confirm(t, 1, 4, "17:00-21:30")
	h := home(t, s)
	if m := h.Months[0]; m.Announcement != roster.AnnouncementSent || len(m.Changes) != 2 {
		t.Errorf("changed since: %+v", m)
	}
	if len(h.Concerns.Months) != 1 {
		t.Fatalf("months to look at: %+v", h.Concerns.Months)
	}
	today := roster.DateOf(dbtest.Start, dbtest.Tokyo)
	if c := h.Concerns.Months[0].ChangeAhead(today); c == nil || c.Date.Day != 12 {
		t.Errorf("the first change ahead is %+v", c)
	}
	if c := h.Concerns.Months[0].ChangeAhead(today.AddDays(5)); c != nil {
		t.Errorf("a change behind is taken for one ahead: %+v", c)
	}
}

func TestAnAnnouncementIsMissingWhereTheLinkedGroupWasNotTold(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 12, "17:00-21:30")
	p := s.Publish(t)
	state := func(want roster.AnnouncementState) {
		t.Helper()
		if got := home(t, s).Months[0].Announcement; got != want {
			t.Errorf("the announcement is %q, want %q", got, want)
		}
	}
	end(t, s, accepted)
	state(roster.AnnouncementSent)
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(2), "新しいグループ", 9); err != nil {
		t.Fatal(err)
	}
	state(roster.AnnouncementMissing)
	id := dbtest.Must(s.Store.Resend(t.Context(), db.ResendInput{PublicationID: p.PublicationID, AdminID: s.Admin.ID, LastDeliveryID: p.DeliveryID, Confirmed: true}))(t)
	state(roster.AnnouncementWaiting)
	if err := s.Store.CancelDelivery(t.Context(), id, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	state(roster.AnnouncementCalledOff)
}

func TestDraftsOfTheNextDaysAreListed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Draft(t, 0, 8, "10:00-14:00") // began
	s.Draft(t, 0, 10, "10:00-15:00")
	s.Draft(t, 1, 9, "10:00-15:00")
	s.Draft(t, 1, 11, "10:00-15:00") // three days ahead
	d := home(t, s).Concerns.Drafts
	if len(d) != 1 || d[0].Count != 2 || d[0].Teacher != "鈴木 一郎" || d[0].First.Date.Day != 9 || d[0].Group.ID != s.Group.ID {
		t.Errorf("drafts: %+v", d)
	}
}

func TestTheNextTwoDaysShowEachConfirmedShiftOfTheGroupWithItsReminder(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 1, 8, "17:00-21:30")
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.Confirm(t, 2, 8, "22:00-25:00")
	s.Confirm(t, 0, 9, "10:00-15:00")
	s.Draft(t, 1, 9, "10:00-15:00")
	s.Confirm(t, 1, 10, "10:00-15:00")
	other := dbtest.Must(s.Store.CreateGroup(t.Context(), db.GroupEdit{Name: "西口グループ", LeadMinutes: 120}))(t)
	room := dbtest.Must(s.Store.CreateClassroom(t.Context(), db.ClassroomEdit{GroupID: other.ID, Name: "西口教室", ShortName: "西口"}))(t)
	e := s.Edit(t, 1, 8, "10:00-12:00")
	e.ClassroomID = room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)

	states := func(d roster.HomeDay) (all []roster.ReminderState) {
		for _, x := range d.Shifts {
			all = append(all, x.Reminder.State)
		}
		return all
	}
	h := home(t, s)
	if h.Groups != 2 || !h.Moving(dbtest.Tokyo) {
		t.Errorf("%d groups, moving %v", h.Groups, h.Moving(dbtest.Tokyo))
	}
	if got := states(h.Days[0]); !slices.Equal(got, []roster.ReminderState{roster.ReminderQueued, roster.ReminderPlanned, roster.ReminderCannot}) {
		t.Errorf("today: %v", got)
	}
	if got := states(h.Days[1]); !slices.Equal(got, []roster.ReminderState{roster.ReminderPlanned}) {
		t.Errorf("tomorrow: %v", got)
	}
	end(t, s, accepted)
	to(t, s, 14, 45)
	end(t, s, refused)
	if got := states(home(t, s).Days[0]); !slices.Equal(got, []roster.ReminderState{roster.ReminderSent, roster.ReminderFailed, roster.ReminderCannot}) {
		t.Errorf("at 14:45: %v", got)
	}
	if x := dbtest.Must(s.Store.Home(t.Context(), other.ID))(t).Days[0].Shifts; len(x) != 1 || x[0].Reminder.State != roster.ReminderNone {
		t.Errorf("the other group's day: %+v", x)
	}
}

func TestAShiftDeletedAndEnteredAnewIsStillReminded(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := tellFirst(t, s)
	dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	h := home(t, s)
	if r := h.Days[0].Shifts; len(r) != 1 || r[0].Reminder.State != roster.ReminderSent {
		t.Errorf("today: %+v", r)
	}
}

func TestAGroupWhoseLINEGroupRemovedTheAccountIsListed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	if h := home(t, s); len(h.Concerns.Left) != 0 || h.Linking.Teachers != 3 || h.Linking.Linked != 2 {
		t.Errorf("linked: %+v", h.Linking)
	}
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), `UPDATE groups SET line_left_at = 1`); err != nil {
		t.Fatal(err)
	}
	if h := home(t, s); len(h.Concerns.Left) != 1 || h.Concerns.Left[0].ID != s.Group.ID {
		t.Errorf("removed: %+v", h.Concerns.Left)
	}
}

func TestHomeOfAnUnknownGroupIsNotFound(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	if _, err := s.Store.Home(t.Context(), 999); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}
