package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

var forbidden = db.Result{Outcome: roster.Refused, Code: "HTTP_403", Status: 403, Hold: roster.HoldForbidden}

func TestOnlyWhatARetryCouldStillSendCountsAsFailed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	failed := func() int {
		t.Helper()
		return dbtest.Must(s.Store.UnfinishedDeliveries(t.Context()))(t).States[roster.Failed]
	}
	s.Confirm(t, 0, 12, "17-2130")
	s.Publish(t)
	end(t, s, refused)
	s.Confirm(t, 0, 8, "16-18")
	end(t, s, refused)
	if n := failed(); n != 2 {
		t.Errorf("%d count, want the announcement and the reminder", n)
	}
	s.Clock.Advance(2 * time.Hour) // the shift of 16:00 has begun
	if n := failed(); n != 1 {
		t.Errorf("%d count after the shift began, want the announcement", n)
	}
	s.Clock.Advance(23 * 24 * time.Hour) // 31 January
	if n := failed(); n != 1 {
		t.Errorf("%d count on the month's last day, want the announcement", n)
	}
	s.Clock.Advance(24 * time.Hour)
	if n := failed(); n != 0 {
		t.Errorf("%d count after the month, want none", n)
	}
}

func TestThePlanToResendIsWhatResendingDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		story func(*testing.T, *dbtest.School)
		want  error // of an unconfirmed Resend
	}{
		{"never announced", func(*testing.T, *dbtest.School) {}, nil},
		{"waiting", func(t *testing.T, s *dbtest.School) { again(t, s) }, db.ErrLive},
		{"sent", func(t *testing.T, s *dbtest.School) { again(t, s); end(t, s, accepted) }, db.ErrMayHaveArrived},
		{"refused", func(t *testing.T, s *dbtest.School) { again(t, s); end(t, s, refused) }, nil},
		{"called off after a try without an answer", func(t *testing.T, s *dbtest.School) {
			id := again(t, s)
			end(t, s, lost)
			if err := s.Store.CancelDelivery(t.Context(), id, s.Admin.ID); err != nil {
				t.Fatal(err)
			}
		}, db.ErrMayHaveArrived},
		{"the group left LINE", func(t *testing.T, s *dbtest.School) { unlink(t, s) }, &db.NotWantedError{Code: roster.CodeGroupLeft}},
		{"a newer version", func(t *testing.T, s *dbtest.School) { s.Confirm(t, 1, 13, "17-2130"); s.Publish(t) }, &db.NotWantedError{Code: roster.CodeSuperseded}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.NewSchool(t)
			unlink(t, s)
			s.Confirm(t, 0, 12, "17-2130")
			id := s.Publish(t).PublicationID
			link(t, s)
			c.story(t, s)
			plan := dbtest.Must(s.Store.PlanResend(t.Context(), id))(t)
			deliveryID, err := s.Store.Resend(t.Context(), db.ResendInput{PublicationID: id, AdminID: s.Admin.ID, LastDeliveryID: plan.LastDeliveryID})
			var unwanted, want *db.NotWantedError
			if errors.As(c.want, &want) {
				if !errors.As(err, &unwanted) || unwanted.Code != want.Code || plan.Refusal != want.Code {
					t.Fatalf("the plan is %+v, resending answered %v, want %v", plan, err, c.want)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("resending answered %v, want %v", err, c.want)
			}
			if live, asks := plan.LiveID != 0, plan.Arrived != ""; plan.Refusal != "" || live != errors.Is(err, db.ErrLive) || asks != errors.Is(err, db.ErrMayHaveArrived) {
				t.Errorf("the plan is %+v, but resending answered %v", plan, err)
			}
			if plan.First != (plan.LastDeliveryID == 0) || plan.Messages != 14 {
				t.Errorf("the plan is %+v", plan)
			}
			if err == nil && deliveryID <= plan.LastDeliveryID {
				t.Errorf("resending made delivery %d", deliveryID)
			}
		})
	}
}

// again announces the school's only publication.
func again(t *testing.T, s *dbtest.School) int64 {
	t.Helper()
	return dbtest.Must(s.Store.Resend(t.Context(), db.ResendInput{PublicationID: 1, AdminID: s.Admin.ID}))(t)
}

func unlink(t *testing.T, s *dbtest.School) {
	t.Helper()
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, s *dbtest.School) {
	t.Helper()
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(1), "みほん塾 講師連絡", 14); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAHoldKeepsBackIsWhatItsEndSends(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "16-18")
	end(t, s, forbidden) // 1: a reminder that met it
	s.Confirm(t, 1, 8, "16-18")
	s.Confirm(t, 1, 12, "17-2130")
	s.Publish(t)
	hold := dbtest.Must(s.Store.Holds(t.Context()))(t)[0]
	work := dbtest.Must(s.Store.HeldWork(t.Context(), hold))(t)
	if want := (roster.HeldWork{Publications: 1, Notices: 1, Again: 1, Messages: 16}); work != want {
		t.Errorf("it keeps back %+v, want %+v", work, want)
	}
	if err := s.Store.EndHold(t.Context(), hold.Cause); err != nil {
		t.Fatal(err)
	}
	for range work.Publications + work.Notices + work.Again {
		end(t, s, accepted)
	}
	if n := dbtest.Must(s.Store.UnfinishedDeliveries(t.Context()))(t).States; len(n) != 0 {
		t.Errorf("after it %v are left", n)
	}
}
