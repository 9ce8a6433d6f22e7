package roster_test

import (
	"testing"
	"time"

	"shiftpost/db/roster"
)

func TestAReminderIsAsFarAsItsNewestNotice(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	at := func(hour, minute int) time.Time { return time.Date(2027, 1, 8, hour, minute, 0, 0, zone).UTC() }
	day := roster.Date{Year: 2027, Month: 1, Day: 8}
	linked := roster.Teacher{ID: 1, LINEUserID: "U", NoticesOn: true}
	notice := func(id int64, state roster.DeliveryState, code roster.Code, created time.Time) roster.ReminderNotice {
		return roster.ReminderNotice{Delivery: roster.Delivery{ID: id, State: state, Code: code, CreatedAt: created, FinishedAt: created.Add(time.Minute), NextAttemptAt: created}}
	}
	for name, c := range map[string]struct {
		start   roster.Minutes // 17:00 if 0
		now     time.Time      // 14:32 if zero
		teacher roster.Teacher // linked if zero
		notices []roster.ReminderNotice
		want    roster.Reminder
	}{
		"planned for the quarter hour in which it falls due":   {want: roster.Reminder{State: roster.ReminderPlanned, At: at(14, 45)}},
		"planned for the next quarter hour after it falls due": {start: 17*60 + 10, want: roster.Reminder{State: roster.ReminderPlanned, At: at(15, 0)}},
		"due by now and made by the next pass":                 {now: at(14, 46), want: roster.Reminder{State: roster.ReminderPlanned, At: at(15, 0)}},
		"waiting":                                              {notices: []roster.ReminderNotice{notice(1, roster.Queued, "", at(14, 45))}, want: roster.Reminder{State: roster.ReminderQueued, At: at(14, 45), DeliveryID: 1}},
		"without a job":                                        {notices: []roster.ReminderNotice{notice(1, roster.Pending, roster.CodeEnqueueFailed, at(14, 45))}, want: roster.Reminder{State: roster.ReminderPending, At: at(14, 45), DeliveryID: 1}},
		"a correction waits":                                   {notices: []roster.ReminderNotice{notice(2, roster.Processing, "", at(14, 50)), notice(1, roster.Sent, "", at(14, 45))}, want: roster.Reminder{State: roster.ReminderProcessing, At: at(14, 50), DeliveryID: 2}},
		"sent":                                                 {notices: []roster.ReminderNotice{notice(1, roster.Sent, "", at(14, 45))}, want: roster.Reminder{State: roster.ReminderSent, At: at(14, 46), DeliveryID: 1}},
		"sent to one who blocks":                               {teacher: roster.Teacher{LINEUserID: "U", NoticesOn: true, Blocked: true}, notices: []roster.ReminderNotice{notice(1, roster.Sent, "", at(14, 45))}, want: roster.Reminder{State: roster.ReminderDoubtful, At: at(14, 46), DeliveryID: 1}},
		"failed":                                               {notices: []roster.ReminderNotice{notice(1, roster.Failed, "HTTP_400", at(14, 45))}, want: roster.Reminder{State: roster.ReminderFailed, DeliveryID: 1}},
		"a correction of this morning is no reminder":          {notices: []roster.ReminderNotice{notice(1, roster.Sent, "", at(9, 0))}, want: roster.Reminder{State: roster.ReminderPlanned, At: at(14, 45)}},
		"called off":                                           {notices: []roster.ReminderNotice{notice(1, roster.Canceled, roster.CodeCanceledByAdmin, at(14, 45))}, want: roster.Reminder{State: roster.ReminderCalledOff, DeliveryID: 1}},
		"not linked":                                           {teacher: roster.Teacher{NoticesOn: true}, want: roster.Reminder{State: roster.ReminderCannot, Code: roster.CodeTeacherUnlinked}},
		"switched off":                                         {teacher: roster.Teacher{LINEUserID: "U"}, want: roster.Reminder{State: roster.ReminderCannot, Code: roster.CodeLINEDisabled}},
		"linked after it could not be sent":                    {notices: []roster.ReminderNotice{notice(1, roster.Canceled, roster.CodeTeacherUnlinked, at(14, 45))}, want: roster.Reminder{State: roster.ReminderPlanned, At: at(14, 45)}},
		"the shift began before it went":                       {now: at(17, 1), notices: []roster.ReminderNotice{notice(1, roster.Canceled, roster.CodeShiftStarted, at(14, 45))}, want: roster.Reminder{State: roster.ReminderMissed, DeliveryID: 1}},
		"the shift began and it was not needed":                {now: at(17, 1), notices: []roster.ReminderNotice{notice(1, roster.Canceled, roster.CodeShiftChanged, at(14, 45))}, want: roster.Reminder{State: roster.ReminderNone}},
		"it could not be sent then": {now: at(17, 1), notices: []roster.ReminderNotice{notice(1, roster.Canceled, roster.CodeLINEDisabled, at(14, 45))},
			want: roster.Reminder{State: roster.ReminderCannot, Code: roster.CodeLINEDisabled, DeliveryID: 1}},
		"what cannot be sent now does not matter once the shift began": {now: at(17, 1), teacher: roster.Teacher{LINEUserID: "U"}, want: roster.Reminder{State: roster.ReminderNone}},
		"the shift began and there was none":                           {now: at(17, 1), want: roster.Reminder{State: roster.ReminderNone}},
	} {
		if c.start == 0 {
			c.start = 17 * 60
		}
		if c.now.IsZero() {
			c.now = at(14, 32)
		}
		if c.teacher == (roster.Teacher{}) {
			c.teacher = linked
		}
		st := roster.Standing{LeadMinutes: 120, Shift: roster.Shift{Date: day, Times: roster.TimeRange{Start: c.start, End: 21 * 60}}}
		if got := roster.ReminderOf(st, c.teacher, c.notices, c.now, zone); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestThePageMovesWhileSomethingIsOnItsWayOrDueToday(t *testing.T) {
	t.Parallel()
	day := roster.Date{Year: 2027, Month: 1, Day: 8}
	noon := time.Date(2027, 1, 8, 12, 0, 0, 0, time.UTC)
	with := func(on roster.Date, start, end roster.Minutes, r roster.Reminder) roster.Home {
		return roster.Home{At: noon, Days: []roster.HomeDay{{Date: day, Shifts: []roster.HomeShift{{Shift: roster.Shift{Date: on, Times: roster.TimeRange{Start: start, End: end}}, Reminder: r}}}}}
	}
	for name, c := range map[string]struct {
		home roster.Home
		want bool
	}{
		"nothing at all":                {roster.Home{At: noon}, false},
		"a delivery is on its way":      {roster.Home{At: noon, Live: true}, true},
		"a shift of today runs":         {with(day, 600, 780, roster.Reminder{State: roster.ReminderSent}), true},
		"a shift of today is over":      {with(day, 600, 700, roster.Reminder{State: roster.ReminderSent}), false},
		"a reminder is due today":       {with(day.AddDays(1), 600, 780, roster.Reminder{State: roster.ReminderPlanned, At: noon.Add(time.Hour)}), true},
		"reminders are due on tomorrow": {with(day.AddDays(1), 600, 780, roster.Reminder{State: roster.ReminderPlanned, At: noon.Add(20 * time.Hour)}), false},
	} {
		if got := c.home.Moving(time.UTC); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
