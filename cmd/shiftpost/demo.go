package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"shiftpost/jobs/line/linesim"
)

// The ports the demo takes if they are free; else it takes any.
const (
	demoPort      = "8080"
	simulatorPort = "8090"
)

// demoFlags are the flags of the demo.
type demoFlags struct {
	dataDir   string
	once      bool
	json      bool
	empty     bool
	lineFault int
}

func demo(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	var f demoFlags
	set := flag.NewFlagSet("demo", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.dataDir, "data-dir", "", "")
	set.BoolVar(&f.once, "once", false, "")
	set.BoolVar(&f.json, "json", false, "")
	set.BoolVar(&f.empty, "empty", false, "")
	set.IntVar(&f.lineFault, "line-fault", 0, "")
	if err := set.Parse(args); err != nil {
		return &usageError{"demo: " + err.Error()}
	}
	switch {
	case set.NArg() > 0:
		return &usageError{fmt.Sprintf("demo: %q is not a flag", set.Arg(0))}
	case f.lineFault != 0 && !f.once:
		return &usageError{"demo: --line-fault goes with --once; else use the simulator's page"}
	case f.lineFault != 0 && (f.lineFault < 300 || f.lineFault > 599):
		return &usageError{"demo: --line-fault takes an HTTP status from 300 to 599"}
	case f.once && f.empty:
		return &usageError{"demo: --once needs the sample school"}
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if f.once {
		return demoOnce(ctx, f, environ, stdout, logger)
	}
	d, err := startDemo(ctx, f, environ, logger)
	if err != nil {
		return err
	}
	if err := d.announce(stdout, f.json); err != nil {
		return errors.Join(err, d.close())
	}
	return d.run(ctx)
}

// demonstration is the product with a simulated LINE beside it, all on loopback, on one clock that can be moved.
type demonstration struct {
	app       *app
	sim       *linesim.Simulator // nil when another LINE is used
	clock     *linesim.TimeMachine
	site      net.Listener
	simulator net.Listener
	control   net.Listener
	signIn    string
	dataDir   string
	temporary bool
}

// startDemo wires the demo. Nothing is served yet. It differs from serve in values alone: where LINE is, what time it
// is, and what the store holds at first.
func startDemo(ctx context.Context, f demoFlags, environ []string, logger *slog.Logger) (d *demonstration, err error) {
	c, err := readConfig(environ)
	if err != nil {
		return nil, err
	}
	d = &demonstration{dataDir: f.dataDir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
			d = nil
		}
	}()
	if d.dataDir == "" {
		if d.dataDir, err = os.MkdirTemp("", "shiftpost-demo-"); err != nil {
			return d, fmt.Errorf("make data folder: %w", err)
		}
		d.temporary = !f.once // whoever ran it once wants to open the picture
	} else if err := os.MkdirAll(d.dataDir, 0o700); err != nil {
		return d, fmt.Errorf("make data folder: %w", err)
	}
	if d.dataDir, err = filepath.Abs(d.dataDir); err != nil {
		return d, err
	}
	if d.clock, err = linesim.OpenTimeMachine(clockwork.NewRealClock(), filepath.Join(d.dataDir, "demo-clock.json")); err != nil {
		return d, err
	}
	if d.site, err = listen(demoPort); err != nil {
		return d, err
	}
	if d.control, err = listen("0"); err != nil {
		return d, err
	}
	c.BaseURL, c.DataDir = address(d.site), d.dataDir
	if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "LINE_API_BASE_URL=") }) {
		if err := d.openSimulator(&c, logger); err != nil {
			return d, err
		}
	}
	if err := c.check(); err != nil {
		return d, err
	}
	if d.app, err = newApp(ctx, c, d.clock, logger); err != nil {
		return d, err
	}
	admin, err := sampleAdmin(ctx, d.app.store)
	if err != nil {
		return d, fmt.Errorf("make the demo's admin: %w", err)
	}
	if !f.empty {
		if err := fillSample(ctx, d.app.store, d.sim); err != nil {
			return d, fmt.Errorf("fill the sample school: %w", err)
		}
	}
	d.signIn = c.BaseURL + d.app.auth.IssueSignInLink(admin.ID)
	return d, nil
}

// openSimulator makes the simulated LINE and points the settings at it.
func (d *demonstration) openSimulator(c *Config, logger *slog.Logger) error {
	var err error
	if d.simulator, err = listen(simulatorPort); err != nil {
		return err
	}
	d.sim, err = linesim.New(linesim.Options{
		Clock: d.clock, Logger: logger, BaseURL: address(d.simulator), AdminURL: c.BaseURL,
		Login: linesim.Login{EndpointURL: c.BaseURL + "/liff"}, StateFile: filepath.Join(d.dataDir, "demo-line.json"), TimeTravel: d.clock,
		Agenda: func(ctx context.Context) []linesim.Appointment { return d.app.agenda(ctx) }, // asked once the app is there and runs
	})
	if err != nil {
		return fmt.Errorf("start the simulated LINE: %w", err)
	}
	d.sim.SetWebhookURL(c.BaseURL + "/webhook/line")
	c.ChannelAccessToken, c.ChannelSecret = d.sim.Channel().AccessToken, d.sim.Channel().Secret
	c.LoginChannelID, c.LIFFID = d.sim.Login().ChannelID, d.sim.Login().LIFFID
	c.LINEAPIBaseURL, c.LIFFBaseURL, c.LIFFSDKURL = d.sim.BaseURL(), d.sim.LIFFBaseURL(), d.sim.SDKURL()
	return nil
}

// listen takes a port of this machine, or any free one when it is taken.
func listen(port string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on this machine: %w", err)
	}
	return l, nil
}

func address(l net.Listener) string { return "http://" + l.Addr().String() }

// announce prints what to open.
func (d *demonstration) announce(w io.Writer, asJSON bool) error {
	a := struct {
		Admin     string `json:"admin"`
		SignIn    string `json:"signIn"`
		Simulator string `json:"simulator"`
		Control   string `json:"control"`
		DataDir   string `json:"dataDir"`
	}{Admin: address(d.site), SignIn: d.signIn, Control: address(d.control), DataDir: d.dataDir}
	if d.sim != nil {
		a.Simulator = address(d.simulator) + "/sim"
	}
	if asJSON {
		return json.NewEncoder(w).Encode(a)
	}
	lines := "Admin:      " + a.SignIn + "\n"
	if a.Simulator != "" {
		lines += "LINE:       " + a.Simulator + "\n"
	}
	lines += "Data:       " + a.DataDir + "\nControl:    " + a.Control + "\n"
	_, err := io.WriteString(w, lines)
	return err
}

// run serves everything until ctx ends and then cleans up.
func (d *demonstration) run(ctx context.Context) error {
	control := &http.Server{Handler: d.controlHandler(), ReadHeaderTimeout: shutdownGrace}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return serveUntil(running, control, d.control) })
	if d.sim != nil {
		// It outlives the app, whose last requests it answers.
		sim := &http.Server{Handler: d.sim, ReadHeaderTimeout: shutdownGrace}
		simulating, stop := context.WithCancel(context.WithoutCancel(ctx))
		group.Go(func() error { return serveUntil(simulating, sim, d.simulator) })
		group.Go(func() error {
			defer stop()
			defer d.sim.Close()
			return d.app.run(running, d.site)
		})
	} else {
		group.Go(func() error { return d.app.run(running, d.site) })
	}
	err := group.Wait()
	d.app = nil
	return errors.Join(err, d.close())
}

// serveUntil serves a listener until ctx ends.
func serveUntil(ctx context.Context, server *http.Server, l net.Listener) error {
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}

// close frees what startDemo took and is not running.
func (d *demonstration) close() error {
	var errs []error
	if d.app != nil {
		errs = append(errs, d.app.close())
	}
	for _, l := range []net.Listener{d.site, d.simulator, d.control} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.temporary {
		errs = append(errs, os.RemoveAll(d.dataDir))
	}
	return errors.Join(errs...)
}
