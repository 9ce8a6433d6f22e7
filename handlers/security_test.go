package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
)

// publicRoutes are the routes that anybody may ask. A new one must be named here on purpose.
var publicRoutes = []string{
	"GET /healthz",
	"GET /static/*",
	"POST /language",
	"GET /session/new",
	"POST /session",
	"DELETE /session",
	"GET /sign-in-links/:token",
	"POST /sign-in-links/:token",
	"POST /webhook/line",
	"GET /liff",
	"GET /liff/*",
}

func TestEveryRouteButThePublicOnesTurnsStrangersAway(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	sc := ts.school()
	found := 0
	for _, r := range ts.site.echo.Routes() {
		name := strings.Replace(r.Method, "HEAD", "GET", 1) + " " + r.Path
		if slices.Contains(publicRoutes, name) {
			found++
			continue
		}
		path := r.Path
		for strings.Contains(path, ":") {
			from := strings.Index(path, ":")
			to := strings.Index(path[from:]+"/", "/") + from
			path = path[:from] + "1" + path[to:]
		}
		a := ts.send(r.Method, path, nil)
		location := a.header.Get("Location")
		toSignIn := a.status == http.StatusSeeOther && (location == "/session/new" || strings.HasPrefix(location, "/session/new?"))
		if !toSignIn && a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
			t.Errorf("%s answers a stranger with %d %s", name, a.status, location)
		}
		a.lacks(sc.group.Name, sc.classroom.Name, sc.teacher.Name)
	}
	if found < len(publicRoutes) {
		t.Errorf("only %d of the public routes exist", found)
	}
}

func TestPublicPagesNameNobody(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	sc := ts.school()
	for _, path := range []string{"/session/new", "/sign-in-links/x", "/nothing/at/all", "/healthz"} {
		ts.get(path).lacks(sc.group.Name, sc.classroom.Name, sc.teacher.Name, "見本 室長")
	}
}

func TestOtherSitesCannotMakeABrowserChangeAnything(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	form := fields("name", "よその教室", "lead_minutes", "120")
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		ts.post("/groups", form, headers...).wantStatus(http.StatusForbidden).
			contains("ほかのサイトからの操作は受け付けません", "何も変わっていません").lacks("evil.example")
	}
	groups, err := ts.store.Groups(t.Context())
	if err != nil || len(groups) != 0 {
		t.Errorf("groups: %v, %v, want none", groups, err)
	}
	ts.get("/groups", "Sec-Fetch-Site", "cross-site").wantStatus(http.StatusOK)
}

func TestPagesCarryTheHeadersThatProtectThem(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	for _, path := range []string{"/settings", "/session/new", "/nothing"} {
		h := ts.get(path).header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
		if path != "/session/new" && h.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s may be kept: %q", path, h.Get("Cache-Control"))
		}
	}
}

func TestFormOfThreeMegabytesIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	form := fields("name", strings.Repeat("あ", 1<<20), "lead_minutes", "120").Encode()
	const kind = "application/x-www-form-urlencoded"
	for name, body := range map[string]*bytes.Reader{"declared": bytes.NewReader([]byte(form))} {
		t.Run(name, func(t *testing.T) {
			ts.send(http.MethodPost, "/groups", body, "Content-Type", kind).wantStatus(http.StatusRequestEntityTooLarge).
				contains("送られた内容が大きすぎます", "1MBまで")
		})
	}
	t.Run("of unknown length", func(t *testing.T) {
		ts.send(http.MethodPost, "/groups", struct{ *bytes.Reader }{bytes.NewReader([]byte(form))}, "Content-Type", kind).
			wantStatus(http.StatusRequestEntityTooLarge).contains("送られた内容が大きすぎます")
	})
	groups, err := ts.store.Groups(t.Context())
	if err != nil || len(groups) != 0 {
		t.Errorf("groups: %v, %v, want none", groups, err)
	}
}

func TestUnknownAddressesGetThePageThatSaysSo(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.school()
	for _, path := range []string{
		"/nothing", "/groups/999", "/groups/0", "/groups/-1", "/groups/abc", "/groups/99999999999999999999", "/groups/01/edit", "/groups/999/edit",
		"/classrooms/999/edit", "/teachers/999/edit", "/teachers/%E3%81%82/edit", "/patterns/999/edit",
	} {
		ts.get(path).wantStatus(http.StatusNotFound).contains("このページは見つかりません", "駅前・本町グループ").lacks("問い合わせ番号")
	}
	for _, path := range []string{"/groups/999", "/classrooms/999", "/teachers/999", "/patterns/999"} {
		ts.put(path, fields("edit_number", "1", "name", "x")).wantStatus(http.StatusNotFound)
		ts.post(path+"/archive", nil).wantStatus(http.StatusNotFound)
		ts.del(path + "/archive").wantStatus(http.StatusNotFound)
	}
	ts.another().get("/nothing").wantStatus(http.StatusNotFound).contains("このページは見つかりません").lacks("駅前・本町グループ", `class="places"`)
}

func TestWrongMethodsGetAPageThatSaysSo(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.post("/settings", nil).wantStatus(http.StatusMethodNotAllowed).contains("この操作はできません")
	ts.post("/groups", fields("_method", "TRACE")).wantStatus(http.StatusBadRequest).contains("読み取れませんでした")
	ts.send(http.MethodPost, "/groups", strings.NewReader("name=%zz"), "Content-Type", "application/x-www-form-urlencoded").
		wantStatus(http.StatusBadRequest).contains("読み取れませんでした")
	ts.send(http.MethodHead, "/settings", nil).wantStatus(http.StatusOK)
}

func TestErrorsAreToldPlainlyAndLoggedWholly(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.site.echo.GET("/broken", func(echo.Context) error {
		return fmt.Errorf("read month 2027-01: %w", errors.New("disk I/O error"))
	})
	ts.site.echo.GET("/panics", func(echo.Context) error { panic("index out of range") })
	for path, cause := range map[string]string{"/broken": "read month 2027-01: disk I/O error", "/panics": "index out of range"} {
		a := ts.get(path).wantStatus(http.StatusInternalServerError).contains("処理できませんでした", "問い合わせ番号").lacks(cause, "disk", "goroutine")
		id := a.header.Get(requestIDHeader)
		if id == "" {
			t.Errorf("GET %s: no request id", path)
		}
		a.contains(id)
		if log := ts.log.String(); !strings.Contains(log, cause) || !strings.Contains(log, id) {
			t.Errorf("GET %s: cause or id is missing in the log\n%s", path, log)
		}
		ts.get(path, "HX-Request", "true").wantStatus(http.StatusInternalServerError).contains(`role="alert"`, "処理できませんでした").lacks("<html", "<main")
	}
}

func TestErrorPageNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	if err := ts.store.Close(); err != nil {
		t.Fatal(err)
	}
	ts.get("/settings").wantStatus(http.StatusSeeOther) // nobody has a cookie: nothing to look up
	ts.send(http.MethodGet, "/settings", nil, "Cookie", "shiftpost_session=x").wantStatus(http.StatusInternalServerError).
		contains("処理できませんでした", "問い合わせ番号")
	ts.get("/healthz").wantStatus(http.StatusInternalServerError)
}

func TestAddressesThatAreSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.get("/sign-in-links/topsecret").wantStatus(http.StatusGone)
	if log := ts.log.String(); strings.Contains(log, "topsecret") || !strings.Contains(log, "/sign-in-links/:token") {
		t.Errorf("the log has the token or not the route:\n%s", log)
	}
}

func TestEachErrorHasItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
	}{
		{db.ErrNotFound, 404},
		{fmt.Errorf("teacher 7: %w", db.ErrNotFound), 404},
		{echo.ErrNotFound, 404},
		{fmt.Errorf("wrapped: %w", echo.ErrMethodNotAllowed), 405},
		{echo.ErrUnsupportedMediaType, 415},
		{fmt.Errorf("read form: %w", &http.MaxBytesError{Limit: 1}), 413},
		{fmt.Errorf("%w: x", errBadRequest), 400},
		{fmt.Errorf("%w: x", errOtherSite), 403},
		{&panicError{value: "x"}, 500},
		{errors.New("disk full"), 500},
		{context.DeadlineExceeded, 500},
	} {
		if got := problemOf(c.err); got.status != c.status {
			t.Errorf("%v: status %d, want %d", c.err, got.status, c.status)
		}
	}
}

func TestVisitorWhoLeftGetsNoErrorPage(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ctx, cancel := context.WithCancel(t.Context())
	ts.site.echo.GET("/slow", func(c echo.Context) error {
		cancel()
		return fmt.Errorf("query: %w", c.Request().Context().Err())
	})
	w := httptest.NewRecorder()
	ts.site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/slow", nil).WithContext(ctx))
	if w.Body.Len() > 0 || strings.Contains(ts.log.String(), "level=ERROR") {
		t.Errorf("body %q, log %s", w.Body, ts.log)
	}
}
