package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// form reads the fields of a posted form and collects what is wrong with them, in the order they are read. The field's
// name is also its id on the page.
type form struct {
	ctx    context.Context
	values url.Values
	errors ui.Errors
}

// readForm reads what was posted. The error is errBadRequest, or an *http.MaxBytesError.
func readForm(c echo.Context) (*form, error) {
	r := c.Request()
	// ParseForm does not read the body of a DELETE, but overrideMethod has done so while it was a POST.
	if err := parseForm(r); err != nil {
		return nil, err
	}
	return &form{ctx: r.Context(), values: r.PostForm}, nil
}

// ok reports whether nothing is wrong so far.
func (f *form) ok() bool { return len(f.errors) == 0 }

// refuse notes a message for a field, as a whole sentence.
func (f *form) refuse(field, sentence string) { f.errors.Add(field, sentence) }

// text returns a field of one line: spaces around it gone, any white space within, full-width too, one space, and no
// characters that cannot be seen.
func (f *form) text(field string) string { return oneLine(f.values.Get(field)) }

// oneLine is what form.text makes of what was typed.
func oneLine(typed string) string {
	s := strings.ToValidUTF8(typed, "")
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.Is(unicode.C, r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// required returns a field of one line that must have between 1 and most characters. Label is what the form calls it.
func (f *form) required(field, label string, most int) string {
	s := f.text(field)
	switch {
	case s == "":
		f.refuse(field, text.T(f.ctx, "forms.required", "Label", label))
	case utf8.RuneCountInString(s) > most:
		f.refuse(field, text.N(f.ctx, "forms.too_long", most, "Label", label))
	}
	return s
}

// number returns a whole number between least and most. Full-width digits count.
func (f *form) number(field, label string, least, most int) int {
	n, err := strconv.Atoi(strings.Map(halfWidth, f.text(field)))
	if err != nil || n < least || n > most {
		f.refuse(field, text.T(f.ctx, "forms.number", "Label", label, "Least", least, "Most", most))
		return 0
	}
	return n
}

// optionalNumber is number for a field that may be left empty, which is 0.
func (f *form) optionalNumber(field, label string, least, most int) int {
	if f.text(field) == "" {
		return 0
	}
	return f.number(field, label, least, most)
}

// count returns a number that a hidden field sent, -1 if it is none.
func (f *form) count(field string) int {
	n, err := strconv.Atoi(f.values.Get(field))
	if err != nil {
		return -1
	}
	return n
}

// times returns a time range as people type it: 17:00–21:30, 22-25.
func (f *form) times(field, label string) roster.TimeRange {
	typed := f.text(field)
	if typed == "" {
		f.refuse(field, text.T(f.ctx, "forms.required", "Label", label))
		return roster.TimeRange{}
	}
	r, err := roster.ParseTimeRange(typed)
	switch {
	case err == nil:
	case errors.Is(err, roster.ErrRangeMinute):
		f.refuse(field, text.T(f.ctx, "forms.range_minute"))
	case errors.Is(err, roster.ErrRangeOrder):
		f.refuse(field, text.T(f.ctx, "forms.range_order"))
	case errors.Is(err, roster.ErrRangeLate):
		f.refuse(field, text.T(f.ctx, "forms.range_late"))
	default:
		f.refuse(field, text.T(f.ctx, "forms.range_form"))
	}
	return r
}

// id returns the id that a select or a hidden field sent, 0 if none was chosen.
func (f *form) id(field string) int64 {
	id, _ := parseID(f.values.Get(field))
	return id
}

// checked reports whether a checkbox was checked.
func (f *form) checked(field string) bool { return f.values.Get(field) != "" }

// editNumber returns the edit number that the form was filled with. The error is errBadRequest: every form has it.
func (f *form) editNumber() (int64, error) {
	n, ok := parseID(f.values.Get("edit_number"))
	if !ok {
		return 0, fmt.Errorf("%w: no edit number", errBadRequest)
	}
	return n, nil
}

// parseID reads a positive decimal number without sign or leading zeros.
func parseID(s string) (int64, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id > 0 && s[0] != '+' && s[0] != '0'
}

func halfWidth(r rune) rune {
	if r >= '０' && r <= '９' {
		return r - '０' + '0'
	}
	return r
}
