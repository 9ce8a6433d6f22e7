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

// keep sets a retention, also if that erases something.
func keep(t *testing.T, s *dbtest.School, months int) {
	t.Helper()
	set := dbtest.Must(s.Store.Retention(t.Context()))(t)
	if err := s.Store.EditRetention(t.Context(), set.EditNumber, db.RetentionEdit{Months: months, Confirmed: true, AdminID: s.Admin.ID}); err != nil {
		t.Fatal(err)
	}
}

// goTo moves the clock and lets the deliveries be pruned.
func goTo(t *testing.T, s *dbtest.School, year int, month time.Month, day int) {
	t.Helper()
	s.Clock.Advance(time.Date(year, month, day, 0, 0, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	dbtest.Must(s.Store.Prune(t.Context()))(t)
}

// tellOf confirms a shift of a later month, and lets LINE take its reminder.
func tellOf(t *testing.T, s *dbtest.School, year int, month time.Month, day int) roster.Shift {
	t.Helper()
	e := s.Edit(t, 0, 1, "16:30-20:00")
	e.Date = roster.Date{Year: year, Month: month, Day: day}
	s.Clock.Advance(roster.Instant(e.Date, 15*60, dbtest.Tokyo).Sub(s.Clock.Now()))
	x := dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	accept(t, s, 1)
	return x
}

func wantKept(t *testing.T, s *dbtest.School, want ...int64) {
	t.Helper()
	var got []int64
	for _, d := range dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{}))(t) {
		got = append(got, d.ID)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("on %s deliveries %v are kept, want %v", s.Clock.Now().In(dbtest.Tokyo).Format(time.DateOnly), got, want)
	}
}

func TestWhatWasSentIsErasedWhenAsManyMonthsAsAreKeptFollowedItsOwn(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	tellFirst(t, s) // 1, of 8 January
	s.Publish(t)    // 2, of January
	accept(t, s, 1)
	tellOf(t, s, 2027, time.February, 1) // 3
	tellOf(t, s, 2027, time.March, 1)    // 4
	goTo(t, s, 2037, time.January, 1)
	wantKept(t, s, 1, 2, 3, 4) // nothing was set

	s = dbtest.NewSchool(t)
	keep(t, s, 3)
	tellFirst(t, s)
	s.Publish(t)
	accept(t, s, 1)
	tellOf(t, s, 2027, time.February, 1)
	tellOf(t, s, 2027, time.March, 1)
	goTo(t, s, 2027, time.April, 30)
	wantKept(t, s, 1, 2, 3, 4)
	goTo(t, s, 2027, time.May, 1)
	wantKept(t, s, 3, 4)
	for _, table := range []string{"told", "attempts"} {
		var n int
		if err := s.Store.SessionDB().QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE delivery_id < 3`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows of %s are left of what was erased (%v)", n, table, err)
		}
	}
	if n := dbtest.Must(s.Store.MakeReminders(t.Context()))(t); n != 0 {
		t.Errorf("%d notices are made of what was erased", n)
	}
}

// noteNewest makes a row of a teacher who cannot be told, so that what is tested is not the newest delivery.
func noteNewest(t *testing.T, s *dbtest.School) {
	t.Helper()
	e := s.Edit(t, 2, 1, "16:30-20:00")
	e.Date = roster.DateOf(s.Clock.Now(), dbtest.Tokyo)
	e.Times = roster.TimeRange{Start: 23 * 60, End: 24 * 60}
	s.Clock.Advance(roster.Instant(e.Date, 22*60, dbtest.Tokyo).Sub(s.Clock.Now()))
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
}

func TestWhatIsAboutAShiftThatIsNotOverIsKeptHoweverOldItIs(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	move := func(x roster.Shift, to roster.Date) roster.Shift {
		e := s.Edit(t, 0, 8, "16:30-20:00")
		e.Date = to
		x = dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, e))(t)
		s.Clock.Advance(time.Minute)
		accept(t, s, 1)
		return x
	}
	ahead := roster.Date{Year: 2028, Month: time.March, Day: 1}
	x := move(tellFirst(t, s), ahead) // 1 and its correction 2
	noteNewest(t, s)                  // 3
	goTo(t, s, 2028, time.February, 1)
	wantKept(t, s, 1, 2, 3)
	move(x, roster.Date{Year: 2027, Month: time.January, Day: 8}) // 4: entered by mistake
	noteNewest(t, s)                                              // 5
	goTo(t, s, 2028, time.May, 31)
	wantKept(t, s, 2, 4, 5) // 2 told of 1 March
	goTo(t, s, 2028, time.July, 1)
	wantKept(t, s, 4, 5) // and the newest attempt and the newest delivery
}

func TestWhatWaitsIsKeptHoweverOldItIs(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	s.Confirm(t, 1, 20, "17:00-21:30")
	s.Publish(t)
	noteNewest(t, s)
	goTo(t, s, 2028, time.February, 1)
	wantKept(t, s, 1, 2)
}

func TestTheIDsOfWhatWasErasedAreNotGivenAwayAgain(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	tellFirst(t, s)
	goTo(t, s, 2028, time.February, 1)
	wantKept(t, s, 1)
	x := tellOf(t, s, 2028, time.February, 1)
	if d := dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{}))(t)[0]; d.ShiftID != x.ID || d.ID != 2 {
		t.Errorf("the next delivery is %d, about shift %d", d.ID, d.ShiftID)
	}
}

func TestADeadLetterThatIsErasedCannotBeSentAgain(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	s.Confirm(t, 1, 20, "17:00-21:30")
	s.Publish(t)
	for range roster.MaxLadderTries {
		s.Clock.Advance(time.Hour)
		try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
		if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Unknown, Code: roster.CodeTimeout}); err != nil {
			t.Fatal(err)
		}
	}
	tellOf(t, s, 2027, time.February, 1)
	jobs := func() (dead int) {
		if err := s.Store.SessionDB().QueryRowContext(t.Context(), `SELECT count(*) FROM jobs WHERE state = 'dead'`).Scan(&dead); err != nil {
			t.Fatal(err)
		}
		return dead
	}
	if jobs() != 1 {
		t.Fatalf("there are %d dead letters", jobs())
	}
	goTo(t, s, 2027, time.May, 1)
	wantKept(t, s, 2)
	if jobs() != 0 {
		t.Error("its job is left")
	}
	if err := s.Store.RetryDelivery(t.Context(), 1, s.Admin.ID, true); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("it can be retried: %v", err)
	}
}

func TestWhatAPresentHoldCameFromIsKept(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.Publish(t)
	reminder := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	accept(t, s, 1) // the publication, which is the newest
	if err := s.Store.FinishTry(t.Context(), reminder, db.Result{Outcome: roster.Refused, Code: "HTTP_403", Status: 403, Hold: roster.HoldForbidden}); err != nil {
		t.Fatal(err)
	}
	goTo(t, s, 2027, time.May, 1)
	wantKept(t, s, 1, 2)
	if err := s.Store.EndHold(t.Context(), roster.HoldForbidden); err != nil {
		t.Fatal(err)
	}
	goTo(t, s, 2027, time.May, 2)
	wantKept(t, s, 2)
}

func TestAMonthThatWasPublishedBeforeItBeganIsKeptAsLongAsOthers(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, 3)
	s.Month = s.Month.Add(1)
	s.Confirm(t, 1, 20, "17:00-21:30")
	s.Publish(t)
	accept(t, s, 1)
	tellOf(t, s, 2027, time.March, 1)
	goTo(t, s, 2027, time.May, 31)
	wantKept(t, s, 1, 2)
	goTo(t, s, 2027, time.June, 1)
	wantKept(t, s, 2)
}

func TestAVersionThatWasCalledOffDoesNotComeBackWhenRecordsGo(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, roster.MinRetention)
	s.Confirm(t, 1, 20, "17:00-21:30")
	s.Publish(t) // 1
	accept(t, s, 1)
	s.Confirm(t, 1, 21, "17:00-21:30")
	second := s.Publish(t) // 2
	if err := s.Store.CancelDelivery(t.Context(), second.DeliveryID, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	tellOf(t, s, 2027, time.February, 1) // 3
	goTo(t, s, 2027, time.May, 1)
	wantKept(t, s, 2, 3)
	if p := dbtest.Must(s.Store.Preview(t.Context(), s.Group.ID, s.Month))(t); p.Newest == nil || p.Newest.Number != 1 {
		t.Errorf("the newest version is %+v, want the first", p.Newest)
	}
}

func TestWhatWasSentLateIsKeptAsLongAsWhatWasSentThen(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	keep(t, s, 3)
	s.Confirm(t, 1, 20, "17:00-21:30")
	p := s.Publish(t)
	accept(t, s, 1)
	s.Clock.Advance(60 * 24 * time.Hour) // March
	dbtest.Must(s.Store.Resend(t.Context(), db.ResendInput{PublicationID: p.PublicationID, LastDeliveryID: p.DeliveryID, Confirmed: true, AdminID: s.Admin.ID}))(t)
	accept(t, s, 1)
	tellOf(t, s, 2027, time.April, 1)
	goTo(t, s, 2027, time.June, 30)
	wantKept(t, s, 2, 3)
	goTo(t, s, 2027, time.July, 1)
	wantKept(t, s, 3)
}

func TestARetentionThatErasesSomethingIsAskedForFirst(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	tellFirst(t, s)
	tellOf(t, s, 2027, time.February, 1)
	goTo(t, s, 2027, time.May, 1)
	set := dbtest.Must(s.Store.Retention(t.Context()))(t)
	var erases *db.ErasesError
	if err := s.Store.EditRetention(t.Context(), set.EditNumber, db.RetentionEdit{Months: 3, AdminID: s.Admin.ID}); !errors.As(err, &erases) || erases.Deliveries != 1 {
		t.Fatalf("it answers %v", err)
	}
	if now := dbtest.Must(s.Store.Retention(t.Context()))(t); now != set {
		t.Errorf("it is set before it was confirmed: %+v", now)
	}
	goTo(t, s, 2027, time.May, 2)
	wantKept(t, s, 1, 2)
	if err := s.Store.EditRetention(t.Context(), set.EditNumber, db.RetentionEdit{Months: 4, AdminID: s.Admin.ID}); err != nil {
		t.Errorf("one that erases nothing: %v", err)
	}
	if err := s.Store.EditRetention(t.Context(), set.EditNumber, db.RetentionEdit{Months: 3, Confirmed: true, AdminID: s.Admin.ID}); !errors.Is(err, db.ErrEdited) {
		t.Errorf("a second admin's save: %v, want ErrEdited", err)
	}
	keep(t, s, 3)
	goTo(t, s, 2027, time.May, 3)
	wantKept(t, s, 2)
}

func TestARetentionStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	for _, months := range []int{-1, 1, roster.MinRetention - 1, roster.MaxRetention + 1} {
		if err := s.Store.EditRetention(t.Context(), 1, db.RetentionEdit{Months: months}); !errors.Is(err, db.ErrRetention) {
			t.Errorf("%d months: %v, want ErrRetention", months, err)
		}
	}
	for _, months := range []int{roster.MinRetention, roster.MaxRetention, 0} {
		keep(t, s, months)
		if set := dbtest.Must(s.Store.Retention(t.Context()))(t); set.Months != months {
			t.Errorf("%d months are kept, want %d", set.Months, months)
		}
	}
}

func TestWhatMayHaveBeenSentBeforeItsRecordsWentIsSentAgainOnlyWhenConfirmed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 1, 20, "17:00-21:30")
	p := s.Publish(t)
	accept(t, s, 1)
	tellOf(t, s, 2027, time.March, 1)
	goTo(t, s, 2027, time.May, 1)
	wantKept(t, s, 1, 2)
	keep(t, s, 3)
	goTo(t, s, 2027, time.May, 2)
	wantKept(t, s, 2)
	keep(t, s, 0) // brings nothing back
	plan := dbtest.Must(s.Store.PlanResend(t.Context(), p.PublicationID))(t)
	if plan.First || plan.Arrived != roster.Maybe || !plan.ArrivedAt.IsZero() {
		t.Errorf("the plan is %+v", plan)
	}
	in := db.ResendInput{PublicationID: p.PublicationID, AdminID: s.Admin.ID}
	if _, err := s.Store.Resend(t.Context(), in); !errors.Is(err, db.ErrMayHaveArrived) {
		t.Errorf("unconfirmed it answers %v, want ErrMayHaveArrived", err)
	}
	in.Confirmed = true
	dbtest.Must(s.Store.Resend(t.Context(), in))(t)

	// What is too young to have been erased by any retention, and was never sent, needs no question.
	unlink(t, s)
	s.Month = s.Month.Add(2)
	s.Confirm(t, 1, 20, "17:00-21:30")
	young := s.Publish(t)
	link(t, s)
	if plan := dbtest.Must(s.Store.PlanResend(t.Context(), young.PublicationID))(t); !plan.First || plan.Arrived != "" {
		t.Errorf("the plan of March is %+v", plan)
	}
}
