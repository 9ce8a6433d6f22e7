package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestOverlapsOfOneTeacherAreRefusedByNamingTheOtherShift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		day        int
		times      string
		otherDay   int
		otherTimes string
		refused    bool
	}{
		{"same time", 8, "17:00-21:30", 8, "17:00-21:30", true},
		{"one minute in common", 8, "13:00-17:01", 8, "17:00-21:30", true},
		{"end meets start", 8, "13:00-17:00", 8, "17:00-21:30", false},
		{"night runs into the next day", 8, "22:00-25:30", 9, "1:00-3:00", true},
		{"night ends as the next day's shift begins", 8, "22:00-25:00", 9, "1:00-3:00", false},
		{"entered the other way round", 9, "0:30-3:00", 8, "22:00-25:00", true},
		{"another day", 8, "17:00-21:30", 10, "17:00-21:30", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.NewSchool(t)
			other := s.Draft(t, 0, c.otherDay, c.otherTimes)
			_, err := s.Store.AddShift(t.Context(), s.Edit(t, 0, c.day, c.times), roster.ShiftDraft)
			var overlap *db.OverlapError
			if errors.As(err, &overlap) != c.refused {
				t.Fatalf("adding %s answered %v, want refused: %v", c.times, err, c.refused)
			}
			if c.refused && (overlap.Other.ID != other.ID || overlap.Classroom.Name != "駅前教室") {
				t.Errorf("the refusal names shift %d at %s, want %d at 駅前教室", overlap.Other.ID, overlap.Classroom.Name, other.ID)
			}
		})
	}
}

func TestOverlapsOfDifferentTeachersAndDeletedShiftsAreFine(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.Confirm(t, 1, 8, "17:00-21:30")
	if _, err := s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 8, "17:00-21:30")
}

func TestAShiftsVersionGrowsWhenWhatItSaysChangesAndItsEditNumberAtEveryWrite(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := s.Draft(t, 0, 8, "17:00-21:30")
	step := func(name string, version, edit int64, f func() (roster.Shift, error)) {
		t.Helper()
		s.Clock.Advance(time.Minute)
		y, err := f()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if y.Version-x.Version != version || y.EditNumber-x.EditNumber != edit {
			t.Errorf("%s: version grew by %d and edit number by %d, want %d and %d", name, y.Version-x.Version, y.EditNumber-x.EditNumber, version, edit)
		}
		if moved := !y.ChangedAt.Equal(x.ChangedAt); moved != (version == 1) {
			t.Errorf("%s: changed instant moved: %v", name, moved)
		}
		x = y
	}
	change := func(edit db.ShiftEdit) func() (roster.Shift, error) {
		return func() (roster.Shift, error) { return s.Store.ChangeShift(ctx, x.ID, x.EditNumber, edit) }
	}
	move := func(to roster.ShiftState) func() (roster.Shift, error) {
		return func() (roster.Shift, error) { return s.Store.MoveShift(ctx, x.ID, x.EditNumber, to) }
	}
	e := s.Edit(t, 0, 8, "17:00-21:30")
	step("saved as it is", 0, 0, change(e))
	e.Note = "鍵を持参"
	step("the note alone", 0, 1, change(e))
	e.Times.Start += 60
	step("the time", 1, 1, change(e))
	e.ClassroomID = s.Classrooms[1].ID
	step("the classroom", 1, 1, change(e))
	e.TeacherID = s.Teachers[1].ID
	step("the teacher", 1, 1, change(e))
	step("confirmed", 1, 1, move(roster.ShiftConfirmed))
	step("back to draft", 1, 1, move(roster.ShiftDraft))
	step("deleted", 1, 1, move(roster.ShiftDeleted))
	if _, err := move(roster.ShiftConfirmed)(); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a deleted shift was moved: %v", err)
	}
}

func TestTwoAdminsNeverOverwriteEachOther(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Draft(t, 0, 8, "17:00-21:30")
	if _, err := s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 8, "18:00-21:30")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 8, "19:00-21:30")); !errors.Is(err, db.ErrEdited) {
		t.Errorf("the second of two edits of the same reading answered %v, want ErrEdited", err)
	}
	if _, err := s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted); !errors.Is(err, db.ErrEdited) {
		t.Errorf("deleting what was edited since answered %v, want ErrEdited", err)
	}
	got := dbtest.Must(s.Store.Shift(t.Context(), x.ID))(t)
	if got.Times.String() != "18:00–21:30" || got.State != roster.ShiftDraft {
		t.Errorf("the shift is %s %s, want the first edit", got.Times, got.State)
	}
}

func TestConfirmMonthConfirmsTheGroupsDraftsOnly(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Draft(t, 0, 8, "17:00-21:30")
	s.Draft(t, 2, 31, "17:00-21:30")
	s.Draft(t, 1, 32, "17:00-21:30") // 1 February
	s.Confirm(t, 1, 8, "17:00-21:30")
	n, err := s.Store.ConfirmMonth(t.Context(), s.Group.ID, s.Month)
	if err != nil || n != 2 {
		t.Fatalf("ConfirmMonth = %d, %v, want the month's 2 drafts", n, err)
	}
	v := dbtest.Must(s.Store.Month(t.Context(), s.Group.ID, s.Month))(t)
	if v.Drafts() != 0 || v.Confirmed() != 3 {
		t.Errorf("the month has %d drafts and %d confirmed, want 0 and 3", v.Drafts(), v.Confirmed())
	}
	next := dbtest.Must(s.Store.Month(t.Context(), s.Group.ID, s.Month.Add(1)))(t)
	if next.Drafts() != 1 {
		t.Errorf("the next month has %d drafts, want its 1", next.Drafts())
	}
}

func TestATeacherWhoLeftGetsNoNewShift(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	if err := s.Store.ArchiveTeacher(t.Context(), s.Teachers[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.AddShift(t.Context(), s.Edit(t, 0, 8, "17:00-21:30"), roster.ShiftDraft); !errors.Is(err, db.ErrTeacherArchived) {
		t.Errorf("AddShift for a teacher who left = %v, want ErrTeacherArchived", err)
	}
}
