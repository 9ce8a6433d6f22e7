package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// askPlan plans to ask for confirmations.
func askPlan(t *testing.T, s *dbtest.School, p db.Published) db.ReceiptRequestPlan {
	t.Helper()
	return dbtest.Must(s.Store.PlanReceiptRequests(t.Context(), p.PublicationID))(t)
}

// ask asks for confirmations as a plan says.
func ask(t *testing.T, s *dbtest.School, p db.Published, plan db.ReceiptRequestPlan) (int, error) {
	t.Helper()
	return s.Store.RequestReceipts(t.Context(), db.ReceiptRequestInput{PublicationID: p.PublicationID, AdminID: s.Admin.ID, Shown: plan.Digest()})
}

// wantAsked compares whom a plan asks, by the index of the teacher.
func wantAsked(t *testing.T, s *dbtest.School, plan db.ReceiptRequestPlan, teachers ...int) {
	t.Helper()
	same := len(plan.Asked) == len(teachers)
	for i := range plan.Asked {
		same = same && plan.Asked[i].Teacher.ID == s.Teachers[teachers[i]].ID
	}
	if !same {
		t.Errorf("the plan asks %+v, want teachers %v", plan.Asked, teachers)
	}
}

// endMonth lets time pass until the school's month is over.
func endMonth(s *dbtest.School) {
	s.Clock.Advance(roster.Instant(s.Month.Add(1).First(), 0, dbtest.Tokyo).Sub(s.Clock.Now()))
}

// everybodyWorks publishes a month in which each of the three teachers has a shift. The third is not linked.
func everybodyWorks(t *testing.T) (*dbtest.School, db.Published) {
	t.Helper()
	s := dbtest.NewSchool(t)
	for i := range s.Teachers {
		s.Confirm(t, i, 20, "17:00-21:30")
	}
	return s, s.Publish(t)
}

func TestWhoHasStillToConfirmIsAskedAndNobodyTwiceAtATime(t *testing.T) {
	t.Parallel()
	s, p := everybodyWorks(t)
	plan := askPlan(t, s, p)
	wantAsked(t, s, plan, 0, 1)
	if len(plan.Cannot) != 1 || plan.Cannot[0].Teacher.ID != s.Teachers[2].ID || plan.Cannot[0].Code != roster.CodeTeacherUnlinked {
		t.Errorf("who cannot be asked is %+v", plan.Cannot)
	}
	confirmShown(t, s, p, 0)
	// Somebody confirmed since: that is not what was shown.
	if n, err := ask(t, s, p, plan); n != 0 || !errors.Is(err, db.ErrEdited) {
		t.Errorf("an old plan asked %d, %v", n, err)
	}
	// So is that another one is asked instead.
	if err := s.Store.LinkTeacher(t.Context(), s.Teachers[2].ID, dbtest.LINEUserID(3)); err != nil {
		t.Fatal(err)
	}
	if n, err := ask(t, s, p, plan); n != 0 || !errors.Is(err, db.ErrEdited) {
		t.Errorf("a plan for as many others asked %d, %v", n, err)
	}
	if err := s.Store.UnlinkTeacher(t.Context(), s.Teachers[2].ID); err != nil {
		t.Fatal(err)
	}
	plan = askPlan(t, s, p)
	wantAsked(t, s, plan, 1)
	if n, err := ask(t, s, p, plan); n != 1 || err != nil {
		t.Fatalf("asked %d, %v", n, err)
	}
	if n, err := ask(t, s, p, plan); n != 0 || !errors.Is(err, db.ErrEdited) {
		t.Errorf("pressed twice, it asked %d, %v", n, err)
	}
	plan = askPlan(t, s, p)
	if wantAsked(t, s, plan); plan.Live != 1 || plan.NewID == 0 {
		t.Errorf("while the request is on its way the plan is %+v", plan)
	}
	requests := dbtest.Must(s.Store.ReceiptRequests(t.Context(), p.PublicationID))(t)
	if len(requests) != 1 || requests[0].TeacherID != s.Teachers[1].ID || requests[0].Kind != roster.ReceiptRequest || requests[0].AskedID != p.PublicationID || requests[0].CreatedBy != s.Admin.ID {
		t.Errorf("the requests are %+v", requests)
	}
	if _, err := s.Store.PlanReceiptRequests(t.Context(), 999); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("an unknown publication: %v", err)
	}
}

func TestWhoNeedNotConfirmIsNotAsked(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	first := s.Publish(t)
	confirmShown(t, s, first, 0)
	x := s.Confirm(t, 2, 21, "17:00-21:30")
	second := s.Publish(t)
	// The first teacher confirmed the version before, since which nothing of theirs changed; the second only looked.
	if err := s.Store.RecordOpening(t.Context(), second.PublicationID, s.Teachers[1].ID); err != nil {
		t.Fatal(err)
	}
	wantAsked(t, s, askPlan(t, s, second))
	if n, err := ask(t, s, second, askPlan(t, s, second)); n != 0 || !errors.Is(err, db.ErrEdited) {
		t.Errorf("with nobody to ask it asked %d, %v", n, err)
	}
	if plan := askPlan(t, s, first); plan.Refusal != roster.CodeSuperseded {
		t.Errorf("of an older version the plan is %+v", plan)
	}
	var unwanted *db.NotWantedError
	if n, err := ask(t, s, first, askPlan(t, s, first)); n != 0 || !errors.As(err, &unwanted) || unwanted.Code != roster.CodeSuperseded {
		t.Errorf("for an older version it asked %d, %v", n, err)
	}
	// Once their own shifts change, the first has to confirm anew.
	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 21, "17:00-21:30")))(t)
	third := s.Publish(t)
	wantAsked(t, s, askPlan(t, s, third), 0)
	endMonth(s)
	if plan := askPlan(t, s, third); plan.Refusal != roster.CodeNoLongerNeeded {
		t.Errorf("when the month is over the plan is %+v", plan)
	}
}

// answer finishes the try that is due.
func answer(t *testing.T, s *dbtest.School, r db.Result) {
	t.Helper()
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	if err := s.Store.FinishTry(t.Context(), try, r); err != nil {
		t.Fatal(err)
	}
}

func TestAskingAgainSaysThatAnEarlierRequestMayHaveArrived(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	p := s.Publish(t)
	answer(t, s, db.Result{Outcome: roster.Accepted})
	dbtest.Must(ask(t, s, p, askPlan(t, s, p)))(t)
	var last time.Time
	for range roster.MaxLadderTries {
		last = s.Store.Now()
		answer(t, s, db.Result{Outcome: roster.Unknown, Code: roster.CodeTimeout})
		s.Clock.Advance(time.Hour)
	}
	if a := askPlan(t, s, p).Asked[0]; a.Arrived != roster.Maybe || !a.LastAt.Equal(last) {
		t.Errorf("the plan says %+v", a)
	}
	dbtest.Must(ask(t, s, p, askPlan(t, s, p)))(t)
	s.Clock.Advance(time.Minute)
	answer(t, s, db.Result{Outcome: roster.Accepted})
	if a := askPlan(t, s, p).Asked[0]; a.Arrived != roster.Sure || !a.LastAt.Equal(s.Store.Now()) {
		t.Errorf("after it was sent the plan says %+v", a)
	}
}

func TestARequestToConfirmWhatAnEarlierConfirmationCoversAgainIsNotSent(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 20, "17:00-21:30")
	confirmShown(t, s, s.Publish(t), 0)
	answer(t, s, db.Result{Outcome: roster.Accepted})
	x = dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 20, "18:00-21:30")))(t)
	p := s.Publish(t)
	answer(t, s, db.Result{Outcome: roster.Accepted})
	dbtest.Must(ask(t, s, p, askPlan(t, s, p)))(t)
	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 20, "17:00-21:30")))(t)
	if try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t); try != nil {
		t.Errorf("it is sent: %+v", try)
	}
}

func TestARequestToConfirmThatIsNoLongerTrueIsNotSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		then func(*testing.T, *dbtest.School, db.Published)
		want roster.Code // empty: it is sent
	}{
		{"nothing happens", func(*testing.T, *dbtest.School, db.Published) {}, ""},
		{"they confirm", func(t *testing.T, s *dbtest.School, p db.Published) { confirmShown(t, s, p, 0) }, roster.CodeNoLongerNeeded},
		{"they confirm, and their shifts change", func(t *testing.T, s *dbtest.School, p db.Published) {
			confirmShown(t, s, p, 0)
			s.Confirm(t, 0, 25, "17:00-21:30")
		}, ""},
		{"a newer request is made after it failed", func(t *testing.T, s *dbtest.School, p db.Published) {
			answer(t, s, db.Result{Outcome: roster.Accepted}) // the announcement
			answer(t, s, db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400})
			dbtest.Must(ask(t, s, p, askPlan(t, s, p)))(t)
		}, roster.CodeSuperseded},
		{"a newer version is published", func(t *testing.T, s *dbtest.School, _ db.Published) {
			s.Confirm(t, 0, 25, "17:00-21:30")
			s.Publish(t)
			dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t) // the announcement of the first version was called off
		}, roster.CodeSuperseded},
		{"the month ends", func(t *testing.T, s *dbtest.School, _ db.Published) {
			endMonth(s)
		}, roster.CodeNoLongerNeeded},
		{"they leave", func(t *testing.T, s *dbtest.School, _ db.Published) {
			x := dbtest.Must(s.Store.Month(t.Context(), s.Group.ID, s.Month))(t).Shifts[0]
			dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
			if err := s.Store.ArchiveTeacher(t.Context(), s.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
		}, roster.CodeTeacherInactive},
		{"they unlink", func(t *testing.T, s *dbtest.School, _ db.Published) {
			if err := s.Store.UnlinkTeacher(t.Context(), s.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
		}, roster.CodeTeacherUnlinked},
		{"another LINE user is linked", func(t *testing.T, s *dbtest.School, _ db.Published) {
			if err := s.Store.LinkTeacher(t.Context(), s.Teachers[0].ID, dbtest.LINEUserID(9)); err != nil {
				t.Fatal(err)
			}
		}, roster.CodeTeacherRelinked},
		{"they switch notices off", func(t *testing.T, s *dbtest.School, _ db.Published) {
			v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t)
			if err := s.Store.SetNotices(t.Context(), v.ID, false); err != nil {
				t.Fatal(err)
			}
		}, roster.CodeLINEDisabled},
	} {
		s := dbtest.NewSchool(t)
		s.Confirm(t, 0, 20, "17:00-21:30")
		p := s.Publish(t)
		if n, err := ask(t, s, p, askPlan(t, s, p)); n != 1 || err != nil {
			t.Fatalf("asked %d, %v", n, err)
		}
		id := dbtest.Must(s.Store.ReceiptRequests(t.Context(), p.PublicationID))(t)[0].ID
		c.then(t, s, p)
		if d := dbtest.Must(s.Store.Delivery(t.Context(), id))(t); d.State == roster.Failed {
			if d.Unwanted != c.want {
				t.Errorf("%s: a retry is refused for %q, want %q", c.name, d.Unwanted, c.want)
			}
			continue
		}
		for {
			if _, err := dbtest.ClaimTry(t.Context(), s.Store); err != nil {
				break
			}
		}
		d := dbtest.Must(s.Store.Delivery(t.Context(), id))(t)
		if want := roster.Processing; c.want == "" && d.State != want || c.want != "" && (d.State != roster.Canceled || d.Code != c.want) {
			t.Errorf("%s: the request is %s %s, want %q", c.name, d.State, d.Code, c.want)
		}
	}
}
