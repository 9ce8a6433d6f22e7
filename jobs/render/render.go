package render

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jonboulle/clockwork"

	"shiftpost/static"
)

// MaxPixels is the biggest picture that is drawn, in device pixels.
const MaxPixels = 40_000_000

// FontStyles is the address, within the page's origin, of a style sheet with
// every face of package static: a page that links to it can use them.
const FontStyles = "/fonts.css"

// viewportHeight is the height of the window in CSS pixels. It is low because a
// picture is never lower than the window; the page's own height decides.
const viewportHeight = 1

var fontStyles = sync.OnceValue(func() []byte {
	return []byte(static.FontCSS(func(name string) string { return "/fonts/" + name }))
})

// Options say how New makes a Renderer. Only TempDir must be set.
type Options struct {
	// ChromePath is the Chrome to use, as FindChrome reads it; empty means to
	// look for one. It is looked for at every start of Chrome, so a Chrome
	// installed meanwhile is found.
	ChromePath string

	// TempDir is a folder that belongs to this Renderer alone, made if missing.
	// Each life of Chrome has a folder of about 2 MB in it, removed with it.
	TempDir string

	// Fonts gives the content of a font file of FontStyles by its name. Nil
	// means static.FontFile.
	Fonts func(name string) ([]byte, bool)

	// IdleAfter is how long Chrome is kept without work; 0 means 60 s.
	IdleAfter time.Duration

	// Timeout bounds one picture from the moment its turn comes, the start of
	// Chrome and a second try included; 0 means 30 s.
	Timeout time.Duration

	// MaxConcurrent is how many pictures are drawn at the same time; 0 means 2,
	// the fastest on two cores. More calls wait for their turn.
	MaxConcurrent int

	// Clock is for IdleAfter; nil means the real one.
	Clock clockwork.Clock

	// Logger is told of starts, ends and faults of Chrome; nil means silence.
	Logger *slog.Logger
}

// Page is what to draw.
type Page struct {
	// HTML is a whole document in UTF-8. It gets no script and no network: only
	// its own styles, FontStyles with its fonts, and data: images.
	HTML []byte

	// Width is the width of the window and of the picture, in CSS pixels.
	// Content that is wider is cut off.
	Width int

	// Scale is device pixels per CSS pixel, more than 0 and at most 4. The picture
	// must be one device pixel wide at least.
	Scale float64
}

// Image is the picture of a page, as high as its content.
type Image struct {
	PNG           []byte
	Width, Height int // device pixels
}

// Renderer draws pages. Its methods may be called from any goroutine.
type Renderer struct {
	chromePath string
	tempDir    string
	fonts      func(string) ([]byte, bool)
	idleAfter  time.Duration
	timeout    time.Duration
	clock      clockwork.Clock
	logger     *slog.Logger

	lock     *os.File
	slots    chan struct{} // one token for each picture in work
	starting chan struct{} // one token for who may start Chrome
	closing  chan struct{} // closed by Close: no new pictures
	abort    context.CancelCauseFunc
	aborted  context.Context // ended when Close waits no longer

	mu       sync.Mutex
	browser  *browser              // for new pictures; nil when none runs
	browsers map[*browser]struct{} // every one that may have left something
	working  int                   // pictures in work
	idle     clockwork.Timer
	closed   bool
}

// New makes a Renderer and removes what an earlier one left in o.TempDir. Chrome
// is started by the first picture. An error means that the folder cannot be used,
// for example because another process uses it.
func New(o Options) (*Renderer, error) {
	if o.TempDir == "" {
		return nil, errors.New("renderer: no TempDir")
	}
	tempDir, err := filepath.Abs(o.TempDir)
	if err != nil {
		return nil, fmt.Errorf("renderer: %w", err)
	}
	r := &Renderer{
		chromePath: o.ChromePath,
		tempDir:    tempDir,
		fonts:      o.Fonts,
		idleAfter:  o.IdleAfter,
		timeout:    o.Timeout,
		clock:      o.Clock,
		logger:     o.Logger,
		starting:   make(chan struct{}, 1),
		closing:    make(chan struct{}),
		browsers:   map[*browser]struct{}{},
	}
	if r.fonts == nil {
		r.fonts = static.FontFile
	}
	if r.idleAfter == 0 {
		r.idleAfter = time.Minute
	}
	if r.timeout == 0 {
		r.timeout = 30 * time.Second
	}
	if r.clock == nil {
		r.clock = clockwork.NewRealClock()
	}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	slots := o.MaxConcurrent
	if slots == 0 {
		slots = 2
	}
	r.slots = make(chan struct{}, slots)
	r.aborted, r.abort = context.WithCancelCause(context.Background())
	if err := r.takeFolder(); err != nil {
		return nil, fmt.Errorf("renderer: prepare folder: %w", err)
	}
	return r, nil
}

// takeFolder locks the folder against other processes, which makes it safe to
// remove what is left in it: the kernel frees the lock of a process that died.
func (r *Renderer) takeFolder() error {
	if err := os.MkdirAll(r.tempDir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(r.tempDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("%s is used by another process: %w", r.tempDir, err), lock.Close())
	}
	entries, err := os.ReadDir(r.tempDir)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), folderPrefix) {
			if err := removeFolder(filepath.Join(r.tempDir, entry.Name())); err != nil {
				return errors.Join(err, lock.Close())
			}
		}
	}
	r.lock = lock
	return nil
}

// PNG draws a page. If Chrome or the page's process dies under it, it tries once
// more with what time is left. The error wraps ErrNoChrome, ErrTimeout, ErrCrashed,
// ErrTooBig, ErrFont or ErrClosed, or the cause of the end of ctx.
func (r *Renderer) PNG(ctx context.Context, p Page) (Image, error) {
	if !(p.Scale > 0 && p.Scale <= 4 && float64(p.Width)*p.Scale >= 1) {
		return Image{}, fmt.Errorf("render: width %d or scale %v out of range", p.Width, p.Scale)
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Image{}, fmt.Errorf("render: wait for a turn: %w", classify(ctx, ctx.Err()))
	case <-r.closing:
		return Image{}, fmt.Errorf("render: %w", ErrClosed)
	}
	if !r.begin() {
		return Image{}, fmt.Errorf("render: %w", ErrClosed)
	}
	defer r.end()

	ctx, cancelTimeout := context.WithTimeout(ctx, r.timeout)
	defer cancelTimeout()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.aborted, func() { cancel(ErrClosed) })()

	image, err := r.try(ctx, p)
	if errors.Is(err, ErrCrashed) {
		r.logger.Warn("chrome died while drawing, trying once more", "error", err)
		image, err = r.try(ctx, p)
	}
	if err != nil {
		return Image{}, fmt.Errorf("render: %w", err)
	}
	return image, nil
}

// try draws the page once and sorts what went wrong.
func (r *Renderer) try(ctx context.Context, p Page) (Image, error) {
	b, err := r.running(ctx)
	if err != nil {
		return Image{}, classify(ctx, err)
	}
	var image Image
	err = r.inTab(ctx, b, p, func(ctx context.Context, t *chromedp.Target) (err error) {
		image, err = photograph(ctx, t, p)
		return err
	})
	switch {
	case err == nil:
		return image, nil
	case ctx.Err() != nil:
		return Image{}, classify(ctx, err)
	case errors.Is(err, errPageCrashed):
		return Image{}, fmt.Errorf("%w: %w", ErrCrashed, err)
	case b.dead():
		r.drop(b, "died", false)
		return Image{}, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
	return Image{}, err
}

// classify names the end of ctx, if that is why err happened.
func classify(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// begin counts a picture in, unless Close was called.
func (r *Renderer) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.working++
	if r.idle != nil {
		r.idle.Stop()
		r.idle = nil
	}
	return true
}

// end counts a picture out. After the last one Chrome's idle time begins.
func (r *Renderer) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working--
	if r.working == 0 && r.browser != nil && !r.closed {
		r.idle = r.clock.AfterFunc(r.idleAfter, r.stopIdle)
	}
}

func (r *Renderer) stopIdle() {
	r.mu.Lock()
	b := r.browser
	if r.working > 0 || b == nil {
		r.mu.Unlock()
		return
	}
	// From here on a new picture starts another Chrome.
	r.browser = nil
	r.mu.Unlock()
	r.drop(b, "idle", true)
}

// running gives the Chrome to draw with, starting one if there is none.
func (r *Renderer) running(ctx context.Context) (*browser, error) {
	select {
	case r.starting <- struct{}{}:
		defer func() { <-r.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	b := r.browser
	r.mu.Unlock()
	if b != nil && !b.dead() {
		return b, nil
	}
	path, err := FindChrome(r.chromePath)
	if err != nil {
		return nil, err
	}
	began := r.clock.Now()
	b, err = startBrowser(ctx, path, r.tempDir, func(format string, args ...any) {
		r.logger.Debug("chromedp: " + fmt.Sprintf(format, args...))
	})
	if err != nil {
		return nil, err
	}
	r.logger.Info("chrome started", "pid", b.pid, "path", path, "ms", r.clock.Since(began).Milliseconds())
	r.mu.Lock()
	r.browser = b
	r.browsers[b] = struct{}{}
	r.mu.Unlock()
	// A Chrome that dies between two pictures must not leave its folder behind
	// until the next one.
	context.AfterFunc(b.ctx, func() { r.drop(b, "died", false) })
	return b, nil
}

// drop ends a Chrome and returns when nothing of it is left. Of several reasons
// the first is logged.
func (r *Renderer) drop(b *browser, why string, polite bool) {
	r.mu.Lock()
	if r.browser == b {
		r.browser = nil
	}
	if b.why == "" {
		b.why = why
	}
	r.mu.Unlock()
	b.stop(polite)
	r.mu.Lock()
	_, known := r.browsers[b]
	delete(r.browsers, b)
	r.mu.Unlock()
	if known {
		r.logger.Info("chrome ended", "pid", b.pid, "reason", b.why)
	}
}

// Close lets no new picture begin, waits for those in work, ends Chrome and
// removes its folder. When ctx ends first, the pictures in work fail with
// ErrClosed and Close returns the cause of that end; nothing is left behind then
// either. Calls after the first do nothing.
func (r *Renderer) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	if r.idle != nil {
		r.idle.Stop()
	}
	r.mu.Unlock()

	var err error
	for range cap(r.slots) {
		select {
		case r.slots <- struct{}{}:
			continue
		case <-ctx.Done():
			err = fmt.Errorf("close renderer: %w", context.Cause(ctx))
			r.abort(ErrClosed)
		}
		r.slots <- struct{}{}
	}
	r.abort(ErrClosed)

	r.mu.Lock()
	left := make([]*browser, 0, len(r.browsers))
	for b := range r.browsers {
		left = append(left, b)
	}
	r.mu.Unlock()
	for _, b := range left {
		r.drop(b, "closed", true)
	}
	return errors.Join(err, r.lock.Close())
}
