package sheet

import (
	"time"
	"unicode/utf8"

	"shiftpost/db/roster"
)

// maxHeight is the height in CSS pixels, as Grid.height estimates it, up to which a page is one picture. The renderer
// refuses more than 40 megapixels, which is 9,259 CSS pixels at this width and scale; the rest is room for what the
// estimate leaves out, such as a classroom's name of several lines.
const maxHeight = 7600

// splitHigh cuts every grid that would be higher than maxHeight into as few pages as possible, each of whole weeks.
func splitHigh(grids []Grid) []Grid {
	var all []Grid
	for _, g := range grids {
		all = append(all, g.splitHigh()...)
	}
	number(all)
	return all
}

func (g Grid) splitHigh() []Grid {
	weeks := weeksOf(g.Days)
	for parts := 1; ; parts++ {
		var pages []Grid
		fits := true
		for _, some := range divide(weeks, parts) {
			p := g.between(some[0], some[len(some)-1])
			fits = fits && p.height() <= maxHeight
			pages = append(pages, p)
		}
		if fits || parts == len(weeks) {
			return pages
		}
	}
}

// weeksOf cuts days before every Monday.
func weeksOf(days []Day) [][]Day {
	var weeks [][]Day
	from := 0
	for i, d := range days {
		if i > 0 && d.Date.Weekday() == time.Monday {
			weeks = append(weeks, days[from:i])
			from = i
		}
	}
	return append(weeks, days[from:])
}

// between returns the part of the grid from the first day of one week to the last day of another.
func (g Grid) between(first, last []Day) Grid {
	from, to := first[0].Date, last[len(last)-1].Date
	inside := func(d roster.Date) bool { return !d.Before(from) && !to.Before(d) }
	part := g
	part.Days, part.Changes = nil, nil
	for _, d := range g.Days {
		if inside(d.Date) {
			part.Days = append(part.Days, d)
		}
	}
	for _, c := range g.Changes {
		if inside(c.Date) {
			part.Changes = append(part.Changes, c)
		}
	}
	return part
}

// height is about how high the page will be, in CSS pixels. The figures are those of sheet.css, for columns of the
// smallest width.
func (g Grid) height() int {
	const around, emptyRow, band, plain, marked, listHead, listLine = 380, 53, 47, 81, 122, 90, 62
	heads := 0
	for _, t := range g.Teachers {
		lines := 0
		for _, part := range roster.NameLines(t.Name) {
			lines += (utf8.RuneCountInString(part) + 3) / 4
		}
		heads = max(heads, 11+36*max(lines, 2))
	}
	sum := around + heads
	for row, d := range g.Days {
		if headsAgain(row, d) {
			sum += heads
		}
		highest := emptyRow
		for _, c := range d.Cells {
			cell := 0
			for _, e := range c {
				if e.Change == nil {
					cell += plain
				} else {
					cell += marked
				}
			}
			highest = max(highest, cell)
		}
		if d.Kind == roster.HolidayDay {
			highest += band
		}
		sum += highest
	}
	if len(g.Changes) > 0 {
		sum += listHead
	}
	for _, c := range g.Changes[:min(len(g.Changes), maxListed)] {
		sum += listLine
		if c.Kind == roster.ChangeMoved && !c.SamePlace {
			sum += listLine
		}
	}
	return sum
}
