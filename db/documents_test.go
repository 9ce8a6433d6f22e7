package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
)

func TestThePresentDocumentIsTheNewestOfTheMonthOfTheNextShift(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	want := func(teacher int64, p db.Published) {
		t.Helper()
		id := dbtest.Must(s.Store.Publication(ctx, p.PublicationID))(t).DocumentID
		if got, err := s.Store.PresentDocument(ctx, teacher); err != nil || got != id {
			t.Errorf("the present document of teacher %d is %q (%v), want %q", teacher, got, err, id)
		}
	}
	hanako, ichiro := s.Teachers[0].ID, s.Teachers[1].ID
	if _, err := s.Store.PresentDocument(ctx, hanako); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before anything is published: %v", err)
	}
	s.Confirm(t, 0, 8, "17:00-21:30")
	first := s.Publish(t)
	want(hanako, first)
	s.Confirm(t, 0, 9, "17:00-21:30")
	january := s.Publish(t)
	want(hanako, january)

	s.Month = s.Month.Add(1)
	s.Confirm(t, 1, 3, "17:00-21:30")
	february := s.Publish(t)
	want(hanako, january)
	want(ichiro, february) // works in February alone
	want(s.Teachers[2].ID, january)
	want(0, january)

	s.Clock.Advance(25 * 24 * time.Hour) // 2 February
	want(hanako, february)
	want(0, february)
	s.Clock.Advance(60 * 24 * time.Hour)
	want(ichiro, february) // the latest there is
}
