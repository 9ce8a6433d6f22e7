package main

import (
	"context"
	"errors"
	"fmt"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

const schoolZone = "Asia/Tokyo"

// Every shift of a run is on one day, today, and begins between firstStart and lastStart. The clock of a run begins at
// runStart of that day. Most groups have a lead of a day, so that a reminder is due as soon as a shift is entered; in one
// group of four it falls due while the run goes on, the last one before allDue, when the run ends. So no shift begins
// before that, and no picture looks a day old, whose file has the machine's time.
const (
	runStart   roster.Minutes = 5
	allDue     roster.Minutes = 9 * 60
	firstStart roster.Minutes = 14 * 60
	lastStart  roster.Minutes = 19*60 - 1
	firstEnd   roster.Minutes = 19 * 60
	lastEnd    roster.Minutes = 24*60 - 1

	shortLead = 10 * 60 // minutes
)

// boardMonths are the months of each group that are published: none is near enough for a notice.
const boardMonths = 11

func lineUserID(n int) string  { return fmt.Sprintf("U%032x", n) }
func lineGroupID(n int) string { return fmt.Sprintf("C%032x", n) }

// fillSchool makes groups with one classroom each, as many teachers as are asked for, and for each group one teacher
// more for the months that are published. One job in a hundred cannot be written, now and later.
func fillSchool(ctx context.Context, o db.Options, sim *linesim.Simulator, groups, teachers int) (people []*person, boards []*board, err error) {
	store, err := db.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	day := roster.DateOf(store.Now(), store.Location())
	addTeacher := func(classroomID int64) (roster.Teacher, string, error) {
		n := len(people) + len(boards)/boardMonths + 1
		lineID := sim.AddUser(linesim.User{ID: lineUserID(n), Name: fmt.Sprintf("講師%d", n), Friend: true}).ID
		t, err := store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: classroomID, Name: fmt.Sprintf("講師%d", n), NoticesOn: true})
		if err != nil {
			return t, "", err
		}
		return t, lineID, store.LinkTeacher(ctx, t.ID, lineID)
	}
	for i := range groups {
		lead := roster.MaxLeadMinutes
		if i%4 == 3 {
			lead = shortLead
		}
		g, err := store.CreateGroup(ctx, db.GroupEdit{Name: fmt.Sprintf("グループ%d", i+1), LeadMinutes: lead})
		if err != nil {
			return nil, nil, err
		}
		room, err := store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: fmt.Sprintf("教室%d", i+1), ShortName: fmt.Sprint(i + 1)})
		if err != nil {
			return nil, nil, err
		}
		t, lineID, err := addTeacher(room.ID)
		if err != nil {
			return nil, nil, err
		}
		group := sim.AddGroup(linesim.Group{ID: lineGroupID(i + 1), Name: g.Name, Members: []string{lineID}, BotIn: true})
		if err := store.LinkGroup(ctx, g.ID, group.ID, group.Name, len(group.Members)); err != nil {
			return nil, nil, err
		}
		for m := range boardMonths {
			boards = append(boards, &board{groupID: g.ID, teacherID: t.ID, classroomID: room.ID, lineID: group.ID, month: day.MonthOf().Add(m + 1)})
		}
		for range (teachers + groups - 1 - i) / groups {
			t, lineID, err := addTeacher(room.ID)
			if err != nil {
				return nil, nil, err
			}
			people = append(people, &person{teacherID: t.ID, classroomID: room.ID, groupID: g.ID, lineID: lineID, classroom: room.Name, day: day, wentBack: map[roster.TimeRange]bool{}})
		}
	}
	_, err = store.SessionDB().ExecContext(ctx, `CREATE TRIGGER chaos BEFORE INSERT ON jobs WHEN abs(random() % 100) = 0 BEGIN SELECT RAISE(ABORT, 'chaos'); END`)
	return people, boards, err
}
