package handlers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/ui"
)

// screen is an answer in HTML.
type screen struct {
	status   int             // 200 if 0
	page     views.Page      // without its frame, which render fills
	body     templ.Component // what stands inside the layout
	fragment templ.Component // what htmx gets alone; the body if nil
	layout   layout          // views.Layout if nil
}

// layout draws a page around its children.
type layout func(views.Page) templ.Component

// render draws a screen: the whole page, or its fragment when htmx asks for one. It draws into memory first, so that an
// error while drawing becomes an error page and not half a page.
func (s *Site) render(c echo.Context, v screen) error {
	r := c.Request()
	ctx := r.Context()
	h := c.Response().Header()
	for _, name := range []string{"Accept-Language", "HX-Request", "HX-Boosted", "HX-History-Restore-Request"} {
		h.Add("Vary", name)
	}
	var out templ.Component
	if wantsFragment(r) {
		out = v.fragment
		if out == nil {
			out = v.body
		}
	} else {
		var err error
		if v.page.Frame, err = s.frame(c); err != nil {
			return err
		}
		if v.layout == nil {
			v.layout = views.Layout
		}
		ctx = templ.WithChildren(ctx, v.body)
		out = v.layout(v.page)
	}
	var b bytes.Buffer
	if err := out.Render(ctx, &b); err != nil {
		return err
	}
	// Names and shifts: not for a shared computer's cache, nor for its back button after signing out.
	h.Set("Cache-Control", "no-store")
	if v.status == 0 {
		v.status = http.StatusOK
	}
	return c.HTMLBlob(v.status, b.Bytes())
}

// wantsFragment reports whether htmx asks for a part of a page: not when it follows an ordinary link, nor when it wants
// a page back that it left.
func wantsFragment(r *http.Request) bool {
	return byHTMX(r) && r.Header.Get("HX-Boosted") != "true" && r.Header.Get("HX-History-Restore-Request") != "true"
}

// byHTMX reports whether htmx sent the request.
func byHTMX(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// frame collects what stands around a page: for a visitor who is not signed in, next to nothing.
func (s *Site) frame(c echo.Context) (views.Frame, error) {
	r := c.Request()
	ctx := r.Context()
	f := views.Frame{Path: here(r)}
	admin, ok := auth.Admin(ctx)
	if !ok {
		return f, nil
	}
	f.Admin = admin.Name
	f.Month = s.today().MonthOf()
	groups, err := s.groupsInUse(ctx)
	if err != nil {
		return f, err
	}
	f.Groups = groups
	f.Group = s.presentGroup(c, groups)
	unfinished, err := s.store.UnfinishedDeliveries(ctx)
	if err != nil {
		return f, err
	}
	f.Failed = unfinished.States[roster.Failed]
	f.Flash = s.takeFlash(ctx)
	return f, nil
}

// groupsInUse lists the groups that are not archived.
func (s *Site) groupsInUse(ctx context.Context) ([]roster.Group, error) {
	groups, err := s.store.Groups(ctx)
	return slices.DeleteFunc(groups, func(g roster.Group) bool { return !g.ArchivedAt.IsZero() }), err
}

// What the session holds beside the admin.
const (
	keyGroup     = "group_id" // the group that was looked at last
	keyFlashKind = "flash_kind"
	keyFlashText = "flash_text"
)

// requestGroup is where a handler of a group's page leaves the group.
const requestGroup = "group"

// group reads the group that an address names and makes it the present one, which the bar shows from now on. The error
// is db.ErrNotFound.
func (s *Site) group(c echo.Context) (roster.Group, error) {
	groupID, err := idParam(c, "group")
	if err != nil {
		return roster.Group{}, err
	}
	ctx := c.Request().Context()
	g, err := s.store.Group(ctx, groupID)
	if err != nil {
		return g, err
	}
	if g.ArchivedAt.IsZero() {
		s.present(c, g)
	}
	return g, nil
}

// present makes a group the present one, which the bar shows from now on.
func (s *Site) present(c echo.Context, g roster.Group) {
	c.Set(requestGroup, g)
	ctx := c.Request().Context()
	if s.auth.Sessions.GetInt64(ctx, keyGroup) != g.ID {
		s.auth.Sessions.Put(ctx, keyGroup, g.ID)
	}
}

// presentGroup picks the group that the bar shows: the one the page is about, else the one looked at last, else the
// first.
func (s *Site) presentGroup(c echo.Context, groups []roster.Group) roster.Group {
	if g, ok := c.Get(requestGroup).(roster.Group); ok {
		return g
	}
	last := s.auth.Sessions.GetInt64(c.Request().Context(), keyGroup)
	for _, g := range groups {
		if g.ID == last {
			return g
		}
	}
	if len(groups) > 0 {
		return groups[0]
	}
	return roster.Group{}
}

// flash keeps a sentence about what was just done for the page that follows.
func (s *Site) flash(c echo.Context, kind ui.Kind, sentence string) {
	ctx := c.Request().Context()
	s.auth.Sessions.Put(ctx, keyFlashKind, string(kind))
	s.auth.Sessions.Put(ctx, keyFlashText, sentence)
}

func (s *Site) takeFlash(ctx context.Context) *ui.Flash {
	f := ui.Flash{Kind: ui.Kind(s.auth.Sessions.PopString(ctx, keyFlashKind)), Text: s.auth.Sessions.PopString(ctx, keyFlashText)}
	if f.Text == "" {
		return nil
	}
	return &f
}

// redirect leads on to a path of this site after something was done.
func redirect(c echo.Context, path string) error {
	if byHTMX(c.Request()) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// here is the address to come back to: that of the request if it can be asked for again, else that of the page it was
// sent from.
func here(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return localPath(r.URL.RequestURI())
	}
	return pageOf(r)
}

// pageOf is the address of the page that a request was sent from, "/" if it is not known or not ours.
func pageOf(r *http.Request) string {
	from := r.Header.Get("HX-Current-URL")
	if from == "" {
		from = r.Header.Get("Referer")
	}
	u, err := url.Parse(from)
	if err != nil || u.Host != r.Host {
		return "/"
	}
	return localPath(u.RequestURI())
}

// localPath returns a path of this site unchanged and "/" for everything else, such as an address that a browser would
// take for another host.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }) {
		return "/"
	}
	return path
}

// idParam reads an id of an address. The error is db.ErrNotFound: no thing has an address like that.
func idParam(c echo.Context, name string) (int64, error) {
	id, ok := parseID(c.Param(name))
	if !ok {
		return 0, errors.Join(db.ErrNotFound, errors.New("no id in the address"))
	}
	return id, nil
}
