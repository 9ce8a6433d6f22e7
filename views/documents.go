package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/sheet"
	"shiftpost/views/text"
)

// DocumentPage is what the viewer shows of a publication. NewDocumentPage makes one.
type DocumentPage struct {
	Document roster.Document
	Teacher  roster.Teacher // zero when an admin looks
	Grids    []sheet.Grid   // the frozen table, a page per classroom, the teacher's own column first
	Base     string         // what the address of a document begins with, a slash at its end
	Next     *OwnShift      // the shift that runs or comes next; nil if none is left
	Ahead    []OwnShift     // of the document's month, not over yet
	Over     []OwnShift     // of the document's month, over
	Coming   []OwnShift     // of every published month, not over yet and not taken away
	// Overtaken says that a confirmation was not noted, because the shifts had changed since the page was shown.
	Overtaken bool
	// ShiftCalendar gives the address of a calendar file with one shift.
	ShiftCalendar func(shiftID int64) string
	now           time.Time
	loc           *time.Location
}

// OwnShift is a line among a teacher's own shifts.
type OwnShift struct {
	ShiftID   int64 // 0 if Gone
	Date      roster.Date
	Times     roster.TimeRange
	Classroom string
	Change    *roster.Change // what happened to it since the newest publication; nil for nothing
	Gone      bool           // it was taken away since; Times and Classroom are what it was
	News      *roster.Change // of what the reader has still to confirm; nil for nothing, and where Change says more
}

// NewDocumentPage arranges a document for a teacher, zero for an admin, as it looks at an instant on a clock in loc.
// The error is that of sheet.Grids.
func NewDocumentPage(d roster.Document, teacher roster.Teacher, now time.Time, loc *time.Location) (DocumentPage, error) {
	p := DocumentPage{Document: d, Teacher: teacher, now: now, loc: loc}
	var err error
	if p.Grids, err = sheet.Grids(d.Publication.Sheet, 0); err != nil {
		return p, fmt.Errorf("arrange publication %d: %w", d.Publication.ID, err)
	}
	if teacher.ID == 0 {
		return p, nil
	}
	for i := range p.Grids {
		ownFirst(&p.Grids[i], teacher.ID)
	}
	var all []OwnShift
	for _, m := range d.Own {
		all = append(all, ownShifts(m)...)
	}
	slices.SortStableFunc(all, func(a, b OwnShift) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Times.Start, b.Times.Start))
	})
	for _, x := range all {
		over := !roster.Instant(x.Date, x.Times.End, loc).After(now)
		if p.confirmable() && x.Change == nil {
			x.News = newsOf(x, p.changes())
		}
		if !over && !x.Gone {
			p.Coming = append(p.Coming, x)
		}
		switch {
		case !d.Publication.Month.Contains(x.Date):
		case over:
			p.Over = append(p.Over, x)
		default:
			p.Ahead = append(p.Ahead, x)
		}
	}
	if len(p.Coming) > 0 {
		p.Next = &p.Coming[0]
	}
	return p, nil
}

// ownShifts lists a month's live shifts with what changed since its newest publication, and those taken away since.
func ownShifts(m roster.OwnMonth) []OwnShift {
	var list []OwnShift
	for _, x := range m.Live.Shifts {
		list = append(list, OwnShift{ShiftID: x.ShiftID, Date: x.Date, Times: x.Times, Classroom: m.Live.ClassroomName(x.ClassroomID)})
	}
	for _, c := range m.Changes {
		if c.After == nil {
			list = append(list, OwnShift{Date: c.Date, Times: c.Before.Times, Classroom: c.Before.Classroom.Name, Change: &c, Gone: true})
			continue
		}
		i := slices.IndexFunc(list, func(x OwnShift) bool {
			return !x.Gone && x.Change == nil && x.Date == c.Date && x.Times == c.After.Times && x.Classroom == c.After.Classroom.Name
		})
		if i >= 0 {
			list[i].Change = &c
		}
	}
	return list
}

// newsOf finds the change that made a shift what it is, nil if none did.
func newsOf(x OwnShift, changes []roster.Change) *roster.Change {
	for _, c := range changes {
		if c.After != nil && c.Date == x.Date && c.After.Times == x.Times && c.After.Classroom.Name == x.Classroom {
			return &c
		}
	}
	return nil
}

// ownFirst moves a teacher's column to the front of a grid that has it, where a phone shows it without moving the
// table.
func ownFirst(g *sheet.Grid, teacherID int64) {
	i := slices.IndexFunc(g.Teachers, func(t roster.Named) bool { return t.ID == teacherID })
	if i <= 0 {
		return
	}
	g.Teachers = toFront(g.Teachers, i)
	g.Days = slices.Clone(g.Days)
	for d := range g.Days {
		g.Days[d].Cells = toFront(g.Days[d].Cells, i)
	}
}

// toFront returns a copy of a list with element i before all others.
func toFront[T any](list []T, i int) []T {
	front := append(make([]T, 0, len(list)), list[i])
	front = append(front, list[:i]...)
	return append(front, list[i+1:]...)
}

// Title is the page's title.
func (p DocumentPage) Title(ctx context.Context) string {
	return text.T(ctx, "sheet.title", "Month", text.Month(ctx, p.Document.Publication.Month))
}

func (p DocumentPage) version(ctx context.Context) string {
	if p.Document.Publication.Sheet.Base != nil {
		return text.T(ctx, "sheet.version_update", "Number", p.Document.Publication.Number)
	}
	return text.T(ctx, "sheet.version", "Number", p.Document.Publication.Number)
}

func (p DocumentPage) own() bool { return p.Teacher.ID != 0 }

// confirmable reports whether the reader is asked to confirm: a teacher, of the newest publication.
func (p DocumentPage) confirmable() bool { return p.own() && !p.Document.Outdated() }

func (p DocumentPage) confirmed() bool { return p.Document.Receipt.Confirmed(p.Document.Live) }

// stale reports whether the reader confirmed this publication and their shifts changed since.
func (p DocumentPage) stale() bool { return !p.Document.Receipt.ConfirmedAt.IsZero() && !p.confirmed() }

// changes are those of the reader's own shifts since they last confirmed; of who never did, those that the publication
// itself brought.
func (p DocumentPage) changes() []roster.Change {
	if c := p.Document.LastConfirmed; c != nil {
		return c.Changes
	}
	var own []roster.Change
	for _, c := range p.Document.Publication.Sheet.Changes {
		if c.Teacher.ID == p.Teacher.ID {
			own = append(own, c)
		}
	}
	return own
}

// changesSince says what the changes are measured from.
func (p DocumentPage) changesSince(ctx context.Context) string {
	c := p.Document.LastConfirmed
	switch {
	case c == nil:
		return text.T(ctx, "viewer.changes.since_version", "Number", p.Document.Publication.Sheet.Base.Number)
	case c.Number == p.Document.Publication.Number:
		return text.T(ctx, "viewer.changes.since_moment", "Moment", text.Moment(ctx, c.At, p.loc))
	}
	return text.T(ctx, "viewer.changes.since_confirmed", "Number", c.Number)
}

// receiptHelp says below the button what pressing it confirms.
func (p DocumentPage) receiptHelp(ctx context.Context) string {
	pub := p.Document.Publication
	moment := text.Moment(ctx, pub.PublishedAt, p.loc)
	c, n := p.Document.LastConfirmed, len(p.changes())
	switch {
	case p.stale():
		return text.T(ctx, "viewer.receipt.stale")
	case n > 0:
		return text.N(ctx, "viewer.receipt.help_changes", n, "Number", pub.Number, "Moment", moment)
	case c != nil:
		return text.T(ctx, "viewer.receipt.same", "Number", c.Number)
	}
	return text.T(ctx, "viewer.receipt.help", "Number", pub.Number, "Moment", moment)
}

// confirmedAt writes when the reader confirmed, without the day if it was today.
func (p DocumentPage) confirmedAt(ctx context.Context) string {
	at := p.Document.Receipt.ConfirmedAt
	if roster.DateOf(at, p.loc) == p.today() {
		return text.Clock(at, p.loc)
	}
	return text.Moment(ctx, at, p.loc)
}

// changedSince reports whether any of the teacher's shifts of the document's month differs from what was published
// last.
func (p DocumentPage) changedSince() bool {
	changed := func(x OwnShift) bool { return x.Change != nil }
	return slices.ContainsFunc(p.Ahead, changed) || slices.ContainsFunc(p.Over, changed)
}

// day writes the day of the next shift, with a word if it is near.
func (p DocumentPage) day(ctx context.Context, d roster.Date) string {
	today := roster.DateOf(p.now, p.loc)
	switch d {
	case today:
		return text.T(ctx, "viewer.next.today", "Date", text.LongDate(ctx, d))
	case today.AddDays(1):
		return text.T(ctx, "viewer.next.tomorrow", "Date", text.LongDate(ctx, d))
	}
	return text.LongDate(ctx, d)
}

// minutesLeft is how long it is until the next shift begins, rounded up; 0 or less while it runs.
func (p DocumentPage) minutesLeft() int {
	left := roster.Instant(p.Next.Date, p.Next.Times.Start, p.loc).Sub(p.now)
	return int((left + time.Minute - 1) / time.Minute)
}

// documentCountdown is the span in words until the next shift begins; the script counts on from it.
func documentCountdown(ctx context.Context, minutes int) string {
	if minutes < 60 {
		return text.T(ctx, "viewer.next.minutes", "Minutes", minutes)
	}
	return text.T(ctx, "viewer.next.hours", "Hours", minutes/60, "Minutes", minutes%60)
}

// path is the address of a document in the viewer.
func (p DocumentPage) path(documentID string) string { return p.Base + documentID }

// linkPath is the address of the page about the reader's link.
func (p DocumentPage) linkPath() string { return strings.TrimSuffix(p.Base, "documents/") + "link" }

// imagePath is the address of a page's picture.
func (p DocumentPage) imagePath(i roster.Image) string {
	return "/viewer/documents/" + p.Document.Publication.DocumentID + "/pages/" + strconv.Itoa(i.Page)
}

// CalendarPanel is what the viewer says about the teacher's calendar.
type CalendarPanel struct {
	Exists  bool   // there is an address
	Address string // https://…; only right after it was made, since it cannot be told again
	WebCal  string // the same for programs that subscribe: webcal://…
}

// PageFileName is the name under which a page's picture is kept: 2027年1月_シフト表_第3版_駅前教室.png.
func PageFileName(ctx context.Context, p roster.Publication, i roster.Image) string {
	return fileName(text.T(ctx, "viewer.file", "Month", text.Month(ctx, p.Month), "Number", p.Number, "Title", i.Title)) + ".png"
}

// fileName replaces what file systems, or people's shells, take for more than a letter.
func fileName(words string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		if r == ' ' {
			return '_'
		}
		return r
	}, words)
}

// documentDayClass colours a day by its kind.
func documentDayClass(k roster.DayKind) string {
	switch k {
	case roster.Saturday:
		return "saturday"
	case roster.Sunday, roster.HolidayDay:
		return "sunday"
	}
	return ""
}

// documentHoliday is the name of a national holiday in the language of the reader.
func documentHoliday(ctx context.Context, h roster.Holiday) string {
	if text.LanguageOf(ctx) == text.English {
		return h.English
	}
	return h.Japanese
}

func (p DocumentPage) today() roster.Date { return roster.DateOf(p.now, p.loc) }

// documentRow has the classes of a day's row of the table.
func documentRow(d sheet.Day, p DocumentPage) string {
	class := "grid-row"
	if k := documentDayClass(d.Kind); k != "" {
		class += " grid-" + k
	}
	if d.Date.Before(p.today()) {
		class += " grid-past"
	}
	return class
}
