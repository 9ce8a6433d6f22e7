package roster_test

import (
	"testing"
	"time"

	"shiftpost/db/roster"
)

var tokyo = func() *time.Location {
	loc, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		panic(err)
	}
	return loc
}()

// work is a shift of classroom 1 on a day of January 2027, from an hour for four hours.
func work(day, hour int) roster.Work {
	return roster.Work{ClassroomID: 1, Date: roster.Date{Year: 2027, Month: 1, Day: day}, Times: roster.TimeRange{Start: roster.Minutes(hour * 60), End: roster.Minutes(hour*60 + 240)}}
}

func TestWhatAPersonNeedsToBeToldFollowsFromWhatTheyWereToldAndWhatIsSo(t *testing.T) {
	t.Parallel()
	off := func(c roster.Certainty) roster.Told { return roster.Told{Canceled: true, Certainty: c} }
	on := func(c roster.Certainty, day, hour int) roster.Told {
		return roster.Told{Work: work(day, hour), Certainty: c}
	}
	for _, c := range []struct {
		name     string
		clock    string // of 8 January
		present  roster.Work
		theirs   bool
		told     []roster.Told
		others   []roster.Work // further confirmed shifts of theirs
		reminded bool
		answered bool
		kind     roster.DeliveryKind
		deadline string
	}{
		{name: "nothing told, before the window", clock: "14:44", present: work(8, 17), theirs: true},
		{name: "nothing told, inside the window", clock: "14:45", present: work(8, 17), theirs: true, kind: roster.ShiftReminder, deadline: "17:00"},
		{name: "nothing told, begun", clock: "17:00", present: work(8, 17), theirs: true},
		{name: "reminded already", clock: "15:00", present: work(8, 17), theirs: true, reminded: true},
		{name: "not theirs and nothing told", clock: "15:00", present: work(8, 17)},
		{name: "told and so", clock: "15:00", present: work(8, 17), theirs: true, reminded: true, told: []roster.Told{on(roster.Sure, 8, 17)}},
		{name: "told another time", clock: "15:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Sure, 8, 17)}, kind: roster.ShiftCorrection, deadline: "17:00"},
		{name: "maybe told another time", clock: "15:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Maybe, 8, 17)}, kind: roster.ShiftCorrection, deadline: "17:00"},
		{name: "one of two told is not so", clock: "15:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Maybe, 8, 17), on(roster.Maybe, 8, 18)}, kind: roster.ShiftCorrection, deadline: "17:00"},
		{name: "told start past, present ahead", clock: "17:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Sure, 8, 17)}, kind: roster.ShiftCorrection, deadline: "18:00"},
		{name: "present start past, told ahead", clock: "17:00", present: work(8, 16), theirs: true, told: []roster.Told{on(roster.Sure, 8, 18)}, kind: roster.ShiftCorrection, deadline: "18:00"},
		{name: "both past", clock: "18:00", present: work(8, 17), theirs: true, told: []roster.Told{on(roster.Sure, 8, 18)}},
		{name: "told and no longer theirs", clock: "15:00", present: work(8, 17), told: []roster.Told{on(roster.Sure, 8, 17)}, kind: roster.ShiftCancellation, deadline: "17:00"},
		{name: "told, begun and no longer theirs", clock: "17:00", present: work(8, 17), told: []roster.Told{on(roster.Sure, 8, 17)}},
		{name: "told off and not theirs", clock: "15:00", present: work(8, 17), told: []roster.Told{off(roster.Sure)}},
		{name: "told off and theirs", clock: "10:00", present: work(8, 17), theirs: true, told: []roster.Told{off(roster.Sure)}, kind: roster.ShiftCorrection, deadline: "17:00"},
		{name: "told off, theirs and begun", clock: "17:00", present: work(8, 17), theirs: true, told: []roster.Told{off(roster.Sure)}},
		{name: "deleted and entered anew", clock: "15:00", present: work(8, 17), told: []roster.Told{on(roster.Sure, 8, 17)}, others: []roster.Work{work(8, 17)}},
		{name: "another shift of the day", clock: "15:00", present: work(8, 17), told: []roster.Told{on(roster.Sure, 8, 17)}, others: []roster.Work{work(8, 9)}, kind: roster.ShiftCancellation, deadline: "17:00"},
		{name: "the correction failed, outside the window", clock: "10:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Sure, 8, 17)}, answered: true},
		{name: "the correction failed, inside the window", clock: "16:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Sure, 8, 17)}, answered: true, kind: roster.ShiftReminder, deadline: "17:00"},
		{name: "the correction failed inside the window", clock: "16:00", present: work(8, 18), theirs: true, told: []roster.Told{on(roster.Sure, 8, 17)}, answered: true, reminded: true},
		{name: "the cancellation failed", clock: "16:00", present: work(8, 17), told: []roster.Told{on(roster.Sure, 8, 17)}, answered: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			moment := func(clock string) time.Time {
				if clock == "" {
					return time.Time{}
				}
				at, err := time.ParseInLocation("2006-01-02 15:04", "2027-01-08 "+clock, tokyo)
				if err != nil {
					t.Fatal(err)
				}
				return at.UTC()
			}
			st := roster.Standing{Shift: roster.Shift{ClassroomID: 1, Date: c.present.Date, Times: c.present.Times}, LeadMinutes: 120, Theirs: c.theirs, Told: c.told, Works: c.others, Reminded: c.reminded, Answered: c.answered}
			if c.theirs {
				st.Works = append(st.Works, c.present)
			}
			kind, deadline := st.Need(moment(c.clock), tokyo)
			if kind != c.kind || !deadline.Equal(moment(c.deadline)) {
				t.Errorf("they need %q until %s, want %q until %s", kind, deadline.In(tokyo), c.kind, moment(c.deadline).In(tokyo))
			}
		})
	}
}

func TestWhoCannotBeTold(t *testing.T) {
	t.Parallel()
	left := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		teacher roster.Teacher
		kind    roster.DeliveryKind
		want    roster.Code
	}{
		{"linked and on", roster.Teacher{LINEUserID: "U", NoticesOn: true}, roster.ShiftReminder, ""},
		{"blocked", roster.Teacher{LINEUserID: "U", NoticesOn: true, Blocked: true}, roster.ShiftReminder, ""},
		{"not linked", roster.Teacher{NoticesOn: true}, roster.ShiftReminder, roster.CodeTeacherUnlinked},
		{"off", roster.Teacher{LINEUserID: "U"}, roster.ShiftCorrection, roster.CodeLINEDisabled},
		{"left", roster.Teacher{LINEUserID: "U", NoticesOn: true, ArchivedAt: left}, roster.ShiftReminder, roster.CodeTeacherInactive},
		{"left, but it is off for them", roster.Teacher{LINEUserID: "U", NoticesOn: true, ArchivedAt: left}, roster.ShiftCancellation, ""},
	} {
		if got := roster.CannotTell(c.teacher, c.kind); got != c.want {
			t.Errorf("%s: a %s cannot be told for %q, want %q", c.name, c.kind, got, c.want)
		}
	}
}
