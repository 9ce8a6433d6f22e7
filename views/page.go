// Package views draws the screens of the admin site as templ components. A component takes values of the domain
// (db/roster) and of views/ui, never a store or a request; every sentence comes from views/text in the language of
// the context.
//
// A page is its layout (Layout or Bare) around one component. What htmx replaces alone is a component of its own with
// a stable id.
package views

import (
	"context"
	"encoding/json"
	"strconv"

	"shiftpost/db/roster"
	"shiftpost/static"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// Place is one of the places named in the bar. To add one, add a constant and a line in places.
type Place string

// The places, in the order of the bar.
const (
	PlaceHome       Place = "home"
	PlaceMonth      Place = "month"
	PlacePublish    Place = "publish"
	PlaceDeliveries Place = "deliveries"
	PlaceTeachers   Place = "teachers"
	PlaceSettings   Place = "settings"
)

// Page is what the layout needs to know of the page inside it.
type Page struct {
	Title   string       // the page's own words; the layout adds the product's name
	Place   Place        // empty for pages outside of all places
	Wide    bool         // use the whole window: the month's grid
	Invalid bool         // a form on it has errors, which the title then says
	Styles  []string     // style sheets of its own, named as in package static
	Scripts []string     // scripts of its own, likewise
	Month   roster.Month // the month the page is about; zero for the present one
	Frame   Frame
}

// Frame is what stands around every page whatever it is about. The handlers fill it from the request.
type Frame struct {
	Admin  string         // the name of the admin who is signed in; empty for nobody
	Groups []roster.Group // that can be switched to
	Group  roster.Group   // the present one; zero while there is none
	Month  roster.Month   // the present month of the school
	Failed int            // failed deliveries that somebody must look at
	Flash  *ui.Flash      // what was just done
	Path   string         // of this page, to come back to it after a change of language
}

// place is a place as the bar draws it.
type place struct {
	Label   string
	Href    string
	Current bool
	Count   int
}

// places lists the bar's places. Those of a group are left out while there is none.
func (p Page) places(ctx context.Context) []place {
	month := p.Frame.Month
	if p.Month != (roster.Month{}) {
		month = p.Month
	}
	var list []place
	add := func(at Place, href string, count int) {
		list = append(list, place{text.T(ctx, "site.places."+string(at)), href, p.Place == at, count})
	}
	if g := p.Frame.Group; g.ID != 0 {
		add(PlaceHome, HomePath, 0)
		add(PlaceMonth, MonthPath(g.ID, month), 0)
		add(PlacePublish, GroupPublicationsPath(g.ID), 0)
		add(PlaceDeliveries, "/deliveries", p.Frame.Failed)
	}
	add(PlaceTeachers, "/teachers", 0)
	add(PlaceSettings, "/settings", 0)
	return list
}

// groupPath leads to another group, on the home page to its home.
func (p Page) groupPath(groupID int64) string {
	if p.Place == PlaceHome {
		return HomePath + "?group=" + itoa(groupID)
	}
	return "/groups/" + itoa(groupID)
}

// MonthPath is the address of a group's month.
func MonthPath(groupID int64, m roster.Month) string {
	return "/groups/" + strconv.FormatInt(groupID, 10) + "/months/" + m.String()
}

// title is the page's whole title: エラー first, so that a screen reader says it before anything else.
func (p Page) title(ctx context.Context) string {
	t := p.Title + " - Shiftpost"
	if p.Invalid {
		t = text.T(ctx, "site.title_error", "Title", t)
	}
	return t
}

// otherLanguage is what the language switch leads to.
func otherLanguage(ctx context.Context) text.Language {
	if text.LanguageOf(ctx) == text.Japanese {
		return text.English
	}
	return text.Japanese
}

// languageNames are written in the language itself, whatever the page speaks.
var languageNames = map[text.Language]string{text.Japanese: "日本語", text.English: "English"}

// htmxConfig is the setting of htmx as the meta element takes it. It makes nothing that the content security policy
// forbids (evaluated code, inline styles), keeps no page in the browser's storage, shows a form that was refused (422)
// or overtaken (409) in its place, and any other error above the page's content.
func htmxConfig() string {
	b, err := json.Marshal(map[string]any{
		"allowEval":                 false,
		"allowScriptTags":           false,
		"includeIndicatorStyles":    false,
		"selfRequestsOnly":          true,
		"historyCacheSize":          0,
		"refreshOnHistoryMiss":      true,
		"historyRestoreAsHxRequest": false,
		"scrollBehavior":            "auto",
		"responseHandling": []map[string]any{
			{"code": "204", "swap": false},
			{"code": "[23]..", "swap": true},
			{"code": "409|422", "swap": true},
			{"code": "...", "swap": true, "error": true, "target": "#alerts", "swapOverride": "innerHTML"},
		},
	})
	if err != nil {
		panic(err) // a constant
	}
	return string(b)
}

// styleSheets lists the addresses of the page's style sheets.
func (p Page) styleSheets() []string {
	urls := []string{static.URL("fonts.css"), static.URL("app.css")}
	for _, name := range p.Styles {
		urls = append(urls, static.URL(name))
	}
	return urls
}

// ProblemText is an error as the admin reads it.
type ProblemText struct {
	Title     string
	Help      string
	RequestID string // empty where the log has nothing to add
}
