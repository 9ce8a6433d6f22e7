package linesim

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// formAction keeps the choice of the person looking in a form's address.
func formAction(path string, c choice) templ.SafeURL {
	if _, query, ok := strings.Cut(c.url(), "?"); ok {
		return templ.SafeURL(path + "?" + query)
	}
	return templ.SafeURL(path)
}

// tapURL opens a button's address as a user of the phone.
func tapURL(uri, as string) templ.SafeURL {
	return templ.SafeURL("/sim/open?" + url.Values{"as": {as}, "uri": {uri}}.Encode())
}

// dayName is the line between two days of a chat.
func dayName(ctx context.Context, at, now time.Time) string {
	d, today := roster.DateOf(at, japan), roster.DateOf(now, japan)
	if d == today {
		return text.T(ctx, "linesim.today")
	}
	if d.Year != today.Year {
		return text.Date(ctx, d)
	}
	return text.LongDate(ctx, d)
}

// agendaTime is a time of day, with the date when it is not today.
func agendaTime(ctx context.Context, at, now time.Time) string {
	if roster.DateOf(at, japan) == roster.DateOf(now, japan) {
		return text.ClockSeconds(at, japan)
	}
	return text.ShortDate(ctx, roster.DateOf(at, japan)) + " " + text.Clock(at, japan)
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// shortKey is enough of a retry key to see that two are the same.
func shortKey(k string) string {
	if len(k) < 12 {
		return k
	}
	return k[:4] + "…" + k[len(k)-2:]
}

// pretty indents JSON; other bodies are shown as they are.
func pretty(b []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, b, "", "  ") != nil {
		return strings.ToValidUTF8(string(b), "�")
	}
	return out.String()
}

func joined(types []string) string {
	if len(types) == 0 {
		return "—"
	}
	return strings.Join(types, ", ")
}

// endpointKey spells an endpoint as part of a catalog's key.
func endpointKey(endpoint string) string {
	if endpoint == "" {
		return "unknown"
	}
	return strings.ReplaceAll(endpoint, " ", "_")
}

// share is the part of the month's messages that is used, in percent, at most 100.
func (v screen) share() int {
	if v.Used >= v.Limit {
		return 100
	}
	return v.Used * 100 / v.Limit
}

func allOver(fs []faultRow) bool {
	for _, f := range fs {
		if !f.over() {
			return false
		}
	}
	return true
}

// where says which requests a fault is about.
func (f faultRow) where(ctx context.Context) string {
	if f.webhook() {
		return text.T(ctx, "linesim.faults.webhooks")
	}
	if f.Kind == FaultDown || f.Endpoint == "" && f.To == "" {
		return text.T(ctx, "linesim.target.everything")
	}
	what := text.T(ctx, "linesim.target.everything")
	if f.Endpoint != "" {
		what = text.T(ctx, "linesim.endpoint."+endpointKey(f.Endpoint))
	}
	switch {
	case f.To == ToGroups:
		return text.T(ctx, "linesim.target.to_groups", "Call", what)
	case f.To == ToUsers:
		return text.T(ctx, "linesim.target.to_users", "Call", what)
	case f.ToName != "":
		return text.T(ctx, "linesim.target.to", "Call", what, "Name", f.ToName)
	default:
		return what
	}
}

// progress says how far a fault has come.
func (f faultRow) progress(ctx context.Context) string {
	switch {
	case f.over():
		return text.N(ctx, "linesim.faults.done", f.Taken)
	case f.Skip > 0:
		return text.N(ctx, "linesim.faults.skips", f.Skip)
	case f.Count > 0:
		return text.N(ctx, "linesim.faults.left", f.Left)
	default:
		return text.N(ctx, "linesim.faults.endless", f.Taken)
	}
}

// faultTargets are the calls and recipients a fault can be aimed at, the usual ones first.
func faultTargets(ctx context.Context, v screen) []ui.Option {
	push := text.T(ctx, "linesim.endpoint.push")
	os := []ui.Option{
		{Value: "push|groups", Label: text.T(ctx, "linesim.target.to_groups", "Call", push)},
		{Value: "push|users", Label: text.T(ctx, "linesim.target.to_users", "Call", push)},
		{Value: "push|", Label: text.T(ctx, "linesim.target.to_all", "Call", push)},
	}
	for _, g := range v.Groups {
		os = append(os, ui.Option{Value: "push|" + g.ID, Label: text.T(ctx, "linesim.target.to", "Call", push, "Name", g.Name)})
	}
	for _, u := range v.Recipients {
		os = append(os, ui.Option{Value: "push|" + u.ID, Label: text.T(ctx, "linesim.target.to", "Call", push, "Name", u.Name)})
	}
	for _, e := range []string{"reply", "verify", "bot info", "quota", "consumption", "profile", "group summary", "group member count"} {
		os = append(os, ui.Option{Value: e + "|", Label: text.T(ctx, "linesim.endpoint."+endpointKey(e))})
	}
	return append(os, ui.Option{Value: "|", Label: text.T(ctx, "linesim.target.everything")})
}

// faultStarts are the choices of the request with which a fault begins.
func faultStarts(ctx context.Context) []ui.Option {
	os := []ui.Option{{Value: "0", Label: text.T(ctx, "linesim.faults.from_next")}}
	for n := 1; n <= 4; n++ {
		os = append(os, ui.Option{Value: strconv.Itoa(n), Label: text.N(ctx, "linesim.faults.from_nth", n+1)})
	}
	return os
}
