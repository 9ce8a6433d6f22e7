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

// evening is a time range for shifts and patterns that does not matter.
var evening = roster.TimeRange{Start: 17 * 60, End: 21*60 + 30}

func TestNamesInUseAreTakenAndArchivedOnesAreFree(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	group := func(name string) error {
		_, err := s.Store.CreateGroup(ctx, db.GroupEdit{Name: name, LeadMinutes: 60})
		return err
	}
	room := func(name string) error {
		_, err := s.Store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: s.Group.ID, Name: name, ShortName: "短"})
		return err
	}
	pattern := func(name string) error {
		_, err := s.Store.CreatePattern(ctx, db.PatternEdit{Name: name, Letter: "試", Times: evening})
		return err
	}
	if err := pattern("試験"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"group": group(s.Group.Name), "classroom": room(s.Classrooms[0].Name), "pattern": pattern("試験"),
		"edited group":     s.Store.EditGroup(ctx, dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "南", LeadMinutes: 60}))(t).ID, 1, db.GroupEdit{Name: s.Group.Name, LeadMinutes: 60}),
		"edited classroom": s.Store.EditClassroom(ctx, s.Classrooms[1].ID, s.Classrooms[1].EditNumber, db.ClassroomEdit{GroupID: s.Group.ID, Name: s.Classrooms[0].Name, ShortName: "短"}),
	} {
		if !errors.Is(err, db.ErrNameTaken) {
			t.Errorf("%s with a name in use: %v, want ErrNameTaken", what, err)
		}
	}
	patterns := dbtest.Must(s.Store.Patterns(ctx))(t)
	archived := patterns[slices.IndexFunc(patterns, func(p roster.Pattern) bool { return p.Name == "試験" })].ID
	if err := s.Store.ArchivePattern(ctx, archived); err != nil {
		t.Fatal(err)
	}
	if err := pattern("試験"); err != nil {
		t.Errorf("the name of an archived pattern: %v, want to be free", err)
	}
	if err := s.Store.RestorePattern(ctx, archived); !errors.Is(err, db.ErrNameTaken) {
		t.Errorf("bring back a pattern whose name was taken since: %v, want ErrNameTaken", err)
	}
	// Two teachers may well have one name.
	if _, err := s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: s.Teachers[0].Name}); err != nil {
		t.Errorf("second teacher of a name: %v", err)
	}
}

func TestAnEditNumberThatIsNotTheLatestChangesNothing(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	g := dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "南", LeadMinutes: 60}))(t)
	s.Clock.Advance(time.Minute)
	if err := s.Store.EditGroup(ctx, g.ID, g.EditNumber, db.GroupEdit{Name: "南口", LeadMinutes: 90}); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.EditGroup(ctx, g.ID, g.EditNumber, db.GroupEdit{Name: "みなみ", LeadMinutes: 30}); !errors.Is(err, db.ErrEdited) {
		t.Errorf("second edit with the same number: %v, want ErrEdited", err)
	}
	now := dbtest.Must(s.Store.Group(ctx, g.ID))(t)
	if now.Name != "南口" || now.LeadMinutes != 90 || now.EditNumber != g.EditNumber+1 || !now.UpdatedAt.Equal(s.Store.Now()) {
		t.Errorf("group is %+v", now)
	}
	if err := s.Store.ArchiveGroup(ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.EditGroup(ctx, g.ID, now.EditNumber+1, db.GroupEdit{Name: "みなみ", LeadMinutes: 30}); !errors.Is(err, db.ErrEdited) {
		t.Errorf("edit of an archived group: %v, want ErrEdited", err)
	}
	for what, err := range map[string]error{
		"group":     s.Store.EditGroup(ctx, 999, 1, db.GroupEdit{Name: "x", LeadMinutes: 60}),
		"classroom": s.Store.EditClassroom(ctx, 999, 1, db.ClassroomEdit{GroupID: s.Group.ID, Name: "x", ShortName: "x"}),
		"teacher":   s.Store.EditTeacher(ctx, 999, 1, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "x"}),
		"pattern":   s.Store.EditPattern(ctx, 999, 1, db.PatternEdit{Name: "x", Letter: "x", Times: evening}),
	} {
		if !errors.Is(err, db.ErrNotFound) {
			t.Errorf("edit of an unknown %s: %v, want ErrNotFound", what, err)
		}
	}
}

func TestArchivedThingsComeLastAndArchivingTwiceIsOnce(t *testing.T) {
	t.Parallel()
	store, clock := dbtest.Open(t)
	ctx := t.Context()
	first := dbtest.Must(store.CreateGroup(ctx, db.GroupEdit{Name: "北", LeadMinutes: 60}))(t)
	second := dbtest.Must(store.CreateGroup(ctx, db.GroupEdit{Name: "南", LeadMinutes: 60}))(t)
	for range 2 {
		if err := store.ArchiveGroup(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
	}
	groups := dbtest.Must(store.Groups(ctx))(t)
	if groups[0].ID != second.ID || groups[1].ID != first.ID || !groups[1].ArchivedAt.Equal(dbtest.Start) {
		t.Errorf("groups are %+v", groups)
	}
	for range 2 {
		if err := store.RestoreGroup(ctx, first.ID); err != nil {
			t.Fatal(err)
		}
	}
	if g := dbtest.Must(store.Group(ctx, first.ID))(t); !g.ArchivedAt.IsZero() || g.EditNumber != first.EditNumber+2 {
		t.Errorf("group is %+v, want in use and edited twice", g)
	}
}

func TestPositionLeftOpenIsTheLast(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	room := s.Classrooms[0].ID
	add := func(name string, position int) roster.Teacher {
		return dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room, Name: name, Position: position}))(t)
	}
	last := add("最後", 0)
	if err := s.Store.EditTeacher(ctx, last.ID, last.EditNumber, db.TeacherEdit{ClassroomID: room, Name: "先頭", Position: 1}); err != nil {
		t.Fatal(err)
	}
	add("末尾", 0)
	var names []string
	for _, v := range dbtest.Must(s.Store.Teachers(ctx))(t) {
		if v.ClassroomID == room {
			names = append(names, v.Name)
		}
	}
	// 佐藤 花子 has position 1 too; of equals the older one comes first.
	if want := []string{s.Teachers[0].Name, "先頭", s.Teachers[1].Name, "末尾"}; !slices.Equal(names, want) {
		t.Errorf("teachers are %v, want %v", names, want)
	}
}

func TestNothingBelongsToWhatIsArchived(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	g := dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "南", LeadMinutes: 60}))(t)
	room := dbtest.Must(s.Store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: "南教室", ShortName: "南"}))(t)
	v := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room.ID, Name: "南 一"}))(t)
	for _, err := range []error{s.Store.ArchiveTeacher(ctx, v.ID), s.Store.ArchiveClassroom(ctx, room.ID), s.Store.ArchiveGroup(ctx, g.ID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, newRoom := s.Store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: "新教室", ShortName: "新"})
	_, newTeacher := s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room.ID, Name: "新 人"})
	for what, err := range map[string]error{
		"new classroom":      newRoom,
		"new teacher":        newTeacher,
		"moved classroom":    s.Store.EditClassroom(ctx, s.Classrooms[0].ID, s.Classrooms[0].EditNumber, db.ClassroomEdit{GroupID: g.ID, Name: "x", ShortName: "x"}),
		"moved teacher":      s.Store.EditTeacher(ctx, s.Teachers[0].ID, s.Teachers[0].EditNumber, db.TeacherEdit{ClassroomID: room.ID, Name: "x"}),
		"restored classroom": s.Store.RestoreClassroom(ctx, room.ID),
		"restored teacher":   s.Store.RestoreTeacher(ctx, v.ID),
	} {
		if !errors.Is(err, db.ErrParent) {
			t.Errorf("%s: %v, want ErrParent", what, err)
		}
	}
}

func TestWhatIsStillNeededIsNotArchived(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	var use *db.InUseError
	if err := s.Store.ArchiveGroup(ctx, s.Group.ID); !errors.As(err, &use) || use.Classrooms != 2 {
		t.Errorf("group with classrooms: %v", err)
	}
	if err := s.Store.ArchiveClassroom(ctx, s.Classrooms[0].ID); !errors.As(err, &use) || use.Teachers != 2 {
		t.Errorf("classroom with teachers: %v", err)
	}
	deleted := s.Confirm(t, 0, 20, "17:00-21:30")
	if _, err := s.Store.MoveShift(ctx, deleted.ID, deleted.EditNumber, roster.ShiftDeleted); err != nil {
		t.Fatal(err)
	}
	s.Draft(t, 0, 12, "17:00-21:30")
	s.Confirm(t, 0, 14, "17:00-21:30")
	if err := s.Store.ArchiveTeacher(ctx, s.Teachers[0].ID); !errors.As(err, &use) || use.Shifts != 2 || use.FirstOn != (roster.Date{Year: 2027, Month: time.January, Day: 12}) {
		t.Errorf("teacher with two shifts ahead: %v", err)
	}
	if v := dbtest.Must(s.Store.Teacher(ctx, s.Teachers[0].ID))(t); !v.Active() {
		t.Error("the teacher was archived all the same")
	}
}

func TestShiftThatRunsPastMidnightIsAheadUntilItEnds(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	s.Confirm(t, 0, 8, "22:00-25:00")
	at := func(day, hour, minute, second int) {
		s.Clock.Advance(time.Date(2027, 1, day, hour, minute, second, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	}
	var use *db.InUseError
	for _, moment := range [][4]int{{8, 21, 0, 0}, {8, 23, 59, 59}, {9, 0, 0, 0}, {9, 0, 59, 59}} {
		at(moment[0], moment[1], moment[2], moment[3])
		if err := s.Store.ArchiveTeacher(ctx, s.Teachers[0].ID); !errors.As(err, &use) || use.Shifts != 1 {
			t.Fatalf("at %v: %v, want the shift to stand in the way", moment, err)
		}
	}
	at(9, 1, 0, 0)
	if err := s.Store.ArchiveTeacher(ctx, s.Teachers[0].ID); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
