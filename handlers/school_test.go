package handlers

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/render"
)

// schoolSite is a site of a small school, with its admin signed in.
type schoolSite struct {
	*testSite
	*dbtest.School
	files *files.Store
	dir   string // of the files
	woken atomic.Int32
	drawn atomic.Int32 // pictures that the renderer was asked for
}

// counted counts what a renderer is asked for.
type counted struct {
	Renderer
	n *atomic.Int32
}

func (c counted) PNG(ctx context.Context, p render.Page) (render.Image, error) {
	c.n.Add(1)
	return c.Renderer.PNG(ctx, p)
}

// newSchool serves a school. Its pictures are drawn by the given renderer, or by the one the tests share.
func newSchool(t *testing.T, renderers ...Renderer) *schoolSite {
	t.Helper()
	s := &schoolSite{School: dbtest.NewSchool(t), dir: filepath.Join(t.TempDir(), "images")}
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	a := auth.New(auth.Options{Store: s.Store, Clock: s.Clock, BaseURL: "http://127.0.0.1", Logger: logger})
	t.Cleanup(a.Close)
	s.files = dbtest.Must(files.Open(s.dir))(t)
	t.Cleanup(func() { _ = s.files.Close() })
	s.testSite = &testSite{T: t, store: s.Store, clock: s.Clock, admin: s.Admin, log: log}
	s.site = New(Options{
		Store: s.Store, Auth: a, Files: s.files, Renderer: counted{s.renderer(t, renderers), &s.drawn}, Wake: func() { s.woken.Add(1) },
		Clock: s.Clock, Location: dbtest.Tokyo, BaseURL: "http://127.0.0.1", Logger: logger,
	})
	server := httptest.NewServer(s.site)
	t.Cleanup(server.Close)
	s.browser = newBrowser(t, server.URL)
	s.signIn()
	return s
}

func (s *schoolSite) renderer(t *testing.T, given []Renderer) Renderer {
	t.Helper()
	if len(given) > 0 {
		return given[0]
	}
	return lazyDrawer{}
}

// lazyDrawer is the shared renderer, not started before somebody draws.
type lazyDrawer struct{}

func (lazyDrawer) PNG(ctx context.Context, p render.Page) (render.Image, error) {
	r, err := drawer()
	if err != nil {
		return render.Image{}, err
	}
	return r.PNG(ctx, p)
}

// ownDrawer is a real renderer with settings of its own.
func ownDrawer(t *testing.T, o render.Options) Renderer {
	t.Helper()
	o.TempDir = filepath.Join(t.TempDir(), "chrome")
	r := dbtest.Must(render.New(o))(t)
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// month is the address of the school's month.
func (s *schoolSite) month() string {
	return "/groups/" + itoa(s.Group.ID) + "/months/" + s.Month.String()
}

// day is a day of the school's month.
func (s *schoolSite) day(n int) string { return s.Month.First().AddDays(n - 1).String() }

// shift is a shift as it is stored now.
func (s *schoolSite) shift(id int64) roster.Shift {
	s.Helper()
	return dbtest.Must(s.Store.Shift(s.Context(), id))(s)
}

// shifts are all of the month that are not deleted.
func (s *schoolSite) shifts() []roster.Shift {
	s.Helper()
	return dbtest.Must(s.Store.Month(s.Context(), s.Group.ID, s.Month))(s).Shifts
}

// elsewhere adds another group with a classroom and a teacher.
func (s *schoolSite) elsewhere() (roster.Group, roster.Classroom, roster.Teacher) {
	s.Helper()
	ctx := s.Context()
	g := dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "港グループ", LeadMinutes: 120}))(s)
	c := dbtest.Must(s.Store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: g.ID, Name: "港教室", ShortName: "港"}))(s)
	t := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: c.ID, Name: "森 渚"}))(s)
	return g, c, t
}

// pattern adds the pattern 夕, 17:00–21:30.
func (s *schoolSite) pattern() roster.Pattern {
	s.Helper()
	return dbtest.Must(s.Store.CreatePattern(s.Context(), db.PatternEdit{Name: "夕番", Letter: "夕", Times: roster.TimeRange{Start: 17 * 60, End: 21*60 + 30}}))(s)
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }

// byHTMX has the headers that make a request one of htmx, sent from the page of the month.
func (s *schoolSite) byHTMX() []string {
	return []string{"HX-Request", "true", "HX-Current-URL", s.base + s.month()}
}
