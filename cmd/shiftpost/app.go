package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"shiftpost/db"
	"shiftpost/db/files"
	"shiftpost/handlers"
	"shiftpost/handlers/auth"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/render"
)

// app is the product, wired together and not yet running.
type app struct {
	store    *db.Store
	files    *files.Store
	renderer *render.Renderer
	auth     *auth.Auth
	teachers *auth.Teachers
	runner   *jobs.Runner
	sweeps   *jobs.Sweeps
	handler  http.Handler
	log      *slog.Logger
	lock     *db.Lock
}

// shutdownGrace is how long a stop waits for requests of browsers, and for those to LINE, to end by themselves.
const shutdownGrace = 10 * time.Second

// newApp takes the lock of the data folder and wires everything. The caller calls run, or close if it does not.
func newApp(ctx context.Context, c Config, clock clockwork.Clock, logger *slog.Logger) (a *app, err error) {
	loc, err := c.location()
	if err != nil {
		return nil, err
	}
	a = &app{log: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
			a = nil
		}
	}()
	if a.lock, err = db.LockDir(c.DataDir); err != nil {
		return a, err
	}
	composer, err := jobs.NewComposer(c.LIFFBaseURL, c.LIFFID, loc)
	if err != nil {
		return a, err
	}
	a.store, err = db.Open(ctx, db.Options{
		Dir: c.DataDir, Clock: clock, Location: loc, Logger: logger, Compose: composer,
		Delivery: db.DeliveryOptions{RetryBase: c.RetryBase, RetryKeyTTL: c.RetryKeyTTL, Lease: c.Lease, UndoWindow: cmp.Or(c.UndoWindow, -1), SweepEvery: c.SweepInterval},
	})
	if err != nil {
		return a, err
	}
	if a.files, err = files.Open(filepath.Join(c.DataDir, "images")); err != nil {
		return a, err
	}
	a.renderer, err = render.New(render.Options{ChromePath: c.ChromePath, TempDir: filepath.Join(c.DataDir, "chrome"), Logger: logger})
	if err != nil {
		return a, err
	}
	client := line.NewClient(line.Options{BaseURL: c.LINEAPIBaseURL, Token: c.ChannelAccessToken, Timeout: c.LINETimeout, Clock: clock})
	a.auth = auth.New(auth.Options{Store: a.store, Clock: clock, BaseURL: c.BaseURL, Logger: logger})
	a.teachers = auth.NewTeachers(auth.TeachersOptions{Store: a.store, Verifier: client, LoginChannelID: c.LoginChannelID, Clock: clock, BaseURL: c.BaseURL, Logger: logger})
	a.runner = jobs.NewRunner(jobs.RunnerOptions{Store: a.store, LINE: client, Clock: clock, Workers: c.Workers, Lease: c.Lease, Grace: shutdownGrace, Logger: logger})
	a.sweeps = jobs.NewSweeps(jobs.SweepOptions{Store: a.store, Files: a.files, LINE: client, Clock: clock, Every: c.SweepInterval, Wake: a.runner.Wake, Logger: logger})
	a.handler = handlers.New(handlers.Options{
		Store: a.store, Auth: a.auth, LINE: client, WebhookSecret: c.ChannelSecret, Files: a.files, Renderer: a.renderer, Wake: a.runner.Wake, Clock: clock, Location: loc, BaseURL: c.BaseURL, Logger: logger,
		Viewer: handlers.ViewerOptions{LIFFID: c.LIFFID, LIFFBaseURL: c.LIFFBaseURL, SDKURL: c.LIFFSDKURL, APIBaseURL: c.LINEAPIBaseURL, Sessions: a.teachers},
	})
	return a, nil
}

// run serves the listener and works jobs until ctx ends, and then stops in order: requests of browsers, sweeps and
// claims, requests to LINE, Chrome, database.
func (a *app) run(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: a.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			return errors.Join(fmt.Errorf("stop serving: %w", err), server.Close())
		}
		return nil
	})
	group.Go(func() error { return a.runner.Run(ctx) })
	group.Go(func() error { return a.sweeps.Run(ctx) })
	return errors.Join(group.Wait(), a.close())
}

// close ends what newApp opened, in the order that lets nothing use what is closed already.
func (a *app) close() error {
	var errs []error
	if a.renderer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		errs = append(errs, a.renderer.Close(ctx))
	}
	if a.auth != nil {
		a.auth.Close()
	}
	if a.files != nil {
		errs = append(errs, a.files.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Release())
	}
	return errors.Join(errs...)
}

// serve runs the product as the settings say until ctx ends.
func serve(ctx context.Context, c Config, logger *slog.Logger) error {
	if err := c.check(); err != nil {
		return err
	}
	a, err := newApp(ctx, c, clockwork.NewRealClock(), logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), a.close())
	}
	logger.Info("serving", "address", listener.Addr().String(), "url", c.BaseURL, "version", version())
	return a.run(ctx, listener)
}
