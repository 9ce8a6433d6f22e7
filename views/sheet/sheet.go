// Package sheet draws the shift table that becomes the picture: for every page a standalone HTML document with its own
// style sheet, no script and no address of anything but fonts. The same sheet always gives the same bytes.
//
// Grids arranges a sheet into tables, days down and teachers across, without drawing anything; who shows the same month
// in another form takes it from there. The looks are in sheet.css, the words in the catalogs.
package sheet

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// A page is Width CSS pixels wide and meant to be drawn with Scale device pixels for each of them. Its height follows
// from its content.
const (
	Width = 1080
	Scale = 2
)

// MaxTeachers is how many teachers stand side by side on a page. An eighth column would leave 119 px each, too little
// for –翌1:00 and for four letters of a surname in the smallest size that is still read on a phone.
const MaxTeachers = 7

// maxListed is how many changes are spelled out below a table. Where there are more, the stars in the table must do.
const maxListed = 24

// css has no size under 31 px: on a phone the picture is shown at about a third, where that is 11 px.
//
//go:embed sheet.css
var css string

// Page is one page of a sheet.
type Page struct {
	Title string // the classroom, and which part of it if its teachers need several pages
	HTML  []byte // a whole document in UTF-8, Width CSS pixels wide
}

// Pages draws all pages of a sheet, at least one, in Japanese whatever the language of ctx is: the picture is the
// same for everybody. Instants are written as a clock in loc shows them. fontStyles is the address of a style sheet
// that defines static.FontFamilies; the document asks for nothing else.
//
// A page has at most MaxTeachers teachers. A classroom that needs several pages is split by teachers, and a page that
// would be too high for one picture by weeks. The error is that of Grids.
func Pages(ctx context.Context, s roster.Sheet, loc *time.Location, fontStyles string) ([]Page, error) {
	ctx = text.WithLanguage(ctx, text.Japanese)
	grids, err := PageGrids(s)
	if err != nil {
		return nil, err
	}
	var pages []Page
	for _, g := range grids {
		var html bytes.Buffer
		if err := document(page{g, s, loc}, fontStyles).Render(ctx, &html); err != nil {
			return nil, fmt.Errorf("draw page %d of the sheet of %s: %w", g.Page, g.Month, err)
		}
		pages = append(pages, Page{g.Title(ctx), html.Bytes()})
	}
	return pages, nil
}

// PageGrids returns the grids of the pages that Pages draws, in their order. The error is that of Grids.
func PageGrids(s roster.Sheet) ([]Grid, error) {
	grids, err := Grids(s, MaxTeachers)
	if err != nil {
		return nil, err
	}
	return splitHigh(grids), nil
}

// page is what the components draw from.
type page struct {
	Grid
	sheet roster.Sheet
	loc   *time.Location
}

// version is the text of the box: 第3版・更新.
func (p page) version(ctx context.Context) string {
	if p.sheet.Base != nil {
		return text.T(ctx, "sheet.version_update", "Number", p.sheet.Number)
	}
	return text.T(ctx, "sheet.version", "Number", p.sheet.Number)
}

// asOf says of when the table is, empty if nothing is known of it.
func (p page) asOf(ctx context.Context) string {
	if p.sheet.Snapshot.ChangedAt.IsZero() {
		return ""
	}
	return text.T(ctx, "sheet.as_of", "Moment", text.Moment(ctx, p.sheet.Snapshot.ChangedAt, p.loc))
}

// count says how many changes this page shows, and how many there are if other pages show others. It gives no number
// if nobody knows whether the earlier publication ever arrived.
func (p page) count(ctx context.Context) string {
	base, own, all := p.sheet.Base, len(p.Changes), len(p.sheet.Changes)
	switch {
	case base == nil:
		return ""
	case all == 0 || own == 0 && !base.Certain:
		return text.T(ctx, "sheet.count.none")
	case !base.Certain:
		return text.T(ctx, "sheet.count.some")
	}
	words := text.N(ctx, "sheet.count.exact", own)
	if own == 0 {
		words = text.T(ctx, "sheet.count.none")
	}
	if own != all {
		words += text.N(ctx, "sheet.count.all", all)
	}
	return words
}

// changesHeading is the line above the list of changes.
func (p page) changesHeading(ctx context.Context) string {
	on := roster.DateOf(p.sheet.Base.PublishedAt, p.loc)
	return text.T(ctx, "sheet.changes.heading", "Number", p.sheet.Base.Number, "Month", int(on.Month), "Day", on.Day)
}

func (p page) listed() []roster.Change { return p.Changes[:min(len(p.Changes), maxListed)] }

// place writes one side of a change: its time, and its classroom when that is what changed.
func place(ctx context.Context, c roster.Change, at roster.Place) string {
	if c.Kind == roster.ChangeMoved && !c.SamePlace {
		return text.T(ctx, "sheet.changes.place", "Classroom", at.Classroom.Name, "Range", text.Range(ctx, at.Times))
	}
	return text.Range(ctx, at.Times)
}

// headsAgain reports whether the names stand again above a row, from 0: above each Monday, unless the first names are
// still near.
func headsAgain(row int, d Day) bool { return d.Date.Weekday() == time.Monday && row > 3 }

// nights reports whether the page writes a time of the following day.
func (p page) nights() bool {
	for _, d := range p.Days {
		for _, c := range d.Cells {
			for _, e := range c {
				if e.Times.End.NextDay() {
					return true
				}
			}
		}
	}
	for _, c := range p.Changes {
		if c.Before != nil && c.Before.Times.End.NextDay() {
			return true
		}
	}
	return false
}

// rowClass has the classes of one day's row.
func rowClass(row int, d Day) string {
	class := "row " + map[roster.DayKind]string{
		roster.Weekday: "weekday", roster.Saturday: "saturday", roster.Sunday: "sunday", roster.HolidayDay: "holiday",
	}[d.Kind]
	if d.Date.Weekday() == time.Monday && row > 0 {
		class += " week"
	}
	if d.Empty() {
		class += " empty"
	}
	return class
}

// entryClass has the classes of one entry of a cell.
func entryClass(e Entry) string {
	switch {
	case e.Gone:
		return "entry marked gone"
	case e.Change != nil:
		return "entry marked"
	}
	return "entry"
}
