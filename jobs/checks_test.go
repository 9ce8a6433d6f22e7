package jobs_test

import (
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

// reason is something that the check of a notice finds, staged behind the back of what would call it off at once.
type reason struct {
	code  roster.Code
	stage string
}

// The reasons in the order in which the check looks for them.
var (
	notTheirShift = []reason{
		{roster.CodeShiftDeleted, `UPDATE shifts SET state = 'deleted'`},
		{roster.CodeShiftNotConfirmed, `UPDATE shifts SET state = 'draft'`},
		{roster.CodeShiftChanged, `UPDATE shifts SET version = version + 1`},
	}
	nothingUntrue  = reason{roster.CodeNoLongerNeeded, `UPDATE told SET certainty = 'void'`}
	theirsAgain    = reason{roster.CodeNoLongerNeeded, `UPDATE shifts SET state = 'confirmed', start_minutes = start_minutes + 60`}
	deadlinePassed = reason{roster.CodeShiftStarted, `UPDATE deliveries SET deadline_at = created_at`}
	left           = reason{roster.CodeTeacherInactive, `UPDATE teachers SET archived_at = 1 WHERE id = 1`}
	notReachable   = []reason{
		{roster.CodeTeacherUnlinked, `UPDATE teachers SET line_user_id = ''`},
		{roster.CodeTeacherRelinked, `UPDATE teachers SET line_user_id = '` + dbtest.LINEUserID(9) + `' WHERE id = 1`},
		{roster.CodeLINEDisabled, `UPDATE teachers SET notices_on = 0`},
	}
)

func TestTheCheckBeforeATryCallsANoticeOffForTheFirstReasonOfItsKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    roster.DeliveryKind
		stage   func(*testing.T, *story)
		reasons []reason
	}{
		{roster.ShiftReminder, func(t *testing.T, s *story) {
			s.at(t, "14:45")
			s.Confirm(t, 0, 8, "17:00-21:30")
		}, append(append([]reason{}, notTheirShift...), append([]reason{deadlinePassed, left}, notReachable...)...)},
		{roster.ShiftCorrection, func(t *testing.T, s *story) {
			s.change(t, s.told(t).ID, 0, 8, "18:00-21:30")
			s.Clock.Advance(30 * time.Second)
		}, append(append([]reason{}, notTheirShift...), append([]reason{nothingUntrue, deadlinePassed, left}, notReachable...)...)},
		{roster.ShiftCancellation, func(t *testing.T, s *story) {
			s.move(t, s.told(t).ID, roster.ShiftDraft)
			s.Clock.Advance(30 * time.Second)
		}, append([]reason{theirsAgain, nothingUntrue, deadlinePassed}, notReachable...)},
	} {
		for i, r := range c.reasons {
			t.Run(string(c.kind)+" "+string(r.code), func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				c.stage(t, s)
				all := s.notices(t, 1)
				id := all[len(all)-1].ID
				for j := len(c.reasons) - 1; j >= i; j-- { // the reasons after it are there as well
					if j == i || c.reasons[j].code != r.code {
						s.sql(t, c.reasons[j].stage)
					}
				}
				sent := len(s.sim.Pushes())
				if err := s.runner.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
				if d := s.delivery(t, id); d.Kind != c.kind || d.State != roster.Canceled || d.Code != r.code || len(d.Attempts) != 0 {
					t.Errorf("the %s is %s %s after %d tries, want canceled %s without one", d.Kind, d.State, d.Code, len(d.Attempts), r.code)
				}
				if n := s.count(t, `SELECT count(*) FROM jobs WHERE subject_id = ? AND state <> 'done'`, id); n != 0 {
					t.Error("its job is not done")
				}
				if n := len(s.sim.Pushes()); n != sent {
					t.Errorf("LINE got %d requests", n-sent)
				}
			})
		}
	}
}

func TestWhoLeftIsStillToldThatAShiftIsNotTheirs(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	if err := s.Store.ArchiveTeacher(t.Context(), s.Teachers[0].ID); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(30 * time.Second)
	if err := s.runner.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantNotices(t, x.ID, "reminder sent", "cancellation sent")
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
}

func TestAnAnnouncementThatWasTriedGoesToThatLINEGroupOrNowhere(t *testing.T) {
	t.Parallel()
	for _, tried := range []bool{false, true} {
		s := newStory(t)
		s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "みほん塾 新", Members: []string{dbtest.LINEUserID(1)}, BotIn: true})
		id := s.publishOne(t)
		if tried {
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
			s.step(t)
		}
		if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(2), "みほん塾 新", 1); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(2 * time.Minute)
		s.step(t)
		if tried {
			s.wantState(t, id, roster.Canceled, roster.CodeGroupLeft)
		} else {
			s.wantState(t, id, roster.Sent, "")
		}
		if before, now := s.messages(), len(s.sim.Messages(dbtest.LINEGroupID(2))); before != 0 || (now == 1) == tried {
			t.Errorf("tried %v: the LINE group of before got %d messages, the present one %d", tried, before, now)
		}
		s.sim.Assert(t)
	}
}

func TestAMessageIsWrittenWithItsFirstTryAndNotBefore(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Clock.Advance(time.Minute)
	id := s.publishOne(t)
	if d := s.delivery(t, id); d.Body != nil || d.LINEID != "" || !d.FirstTryAt.IsZero() {
		t.Errorf("before its first try the delivery has the text %q, the recipient %q and a first try at %s", d.Body, d.LINEID, d.FirstTryAt)
	}
	s.Clock.Advance(time.Minute)
	s.renameGroup(t, "駅前グループ")
	try := s.begin(t)
	d := s.delivery(t, id)
	if string(d.Body) != string(try.Body) || !contains(string(d.Body), "駅前グループ") || d.LINEID != dbtest.LINEGroupID(1) || !d.FirstTryAt.Equal(s.Store.Now()) {
		t.Errorf("with its first try the delivery to %q has a first try at %s and the text %s", d.LINEID, d.FirstTryAt, d.Body)
	}
	if len(d.Attempts) != 1 || d.Attempts[0].Outcome != "" || !d.Attempts[0].StartedAt.Equal(d.FirstTryAt) {
		t.Errorf("its attempts are %+v, want an open one", d.Attempts)
	}
}

func TestEveryLaterTryIsTheFirstOneAgainWhateverChangedSince(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 4})
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:45")
	s.remind(t)
	id := s.Publish(t).DeliveryID
	for _, name := range []string{"駅前グループ", "本町グループ", "みほん塾"} {
		s.step(t)
		s.renameGroup(t, name)
		s.renameClassroom(t, name)
		s.Clock.Advance(4 * time.Minute)
	}
	s.wantState(t, id, roster.Sent, "")
	s.wantNotices(t, x.ID, "reminder sent")
	first := map[string]linesim.Request{}
	for _, r := range s.sim.Pushes() {
		before, again := first[r.To]
		if !again {
			first[r.To] = r
			continue
		}
		if r.RetryKey != before.RetryKey || string(r.Body) != string(before.Body) {
			t.Errorf("a later try has the key %s and the bytes\n%s\nthe first had %s and\n%s", r.RetryKey, r.Body, before.RetryKey, before.Body)
		}
	}
	if pushes := s.sim.Pushes(); len(first) != 2 || len(pushes) != 6 {
		t.Errorf("LINE got %d requests to %d recipients, want 6 to 2", len(pushes), len(first))
	}
	s.sim.Assert(t)
}

// count reads one number of the database.
func (s *story) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := s.Store.SessionDB().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *story) renameGroup(t *testing.T, name string) {
	t.Helper()
	g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t)
	if err := s.Store.EditGroup(t.Context(), g.ID, g.EditNumber, db.GroupEdit{Name: name, LeadMinutes: g.LeadMinutes}); err != nil {
		t.Fatal(err)
	}
}

func (s *story) renameClassroom(t *testing.T, name string) {
	t.Helper()
	c := dbtest.Must(s.Store.Classroom(t.Context(), s.Classrooms[0].ID))(t)
	if err := s.Store.EditClassroom(t.Context(), c.ID, c.EditNumber, db.ClassroomEdit{GroupID: c.GroupID, Name: name, ShortName: c.ShortName}); err != nil {
		t.Fatal(err)
	}
}
