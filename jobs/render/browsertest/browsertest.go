// Package browsertest lets a test use the product as a person with a browser does: open, read, click, type. It drives
// the same Chrome that draws the pictures; a missing one fails the test. It waits on what the page shows and never on
// time.
package browsertest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"shiftpost/jobs/render"
)

// shots is a folder for the pictures that Tab.Shot takes: go test ./cmd/shiftpost -run Story -shots DIR
var shots = flag.String("shots", "", "folder for pictures of the pages that browser tests see")

// patience bounds every wait for a page.
const patience = time.Minute

// Browser is one running Chrome.
type Browser struct{ ctx context.Context }

// Start starts a Chrome that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := render.FindChrome(os.Getenv("SHIFTPOST_CHROME_PATH"))
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "ja"))
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(release)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chrome: %v", err)
	}
	return &Browser{ctx}
}

// Tab is one tab, with cookies of its own.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// Tab opens an empty tab of that size in CSS pixels.
func (b *Browser) Tab(t testing.TB, width, height int) *Tab {
	t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	// A tab lives as long as the context it is first used with: not one that ends with its first steps.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open tab: %v", err)
	}
	tab := &Tab{t, ctx}
	tab.Do(chromedp.EmulateViewport(int64(width), int64(height)))
	return tab
}

// Do runs steps of chromedp and fails the test on an error.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text())
	}
}

// text returns the address and what the page shows, for a failure's message.
func (b *Tab) text() string {
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return s
}

// Open goes to an address.
func (b *Tab) Open(address string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address))
}

// Address returns where the tab is.
func (b *Tab) Address() string {
	b.t.Helper()
	return Value[string](b, `location.href`)
}

// Value evaluates an expression in the page; a promise is awaited.
func Value[T any](b *Tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("evaluate %.80s: %v\n%s", expression, err, b.text())
	}
	return v
}

// Sees waits until the page shows some words. A page that is left for another while it waits is asked anew.
func (b *Tab) Sees(words string) {
	b.t.Helper()
	b.await(`document.body && document.body.innerText.includes(`+strconv.Quote(words)+`)`, words)
}

// Loses waits until the page no longer shows some words.
func (b *Tab) Loses(words string) {
	b.t.Helper()
	b.await(`document.body && !document.body.innerText.includes(`+strconv.Quote(words)+`)`, "no "+words)
}

// Has waits until the page has an element that fits a CSS selector.
func (b *Tab) Has(selector string) {
	b.t.Helper()
	b.await(`document.querySelector(`+strconv.Quote(selector)+`) !== null`, selector)
}

func (b *Tab) await(condition, what string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	expression := `new Promise((resolve) => {
		const met = () => { try { return ` + condition + ` } catch { return false } };
		if (met()) return resolve(true);
		const watch = new MutationObserver(() => { if (met()) { watch.disconnect(); resolve(true); } });
		watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
		document.addEventListener("DOMContentLoaded", () => { if (met()) resolve(true); });
	})`
	for {
		met, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression, chromedp.EvalAwaitPromise))
		if met {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("the page never showed %s: %v\n%s", what, err, b.text())
		}
	}
}

// mark finds the innermost visible control with those words and marks it, so that a click can aim at it.
const mark = `{
	const words = WORDS;
	for (const old of document.querySelectorAll("[data-aimed]")) old.removeAttribute("data-aimed");
	const fits = [...document.querySelectorAll("a, button, summary, label, [role=button], input[type=submit]")]
		.filter((e) => e.checkVisibility() && (e.innerText || e.value || e.getAttribute("aria-label") || "").includes(words) && !e.disabled);
	fits.sort((a, b) => a.innerText.length - b.innerText.length);
	if (fits.length > 0) {
		fits[0].setAttribute("data-aimed", "");
		fits[0].removeAttribute("target"); // what opens in another tab is followed in this one
	}
	fits.length > 0;
}`

// Click clicks the link, button or label that shows some words; of several the one with the fewest others.
func (b *Tab) Click(words string) {
	b.t.Helper()
	b.Sees(words)
	if !Value[bool](b, strings.Replace(mark, "WORDS", strconv.Quote(words), 1)) {
		b.t.Fatalf("nothing to click shows %q\n%s", words, b.text())
	}
	b.Do(chromedp.Click(chromedp.CSS("[data-aimed]")))
}

// ClickOn clicks the first element that fits a CSS selector.
func (b *Tab) ClickOn(selector string) {
	b.t.Helper()
	b.Has(selector)
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Type empties a field and types into it.
func (b *Tab) Type(selector, words string) {
	b.t.Helper()
	b.Has(selector)
	b.Do(chromedp.Clear(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), words))
}

// Shot keeps a picture of the whole page if somebody asked for pictures.
func (b *Tab) Shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`document.fonts.ready`, chromedp.EvalAwaitPromise))
	size := Value[[]float64](b, `[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]`)
	png, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
			Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1}})
		return r.Data, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
