package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"shiftpost/db"
	"shiftpost/db/files"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// victimVariable makes this program the process that is killed; it holds a victimConfig as JSON.
const victimVariable = "CHAOS_VICTIM"

// The ways in which a run can be broken on purpose, to see that it would be noticed.
const (
	breakNewKey    = "newkey"    // a new retry key at each try
	breakNoRecover = "norecover" // what a killed process was sending is not taken back
)

// victimConfig is what a victim needs to know.
type victimConfig struct {
	Dir      string // data folder
	LINEURL  string
	LIFFURL  string
	LIFFID   string
	Token    string
	Clock    clockFace
	TimeoutS float64 // of a request to LINE, in real seconds
	Break    string
}

// victim is the product without its pages: its store, runner and sweeps on a data folder, and a small HTTP interface in
// place of an admin's browser.
type victim struct {
	store  *db.Store
	files  *files.Store
	runner *jobs.Runner
	clock  *linesim.TimeMachine
	loc    *time.Location

	moving sync.Mutex
	offset time.Duration // the clock's present one
}

// beVictim runs the product until it is killed or told to end. It writes the address of its interface to stdout as
// soon as it answers there, and ends when stdin does: then whoever started it is gone.
func beVictim(config string, stdin io.Reader, stdout io.Writer) error {
	var c victimConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("read %s: %w", victimVariable, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, orphaned := context.WithCancel(ctx)
	go func() {
		bufio.NewReader(stdin).WriteTo(io.Discard)
		orphaned()
	}()
	lock, err := db.LockDir(c.Dir)
	if err != nil {
		return err
	}
	v, err := newVictim(ctx, c)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, v.store.Close(), lock.Release())
	}
	if _, err := fmt.Fprintln(stdout, "http://"+listener.Addr().String()); err != nil {
		return err
	}
	return errors.Join(v.run(ctx, listener, c), v.store.Close(), v.files.Close(), lock.Release())
}

func newVictim(ctx context.Context, c victimConfig) (*victim, error) {
	v := &victim{offset: c.Clock.Offset}
	var err error
	if v.loc, err = time.LoadLocation(schoolZone); err != nil {
		return nil, err
	}
	if v.clock, err = c.Clock.start(); err != nil {
		return nil, err
	}
	composer, err := jobs.NewComposer(c.LIFFURL, c.LIFFID, v.loc)
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	v.store, err = db.Open(ctx, db.Options{
		Dir: c.Dir, Clock: v.clock, Location: v.loc, Logger: logger, Compose: composer, Delivery: db.DeliveryOptions{Lease: lease(c.Break)},
	})
	if err != nil {
		return nil, err
	}
	if v.files, err = files.Open(filepath.Join(c.Dir, "images")); err != nil {
		return nil, errors.Join(err, v.store.Close())
	}
	if c.Break == breakNoRecover {
		if err := v.disownNothing(ctx); err != nil {
			return nil, errors.Join(err, v.files.Close(), v.store.Close())
		}
	}
	v.runner = jobs.NewRunner(jobs.RunnerOptions{
		Store: v.store, LINE: v.line(c), Clock: v.clock, Lease: lease(c.Break), Grace: 10 * time.Minute, Logger: logger,
	})
	return v, nil
}

// lease is longer than the product's own minute because at a high speed of the clock a busy machine needs it. Without
// recovery none may run out, since that would mend what is broken on purpose.
func lease(broken string) time.Duration {
	if broken == breakNoRecover {
		return 10000 * time.Hour
	}
	return 5 * time.Minute
}

// disownNothing writes this process's name on every lease, so that there is no orphan to be found.
func (v *victim) disownNothing(ctx context.Context) error {
	_, err := v.store.SessionDB().ExecContext(ctx, `UPDATE jobs SET owner = ? WHERE state = 'leased'`, v.store.BootID())
	return err
}

// line returns the product's own client of LINE, or a broken one.
func (v *victim) line(c victimConfig) jobs.LINE {
	client := line.NewClient(line.Options{BaseURL: c.LINEURL, Token: c.Token, Timeout: time.Duration(c.TimeoutS * float64(time.Second)), Clock: v.clock})
	if c.Break == breakNewKey {
		return forgetful{client}
	}
	return client
}

// forgetful is a client that never sends a retry key twice.
type forgetful struct{ *line.Client }

// Push sends with a new key.
func (f forgetful) Push(ctx context.Context, body []byte, _ string) (line.Answer, error) {
	return f.Client.Push(ctx, body, uuid.NewString())
}

func (v *victim) run(ctx context.Context, listener net.Listener, c victimConfig) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: v.store, Files: v.files, Clock: v.clock, Wake: v.runner.Wake, Logger: logger})
	server := &http.Server{Handler: v.routes(), ReadHeaderTimeout: 10 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return v.runner.Run(ctx) })
	group.Go(func() error { return sweeps.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return group.Wait()
}

// The interface. What changes something is answered after its commit, as the pages answer.
type (
	shiftRequest struct {
		TeacherID, ClassroomID int64
		Date                   roster.Date
		Start, End             roster.Minutes
		EditNumber             int64 // of a shift that is changed
	}
	deleteRequest struct{ EditNumber int64 }
	shiftAnswer   struct {
		ShiftID    int64 // 0: there is none
		EditNumber int64
		Start, End roster.Minutes
	}
	publishRequest struct {
		GroupID int64
		Month   roster.Month
	}
	publishAnswer struct{ Number int }
	retryRequest  struct{ Code roster.Code }
	clockRequest  struct{ Offset time.Duration } // of the face
	// stateAnswer says what is going on.
	stateAnswer struct {
		Newest  int64 // the newest delivery
		Waiting map[roster.DeliveryState]int
		NextDue time.Time // zero: nothing will be due by itself
		Holds   []roster.Hold
		SweptAt time.Time // the last sweep of reminders
	}
	// shownDelivery is a delivery as the list of deliveries shows it.
	shownDelivery struct {
		ID                          int64
		State                       roster.DeliveryState
		Code                        roster.Code
		TeacherID, ShiftID, GroupID int64
		Month                       string // of a publication
		Number                      int
	}
)

func (v *victim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /shifts", answer(v.addShift))
	mux.HandleFunc("PUT /shifts/{id}", answer(v.changeShift))
	mux.HandleFunc("DELETE /shifts/{id}", answer(v.deleteShift))
	mux.HandleFunc("GET /teachers/{id}/shift", answer(v.showShift))
	mux.HandleFunc("POST /publications", answer(v.publish))
	mux.HandleFunc("GET /publications", answer(v.newestPublication))
	mux.HandleFunc("POST /retries", answer(v.retryAll))
	mux.HandleFunc("DELETE /holds/{cause}", answer(v.endHold))
	mux.HandleFunc("GET /deliveries", answer(v.listDeliveries))
	mux.HandleFunc("GET /state", answer(v.showState))
	mux.HandleFunc("PUT /clock", answer(v.setClock))
	return mux
}

// answer makes a handler of a function from a JSON value to a JSON value.
func answer[In, Out any](f func(*http.Request, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		out, err := func() (out Out, err error) {
			if r.ContentLength > 0 {
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					return out, err
				}
			}
			return f(r, in)
		}()
		if err != nil {
			status := http.StatusInternalServerError
			if errors.Is(err, db.ErrEdited) || errors.Is(err, db.ErrUnchanged) {
				status = http.StatusConflict
			}
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // a client that is gone asks again
	}
}

type nothing struct{}

func (v *victim) addShift(r *http.Request, in shiftRequest) (shiftAnswer, error) {
	x, err := v.store.AddShift(r.Context(), in.edit(), roster.ShiftConfirmed)
	v.runner.Wake()
	return shown(x), err
}

func (v *victim) changeShift(r *http.Request, in shiftRequest) (shiftAnswer, error) {
	x, err := v.store.ChangeShift(r.Context(), pathID(r), in.EditNumber, in.edit())
	v.runner.Wake()
	return shown(x), err
}

func (v *victim) deleteShift(r *http.Request, in deleteRequest) (nothing, error) {
	_, err := v.store.MoveShift(r.Context(), pathID(r), in.EditNumber, roster.ShiftDeleted)
	v.runner.Wake()
	return nothing{}, err
}

func (in shiftRequest) edit() db.ShiftEdit {
	return db.ShiftEdit{TeacherID: in.TeacherID, ClassroomID: in.ClassroomID, Date: in.Date, Times: roster.TimeRange{Start: in.Start, End: in.End}}
}

func shown(x roster.Shift) shiftAnswer {
	return shiftAnswer{x.ID, x.EditNumber, x.Times.Start, x.Times.End}
}

func pathID(r *http.Request) int64 {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // 0 is nobody's
	return id
}

// showShift answers the one confirmed shift of a teacher on the day of the run, as the grid of the month shows it.
func (v *victim) showShift(r *http.Request, _ nothing) (shiftAnswer, error) {
	day, err := roster.ParseDate(r.URL.Query().Get("date"))
	if err != nil {
		return shiftAnswer{}, err
	}
	groupID, err := strconv.ParseInt(r.URL.Query().Get("group"), 10, 64)
	if err != nil {
		return shiftAnswer{}, err
	}
	month, err := v.store.Month(r.Context(), groupID, day.MonthOf())
	if err != nil {
		return shiftAnswer{}, err
	}
	for _, x := range month.Shifts {
		if x.TeacherID == pathID(r) && x.Date == day && x.State == roster.ShiftConfirmed {
			return shown(x), nil
		}
	}
	return shiftAnswer{}, nil
}

// publish does what the pages do: it stores the month's picture, shows it and publishes what it showed.
func (v *victim) publish(r *http.Request, in publishRequest) (publishAnswer, error) {
	ctx := r.Context()
	p, err := v.store.Preview(ctx, in.GroupID, in.Month)
	if err != nil {
		return publishAnswer{}, err
	}
	hash := p.Sheet.Hash()
	// No Chrome draws here; any bytes of its own will do for a picture.
	picture := bytes.Repeat([]byte(hash), 500)
	key, err := v.files.Put(picture)
	if err != nil {
		return publishAnswer{}, err
	}
	page := roster.Image{Page: 1, Title: p.Group.Name, SHA256: key, Width: 2160, Height: 3000, SizeBytes: int64(len(picture))}
	if err := v.store.SavePreview(ctx, hash, []roster.Image{page}); err != nil {
		return publishAnswer{}, err
	}
	out, err := v.store.Publish(ctx, db.PublishInput{GroupID: in.GroupID, Month: in.Month, SheetHash: hash})
	v.runner.Wake()
	return publishAnswer{out.Number}, err
}

func (v *victim) newestPublication(r *http.Request, _ nothing) (publishAnswer, error) {
	groupID, err := strconv.ParseInt(r.URL.Query().Get("group"), 10, 64)
	if err != nil {
		return publishAnswer{}, err
	}
	month, err := roster.ParseMonth(r.URL.Query().Get("month"))
	if err != nil {
		return publishAnswer{}, err
	}
	number, documentID, err := v.store.NewestNumber(r.Context(), groupID, month)
	if err != nil || number == 0 {
		return publishAnswer{}, err
	}
	// What was published can be looked at, and shows what it says.
	p, err := v.store.PublicationByDocument(r.Context(), documentID)
	if err != nil {
		return publishAnswer{}, err
	}
	for _, page := range p.Pages {
		if _, err := v.files.Get(page.SHA256); err != nil {
			return publishAnswer{}, err
		}
	}
	return publishAnswer{number}, nil
}

func (v *victim) retryAll(r *http.Request, in retryRequest) (nothing, error) {
	plan, err := v.store.PlanRetries(r.Context(), in.Code)
	if err != nil {
		return nothing{}, err
	}
	err = v.store.RetryAll(r.Context(), db.RetryAllInput{Code: in.Code, Shown: plan})
	v.runner.Wake()
	return nothing{}, err
}

func (v *victim) endHold(r *http.Request, _ nothing) (nothing, error) {
	err := v.store.EndHold(r.Context(), roster.HoldCause(r.PathValue("cause")))
	v.runner.Wake()
	return nothing{}, err
}

func (v *victim) listDeliveries(r *http.Request, _ nothing) ([]shownDelivery, error) {
	all := []shownDelivery{}
	for before := int64(0); ; {
		page, err := v.store.Deliveries(r.Context(), db.DeliveryFilter{Before: before, Limit: 500})
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, d := range page {
			all = append(all, shownDelivery{d.ID, d.State, d.Code, d.TeacherID, d.ShiftID, d.GroupID, d.Month.String(), d.Number})
		}
		before = page[len(page)-1].ID
	}
}

func (v *victim) showState(r *http.Request, _ nothing) (stateAnswer, error) {
	var out stateAnswer
	newest, err := v.store.Deliveries(r.Context(), db.DeliveryFilter{Limit: 1})
	if err != nil {
		return out, err
	}
	if len(newest) > 0 {
		out.Newest = newest[0].ID
	}
	if out.Waiting, err = v.waiting(r.Context()); err != nil {
		return out, err
	}
	if out.NextDue, err = v.store.NextDue(r.Context()); err != nil && !errors.Is(err, queue.ErrNone) {
		return out, err
	}
	if out.Holds, err = v.store.Holds(r.Context()); err != nil {
		return out, err
	}
	sweeps, err := v.store.SweepRuns(r.Context())
	for _, x := range sweeps {
		if x.Name == jobs.SweepReminders {
			out.SweptAt = x.RanAt
		}
	}
	return out, err
}

// waiting counts the live deliveries by their state. It is asked for all the time, for which the store's own count,
// which looks at the failed ones too, is too slow.
func (v *victim) waiting(ctx context.Context) (map[roster.DeliveryState]int, error) {
	rows, err := v.store.SessionDB().QueryContext(ctx, `SELECT state, count(*) FROM deliveries WHERE state IN ('pending', 'queued', 'processing') GROUP BY state`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[roster.DeliveryState]int{}
	for rows.Next() {
		var state roster.DeliveryState
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, err
		}
		counts[state] = n
	}
	return counts, rows.Err()
}

func (v *victim) setClock(_ *http.Request, in clockRequest) (nothing, error) {
	v.moving.Lock()
	defer v.moving.Unlock()
	by := in.Offset - v.offset
	v.offset = in.Offset
	return nothing{}, v.clock.Advance(by)
}
