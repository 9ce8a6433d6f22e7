package roster

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// The data is that of the npm package @holiday-jp/holiday_jp 2.5.1 (MIT, © 2016 holiday-jp; its licence lies beside
// it), reduced to the years a roster can have: https://github.com/holiday-jp/holiday_jp
//
//go:embed holidays/holidays.json
var holidayData []byte

var holidays = readHolidays()

func readHolidays() map[string][2]string {
	var m map[string][2]string
	if err := json.Unmarshal(holidayData, &m); err != nil {
		panic(fmt.Sprintf("embedded holidays: %v", err))
	}
	return m
}

// Holiday is a national holiday of Japan.
type Holiday struct {
	Japanese string
	English  string
}

// HolidayOn returns the national holiday on d, and false if there is none.
func HolidayOn(d Date) (Holiday, bool) {
	h, ok := holidays[d.String()]
	return Holiday{h[0], h[1]}, ok
}

// DayKind says how a day is coloured and marked.
type DayKind int

// The kinds of days. A holiday counts before the weekday it falls on.
const (
	Weekday DayKind = iota
	Saturday
	Sunday
	HolidayDay
)

// KindOf returns the kind of d.
func KindOf(d Date) DayKind {
	if _, ok := HolidayOn(d); ok {
		return HolidayDay
	}
	switch d.Weekday() {
	case 6:
		return Saturday
	case 0:
		return Sunday
	}
	return Weekday
}
