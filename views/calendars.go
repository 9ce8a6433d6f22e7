package views

import (
	"context"
	"fmt"
	"time"

	ics "github.com/arran4/golang-ical"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// calendarRefresh is how often a program that subscribed should ask again, an ISO 8601 duration. Programs treat it as a
// wish.
const calendarRefresh = "PT1H"

// Calendar writes all shifts of a teacher as an iCalendar document (RFC 5545), times in UTC. Host names the site in the
// entries' identifiers, which stay the same from one reading to the next, so that a changed shift moves instead of
// appearing twice.
func Calendar(ctx context.Context, c roster.Calendar, host string, loc *time.Location) []byte {
	k := newCalendar()
	k.SetXWRCalName(text.T(ctx, "viewer.calendar.name", "Name", c.Teacher.Name))
	k.SetXWRTimezone(loc.String())
	k.SetRefreshInterval(calendarRefresh)
	k.SetXPublishedTTL(calendarRefresh)
	for _, x := range c.Shifts {
		addShift(ctx, k, x, host, loc)
	}
	return serialize(k)
}

// ShiftCalendar writes one shift as an iCalendar document.
func ShiftCalendar(ctx context.Context, x roster.CalendarShift, host string, loc *time.Location) []byte {
	k := newCalendar()
	addShift(ctx, k, x, host, loc)
	return serialize(k)
}

// serialize writes a calendar with lines that end in CR LF (RFC 5545, section 3.1); the library's default is LF.
func serialize(k *ics.Calendar) []byte { return []byte(k.Serialize(ics.WithNewLine("\r\n"))) }

// ShiftCalendarName is the name of a calendar file with one shift.
func ShiftCalendarName(ctx context.Context, x roster.CalendarShift) string {
	return fileName(text.T(ctx, "viewer.calendar.file", "Date", x.Date)) + ".ics"
}

func newCalendar() *ics.Calendar {
	k := ics.NewCalendar()
	k.SetProductId("-//Shiftpost//Shiftpost//EN")
	k.SetMethod(ics.MethodPublish)
	return k
}

func addShift(ctx context.Context, k *ics.Calendar, x roster.CalendarShift, host string, loc *time.Location) {
	e := k.AddEvent(fmt.Sprintf("shift-%d@%s", x.ID, host))
	e.SetSequence(int(x.Revision))
	e.SetDtStampTime(x.RevisedAt)
	e.SetModifiedAt(x.RevisedAt)
	e.SetStartAt(x.Start(loc))
	e.SetEndAt(x.End(loc))
	e.SetSummary(text.T(ctx, "viewer.calendar.event", "Classroom", x.Classroom))
	e.SetLocation(x.Classroom)
	e.SetStatus(ics.ObjectStatusConfirmed)
}
