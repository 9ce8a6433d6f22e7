package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"math"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// origin is where Chrome believes the page to be. The name can never be resolved
// (RFC 2606), and nothing asks for it: every request is answered here.
const origin = "https://render.invalid"

// contentSecurityPolicy forbids the page everything but what answer gives. It
// also covers what request interception does not see, such as prefetching.
const contentSecurityPolicy = "default-src 'none'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"

// fontWaves bounds how often loading one font may show that another is needed.
const fontWaves = 20

// Each of these is evaluated by the debugger: the page itself has no script.
// Callbacks do not run in such a page, so the loop is a plain one.
const (
	// Measuring makes Chrome lay the page out and so ask for every font the text
	// needs, before fonts.ready is looked at.
	awaitFonts = `document.documentElement.getBoundingClientRect(), document.fonts.ready`

	fontState = `{
	let loading = 0, failed = [];
	for (const face of document.fonts) {
		if (face.status === "loading") loading++;
		if (face.status === "error") failed.push(face.family + " " + face.weight + " " + face.unicodeRange.slice(0, 20));
	}
	for (const link of document.querySelectorAll("link[rel~=stylesheet]")) {
		let there = false;
		try { there = link.sheet.cssRules.length > 0 } catch {} // a sheet that could not be loaded may not be read
		if (!there && link.href.startsWith("` + origin + `")) failed.push("no style sheet " + link.getAttribute("href").slice(0, 40));
	}
	({loading: loading, failed: failed.slice(0, 3)});
}`

	// The second is for the fraction of a pixel that the first leaves out.
	pageHeight = `Math.max(document.documentElement.scrollHeight, Math.ceil(document.documentElement.getBoundingClientRect().height))`
)

// tabPatience is how long the tab of a canceled picture may take to open, and
// that of a finished or canceled one to close. Each takes 30 ms.
const tabPatience = 2 * time.Second

var errPageCrashed = errors.New("the page's process died")

// inTab loads html in a tab of its own, waits for its fonts and calls use with the
// tab, which is closed afterwards. The window is as wide as the picture is to be.
func (r *Renderer) inTab(ctx context.Context, b *browser, p Page, use func(context.Context, *chromedp.Target) error) error {
	tab, closeTab := chromedp.NewContext(b.ctx)
	defer r.closeTab(ctx, b, closeTab)
	if err := b.openTab(ctx, tab); err != nil {
		return err
	}
	inTab, cancel := context.WithCancelCause(tab)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()

	err := chromedp.Do(inTab, chromedp.Func(func(tab context.Context, t *chromedp.Target) error {
		// A page whose process died answers nothing, not even an error.
		crashes := cdp.Events(tab, t, inspector.TargetCrashed)
		go func() {
			for _, err := range crashes {
				if err == nil {
					cancel(errPageCrashed)
				}
				return
			}
		}()
		requests := cdp.Events(tab, t, fetch.RequestPaused)
		go func() {
			for request, err := range requests {
				if err != nil {
					return
				}
				r.answer(tab, t, request, p.HTML)
			}
		}()
		if err := load(tab, t, p); err != nil {
			return err
		}
		return use(tab, t)
	}))
	if err != nil && errors.Is(context.Cause(inTab), errPageCrashed) {
		return errPageCrashed
	}
	return err
}

// openTab makes a tab, to its end even when ctx ends meanwhile: what chromedp
// makes must not be cancelled. A Chrome that cannot make one is killed.
func (b *browser) openTab(ctx, tab context.Context) error {
	b.opening.RLock()
	defer b.opening.RUnlock()
	made := make(chan error, 1)
	go func() { made <- chromedp.Do(tab) }()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
	}
	select {
	case <-made:
	case <-time.After(tabPatience):
		killGroup(b.pid)
		<-made
	}
	return context.Cause(ctx)
}

// closeTab closes the tab of a picture, or ends a Chrome that cannot do so.
func (r *Renderer) closeTab(ctx context.Context, b *browser, closeTab func()) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// A frozen Chrome and an endless page look the same from here.
		r.drop(b, "out of time", false)
	}
	closed := make(chan struct{})
	go func() {
		closeTab()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(tabPatience):
		r.drop(b, "a tab does not close", false)
		<-closed
	}
}

// load opens the page in the tab, without scripts, and waits for its fonts.
func load(ctx context.Context, t *chromedp.Target, p Page) error {
	if _, err := cdp.Call(ctx, t, fetch.Enable, fetch.EnableParams{}); err != nil {
		return fmt.Errorf("intercept requests: %w", err)
	}
	if _, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		return fmt.Errorf("disable scripts: %w", err)
	}
	if _, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(p.Width), Height: viewportHeight, DeviceScaleFactor: p.Scale,
	}); err != nil {
		return fmt.Errorf("set the page's width: %w", err)
	}
	if _, err := chromedp.Navigate(origin+"/")(ctx, t); err != nil {
		return fmt.Errorf("load the page: %w", err)
	}
	return waitForFonts(ctx, t)
}

// photograph takes the picture of a loaded page.
func photograph(ctx context.Context, t *chromedp.Target, p Page) (Image, error) {
	var height float64
	if err := evaluate(ctx, t, pageHeight, &height); err != nil {
		return Image{}, fmt.Errorf("measure the page: %w", err)
	}
	want := Image{Width: int(math.Round(float64(p.Width) * p.Scale)), Height: int(math.Round(height * p.Scale))}
	if want.Height > MaxPixels/want.Width {
		return Image{}, fmt.Errorf("%w: %d × %d pixels, at most %d in all", ErrTooBig, want.Width, want.Height, MaxPixels)
	}
	yes := true
	shot, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format:                page.CaptureScreenshotFormatPng,
		Clip:                  &page.Viewport{Width: float64(p.Width), Height: height, Scale: 1},
		CaptureBeyondViewport: &yes,
	})
	if err != nil {
		return Image{}, fmt.Errorf("take the picture: %w", err)
	}
	var address string
	if err := evaluate(ctx, t, `location.href`, &address); err != nil {
		return Image{}, fmt.Errorf("look where the page is: %w", err)
	}
	if address != origin+"/" {
		return Image{}, errors.New("the page sent itself elsewhere")
	}
	config, err := png.DecodeConfig(bytes.NewReader(shot.Data))
	if err != nil {
		return Image{}, fmt.Errorf("read the picture: %w", err)
	}
	if config.Width != want.Width || config.Height != want.Height {
		return Image{}, fmt.Errorf("the picture is %d × %d pixels, not %d × %d", config.Width, config.Height, want.Width, want.Height)
	}
	want.PNG = shot.Data
	return want, nil
}

// waitForFonts returns when every font that the page's text needs is there, and
// ErrFont if one of them cannot be used.
func waitForFonts(ctx context.Context, t *chromedp.Target) error {
	for range fontWaves {
		yes := true
		if _, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: awaitFonts, AwaitPromise: &yes}); err != nil {
			return fmt.Errorf("wait for fonts: %w", err)
		}
		var state struct {
			Loading int      `json:"loading"`
			Failed  []string `json:"failed"`
		}
		if err := evaluate(ctx, t, fontState, &state); err != nil {
			return fmt.Errorf("look at fonts: %w", err)
		}
		if len(state.Failed) > 0 {
			return fmt.Errorf("%w: %s", ErrFont, strings.Join(state.Failed, "; "))
		}
		if state.Loading == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: fonts do not stop loading", ErrFont)
}

// evaluate puts the JSON value of an expression into value.
func evaluate(ctx context.Context, t *chromedp.Target, expression string, value any) error {
	yes := true
	result, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes})
	if err != nil {
		return err
	}
	if result.ExceptionDetails != nil {
		return errors.New(result.ExceptionDetails.Text)
	}
	return json.Unmarshal(result.Result.Value, value)
}

// answer gives the page what it may have, from memory, and fails every other
// request.
func (r *Renderer) answer(ctx context.Context, t *chromedp.Target, request fetch.EventRequestPaused, html []byte) {
	reply := fetch.FulfillRequestParams{RequestID: request.RequestID, ResponseCode: 200}
	headers := func(contentType string) []*fetch.HeaderEntry {
		return []*fetch.HeaderEntry{
			{Name: "Content-Type", Value: contentType},
			{Name: "Content-Security-Policy", Value: contentSecurityPolicy},
			{Name: "X-Content-Type-Options", Value: "nosniff"},
		}
	}
	path, ours := strings.CutPrefix(request.Request.URL, origin)
	font, isFont := strings.CutPrefix(path, "/fonts/")
	switch {
	case ours && path == "/" && request.ResourceType == network.ResourceTypeDocument:
		reply.ResponseHeaders, reply.Body = headers("text/html; charset=utf-8"), html
	case ours && path == FontStyles:
		reply.ResponseHeaders, reply.Body = headers("text/css; charset=utf-8"), fontStyles()
	case ours && isFont:
		body, ok := r.fonts(font)
		if !ok {
			reply.ResponseCode = 404
		}
		reply.ResponseHeaders, reply.Body = headers("font/woff2"), body
	default:
		// Aborted, because any other reason replaces a page that sends itself
		// elsewhere by an error page. An error here or below means that the tab is
		// closing.
		_, _ = cdp.Call(ctx, t, fetch.FailRequest, fetch.FailRequestParams{
			RequestID: request.RequestID, ErrorReason: network.ErrorReasonAborted,
		})
		return
	}
	_, _ = cdp.Call(ctx, t, fetch.FulfillRequest, reply)
}
