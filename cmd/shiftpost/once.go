package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/views"
)

// onceReport is what demo --once --json prints.
type onceReport struct {
	OK          bool            `json:"ok"`
	Steps       []onceStep      `json:"steps"`
	Publication oncePublication `json:"publication"`
	Delivery    onceDelivery    `json:"delivery"`
	Group       onceGroup       `json:"group"`
	Viewer      onceViewer      `json:"viewer"`
}

type onceStep struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	MS    int64  `json:"ms"`
	Error string `json:"error,omitempty"`
}

type oncePublication struct {
	Number     int        `json:"number"`
	DocumentID string     `json:"documentId"`
	Pages      []oncePage `json:"pages"`
}

type oncePage struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Bytes  int64  `json:"bytes"`
}

type onceDelivery struct {
	ID       int64                `json:"id"`
	Status   roster.DeliveryState `json:"status"`
	Attempts int                  `json:"attempts"`
}

type onceGroup struct {
	Messages int    `json:"messages"`
	LIFFURL  string `json:"liffUrl"`
}

// onceViewer holds the statuses of real requests: a page and a picture asked by a teacher, by a person who is none,
// and by nobody.
type onceViewer struct {
	Teacher        int `json:"teacher"`
	Stranger       int `json:"stranger"`
	AnonymousImage int `json:"anonymousImage"`
	TeacherImage   int `json:"teacherImage"`
}

// onceDeadline bounds the wait for a delivery to end. A message that LINE does not take at once fails the run.
const onceDeadline = 20 * time.Second

// onceRun does the main job as a browser and LINE would, over HTTP.
type onceRun struct {
	demo   *demonstration
	client *http.Client
	report onceReport
	out    io.Writer // nil when only the report is printed
	month  roster.Month
	group  roster.Group
	sheet  string // hash
}

// demoOnce publishes the sample school's month without a browser, prints each step and the result, and fails if
// anything is not as it must be. The data folder stays, so that the picture can be opened.
func demoOnce(ctx context.Context, f demoFlags, environ []string, stdout io.Writer, logger *slog.Logger) error {
	r := &onceRun{report: onceReport{Steps: []onceStep{}, Publication: oncePublication{Pages: []oncePage{}}}}
	if !f.json {
		r.out = stdout
	}
	r.do(ctx, f, environ, logger)
	r.report.OK = len(r.report.Steps) > 0
	for _, s := range r.report.Steps {
		r.report.OK = r.report.OK && s.OK
	}
	if f.json {
		if err := json.NewEncoder(stdout).Encode(r.report); err != nil {
			return err
		}
	}
	if !r.report.OK {
		return errReported
	}
	return nil
}

// step runs one step unless one before it failed, and notes how it went.
func (r *onceRun) step(name string, f func() error) {
	if n := len(r.report.Steps); n > 0 && !r.report.Steps[n-1].OK {
		return
	}
	begun := time.Now()
	err := f()
	s := onceStep{Name: name, OK: err == nil, MS: time.Since(begun).Milliseconds()}
	if err != nil {
		s.Error = err.Error()
	}
	r.report.Steps = append(r.report.Steps, s)
	if r.out == nil {
		return
	}
	if err != nil {
		fmt.Fprintf(r.out, "FAILED %-8s %6d ms  %v\n", name, s.MS, err)
		return
	}
	fmt.Fprintf(r.out, "ok     %-8s %6d ms\n", name, s.MS)
}

func (r *onceRun) do(ctx context.Context, f demoFlags, environ []string, logger *slog.Logger) {
	r.step("start", func() (err error) {
		if r.demo, err = startDemo(ctx, f, environ, logger); err != nil {
			return err
		}
		if r.demo.sim == nil {
			return errors.Join(errors.New("--once needs the simulated LINE: unset LINE_API_BASE_URL"), r.demo.close())
		}
		return nil
	})
	if !r.report.Steps[0].OK {
		return
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.demo.run(running) }()
	defer func() {
		stop()
		err := <-ended
		r.step("stop", func() error { return err })
	}()
	if f.lineFault != 0 {
		r.step("fault", func() error {
			_, err := r.demo.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "push", Status: f.lineFault})
			return err
		})
	}
	r.step("sign-in", r.signIn)
	r.step("render", func() error { return r.render(ctx) })
	r.step("store", func() error { return r.checkFiles(ctx) })
	r.step("publish", func() error { return r.publish(ctx) })
	r.step("deliver", func() error { return r.awaitDelivery(ctx) })
	r.step("group", func() error { return r.readGroup() })
	r.step("viewer", func() error { return r.readViewer(ctx) })
}

// request asks the site and fails unless it answers with that status.
func (r *onceRun) request(client *http.Client, method, target string, form url.Values, status int) (*http.Response, error) {
	res, err := r.ask(client, method, target, form)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != status {
		return nil, fmt.Errorf("%s %s was answered %d, not %d", method, target, res.StatusCode, status)
	}
	return res, nil
}

// ask reads the whole answer of the site, whatever its status.
func (r *onceRun) ask(client *http.Client, method, target string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequest(method, address(r.demo.site)+target, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// newClient returns a browser of its own: with cookies, and without following redirects.
func newClient() (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (r *onceRun) signIn() (err error) {
	if r.client, err = newClient(); err != nil {
		return err
	}
	link, err := url.Parse(r.demo.signIn)
	if err != nil {
		return err
	}
	_, err = r.request(r.client, http.MethodPost, link.Path, url.Values{}, http.StatusSeeOther)
	return err
}

// render asks for the publish page, which draws the table.
func (r *onceRun) render(ctx context.Context) error {
	groups, err := r.demo.app.store.Groups(ctx)
	if err != nil {
		return err
	}
	r.group = groups[0]
	r.month = roster.DateOf(r.demo.app.store.Now(), r.demo.app.store.Location()).MonthOf()
	if _, err := r.request(r.client, http.MethodGet, r.publicationsPath()+"/new?wait=1", nil, http.StatusOK); err != nil {
		return err
	}
	p, err := r.demo.app.store.Preview(ctx, r.group.ID, r.month)
	if err != nil {
		return err
	}
	if len(p.Pages) == 0 {
		return errors.New("the page was shown without a picture")
	}
	r.sheet = p.Sheet.Hash()
	return nil
}

func (r *onceRun) publicationsPath() string {
	return views.MonthPath(r.group.ID, r.month) + "/publications"
}

// checkFiles opens every stored picture as an image.
func (r *onceRun) checkFiles(ctx context.Context) error {
	pages, err := r.demo.app.store.PreviewPages(ctx, r.sheet)
	if err != nil {
		return err
	}
	for _, p := range pages {
		content, err := r.demo.app.files.Get(p.SHA256)
		if err != nil {
			return err
		}
		image, err := png.DecodeConfig(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("picture of page %d: %w", p.Page, err)
		}
		if image.Width != p.Width || image.Height != p.Height {
			return fmt.Errorf("picture of page %d is %d × %d, not %d × %d", p.Page, image.Width, image.Height, p.Width, p.Height)
		}
		r.report.Publication.Pages = append(r.report.Publication.Pages, oncePage{r.demo.app.files.Path(p.SHA256), p.SHA256, p.Width, p.Height, p.SizeBytes})
	}
	return nil
}

func (r *onceRun) publish(ctx context.Context) error {
	res, err := r.request(r.client, http.MethodPost, r.publicationsPath(), url.Values{"sheet_hash": {r.sheet}}, http.StatusSeeOther)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(path.Base(res.Header.Get("Location")), "%d", &r.report.Delivery.ID); err != nil {
		return fmt.Errorf("the publish led to %q, not to a delivery", res.Header.Get("Location"))
	}
	d, err := r.demo.app.store.Delivery(ctx, r.report.Delivery.ID)
	if err != nil {
		return err
	}
	r.report.Publication.Number, r.report.Publication.DocumentID = d.Publication.Number, d.Publication.DocumentID
	return nil
}

// awaitDelivery waits until the delivery has ended, or until LINE did not take it at once.
func (r *onceRun) awaitDelivery(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, onceDeadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := r.demo.app.store.Delivery(ctx, r.report.Delivery.ID)
		if err != nil {
			return err
		}
		r.report.Delivery.Status, r.report.Delivery.Attempts = d.State, len(d.Attempts)
		switch {
		case d.State == roster.Sent:
			return nil
		case !d.State.Live() || (d.State == roster.Queued && len(d.Attempts) > 0):
			return fmt.Errorf("LINE did not take the message: %s %s", d.State, d.Code)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the message is still %s after %s", d.State, onceDeadline)
		case <-tick.C:
		}
	}
}

// readGroup looks at what the teachers' group shows.
func (r *onceRun) readGroup() error {
	messages := r.demo.sim.Messages(r.group.LINEGroupID)
	r.report.Group.Messages = len(messages)
	if len(messages) != 1 {
		return fmt.Errorf("the group shows %d messages, not 1", len(messages))
	}
	uris := messages[0].URIs()
	if len(uris) != 1 {
		return fmt.Errorf("the message has %d buttons, not 1", len(uris))
	}
	r.report.Group.LIFFURL = uris[0]
	return nil
}

// readViewer opens the document as a teacher, as a person from outside, and as nobody.
func (r *onceRun) readViewer(ctx context.Context) error {
	document := "/viewer/documents/" + r.report.Publication.DocumentID
	picture := document + "/pages/1"
	teachers, err := r.demo.app.store.Teachers(ctx)
	if err != nil {
		return err
	}
	linked := map[string]bool{}
	for _, t := range teachers {
		linked[t.LINEUserID] = true
	}
	var teacher, stranger string
	for _, u := range r.demo.sim.Users() {
		if linked[u.ID] {
			teacher = u.ID
		} else {
			stranger = u.ID
		}
	}
	open := func(userID string) (*http.Client, int, error) {
		client, err := newClient()
		if err != nil {
			return nil, 0, err
		}
		res, err := r.ask(client, http.MethodPost, "/viewer/session", url.Values{"id_token": {r.demo.sim.IDToken(userID, nil)}})
		if err != nil {
			return nil, 0, err
		}
		return client, res.StatusCode, nil
	}
	client, status, err := open(teacher)
	if err != nil || status != http.StatusNoContent {
		return errors.Join(fmt.Errorf("a teacher's token was answered %d", status), err)
	}
	nobody, err := newClient()
	if err != nil {
		return err
	}
	for _, x := range []struct {
		client *http.Client
		target string
		want   int
		got    *int
	}{
		{client, document, http.StatusOK, &r.report.Viewer.Teacher},
		{client, picture, http.StatusOK, &r.report.Viewer.TeacherImage},
		{nobody, picture, http.StatusUnauthorized, &r.report.Viewer.AnonymousImage},
	} {
		res, err := r.ask(x.client, http.MethodGet, x.target, nil)
		if err != nil {
			return err
		}
		if *x.got = res.StatusCode; *x.got != x.want {
			return fmt.Errorf("GET %s was answered %d, not %d", x.target, *x.got, x.want)
		}
	}
	_, r.report.Viewer.Stranger, err = open(stranger)
	if err != nil {
		return err
	}
	if r.report.Viewer.Stranger != http.StatusForbidden {
		return fmt.Errorf("a stranger's token was answered %d, not 403", r.report.Viewer.Stranger)
	}
	return nil
}
