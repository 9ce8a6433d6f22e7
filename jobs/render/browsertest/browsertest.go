// Package browsertest lets a test use the product as a person with a browser does: open, read, click, type, on a desk
// or on a phone. It drives the same Chrome that draws the pictures; a missing one fails the test. It waits on what the
// page shows and never for a time to pass; only a page that is stuck for a minute is given up.
//
// With -shots DIR a test keeps pictures of what it saw: go test ./handlers -run Browser -shots /tmp/pictures
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"shiftpost/jobs/render"
)

// patience bounds every wait for a page.
const patience = time.Minute

// Browser is a running Chrome.
type Browser struct {
	ctx     context.Context
	release context.CancelFunc // waits for the process to end
	folder  string
}

// shared is the Chrome of this process's tests. It takes a quarter of a second to start and 200 MiB, so there is one.
var shared struct {
	sync.Mutex
	browser *Browser
	users   int // tests that have not ended
}

// Start returns the Chrome that all tests of the process share. The first that asks starts it, and it ends with the
// last.
func Start(t testing.TB) *Browser {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.browser == nil {
		b, err := launch()
		if err != nil {
			t.Fatalf("start Chrome: %v", err)
		}
		shared.browser = b
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.users--; shared.users == 0 {
			if err := shared.browser.end(); err != nil {
				t.Logf("end Chrome: %v", err)
			}
			shared.browser = nil
		}
	})
	return shared.browser
}

func launch() (*Browser, error) {
	path, err := render.FindChrome(os.Getenv("SHIFTPOST_CHROME_PATH"))
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "shiftpost-browsertest-")
	if err != nil {
		return nil, err
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(folder),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true),
		// Else a click is lost that comes after a page is there and before it was drawn once.
		chromedp.Flag("allow-pre-commit-input", true),
		chromedp.Flag("lang", "ja"))...)
	ctx, _ := chromedp.NewContext(allocator)
	b := &Browser{ctx, release, folder}
	if err := chromedp.Do(ctx); err != nil {
		return nil, errors.Join(err, b.end())
	}
	return b, nil
}

func (b *Browser) end() error {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	err := chromedp.Cancel(ctx)
	b.release()
	return errors.Join(err, os.RemoveAll(b.folder))
}

// Tab is one tab, with cookies of its own. Its methods end the test when they cannot do what they say.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	visits []string // addresses of pages asked for
}

// Tab opens an empty tab of that size in CSS pixels, as on a desk. It ends with the test.
func (b *Browser) Tab(t testing.TB, width, height int) *Tab {
	t.Helper()
	tab := &Tab{t: t}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.listen))
	t.Cleanup(end)
	tab.ctx = ctx
	// A tab lives as long as the context it is first used with: not one that ends with its first steps.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open tab: %v", err)
	}
	call(tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // beside other tabs
	tab.Window(width, height)
	return tab
}

// listen runs before the reply to the step that caused the event is read, so that a step's visits are known after it.
func (b *Tab) listen(event any) {
	if e, ok := event.(*network.EventRequestWillBeSent); ok && e.Type == network.ResourceTypeDocument && e.Request.Method == "GET" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.visits = append(b.visits, e.Request.URL)
	}
}

// Do runs steps of chromedp.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\n%s", err, b.text())
	}
}

// call sends one command of the DevTools protocol.
func call[P, R any](b *Tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return r
}

// text returns the address and what the page shows, for a failure's message.
func (b *Tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return s
}

// ---- the tab itself ----

// Window gives the tab another size in CSS pixels, as on a desk.
func (b *Tab) Window(width, height int) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(int64(width), int64(height)))
}

// Phone makes the tab one of a phone of that size in CSS pixels: touched, with two pixels for each.
func (b *Tab) Phone(width, height int) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(int64(width), int64(height), chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(2)))
}

// Dark lets pages know from now on that their reader likes them dark.
func (b *Tab) Dark() {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
}

// BeforePages runs a script in every page to come, before the page's own.
func (b *Tab) BeforePages(script string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// Block makes these addresses, and no others any more, impossible to reach.
func (b *Tab) Block(addresses ...string) {
	b.t.Helper()
	var patterns []*network.BlockPattern
	for _, a := range addresses {
		patterns = append(patterns, &network.BlockPattern{URLPattern: a, Block: true})
	}
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns})
}

// ---- going about ----

// Open goes to an address.
func (b *Tab) Open(address string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address))
}

// Reload loads the page anew.
func (b *Tab) Reload() {
	b.t.Helper()
	b.Do(chromedp.Reload())
}

// Leave runs a step that leads to another page, and waits for that one.
func (b *Tab) Leave(step func()) {
	b.t.Helper()
	Value[bool](b, `window.toBeLeft = true`)
	step()
	b.Until(`!window.toBeLeft`)
}

// Address returns where the tab is.
func (b *Tab) Address() string {
	b.t.Helper()
	return Value[string](b, `location.href`)
}

// Visits counts how often the tab asked so far for a page whose address begins with that, on its way to another or not.
func (b *Tab) Visits(begin string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, address := range b.visits {
		if strings.HasPrefix(address, begin) {
			n++
		}
	}
	return n
}

// ---- reading ----

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

// awaiting is a promise of an expression's first truthy value. It looks when the document changes, and now and then for
// what is not in the document: the focus, a picture's size, what a script keeps.
const awaiting = `new Promise((resolve) => {
	const watch = new MutationObserver(look);
	watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
	const timer = setInterval(look, 50);
	look();
	function look() {
		let value;
		try { value = (%s); } catch { return; }
		if (!value) return;
		watch.disconnect();
		clearInterval(timer);
		resolve(value);
	}
})`

// Await waits until an expression is truthy in the page, and returns its value. A page that is left for another while
// it waits is asked anew; an expression that throws is not truthy yet.
func Await[T any](b *Tab, expression string) T {
	b.t.Helper()
	return await[T](b, expression, expression)
}

func await[T any](b *Tab, expression, what string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[T](fmt.Sprintf(awaiting, expression), chromedp.EvalAwaitPromise))
		if err == nil {
			return v
		}
		var thrown *chromedp.ExceptionError
		if ctx.Err() != nil || errors.As(err, &thrown) {
			b.t.Fatalf("the page never showed %s: %v\n%s", what, err, b.text())
		}
	}
}

// Until waits until an expression is truthy in the page.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	await[bool](b, `!!(`+expression+`)`, expression)
}

// Sees waits until the page shows some words.
func (b *Tab) Sees(words string) {
	b.t.Helper()
	await[bool](b, fmt.Sprintf(`document.body.innerText.includes(%q)`, words), words)
}

// Loses waits until the page no longer shows some words.
func (b *Tab) Loses(words string) {
	b.t.Helper()
	await[bool](b, fmt.Sprintf(`!document.body.innerText.includes(%q)`, words), "itself without "+words)
}

// Has waits until the page shows an element that fits a CSS selector.
func (b *Tab) Has(selector string) {
	b.t.Helper()
	await[bool](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.checkVisibility({ visibilityProperty: true }))`, selector), selector)
}

// ---- acting ----

// Script runs a script in the page, for what a person does otherwise than by a click or a key.
func (b *Tab) Script(script string) {
	b.t.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](script, chromedp.EvalAwaitPromise))
}

// ready waits until the page is whole, so that its scripts are listening and nothing moves away from under a click.
func (b *Tab) ready() {
	b.t.Helper()
	await[bool](b, `document.readyState === "complete" && document.fonts.status === "loaded"`, "itself wholly")
}

// aim finds the innermost visible control with those words and marks it, so that a click can aim at it.
const aim = `{
	const words = %q;
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
	b.ready()
	if !Value[bool](b, fmt.Sprintf(aim, words)) {
		b.t.Fatalf("nothing to click shows %q\n%s", words, b.text())
	}
	b.Do(chromedp.Click(chromedp.CSS("[data-aimed]")))
}

// ClickOn clicks the first element that fits a CSS selector.
func (b *Tab) ClickOn(selector string) {
	b.t.Helper()
	b.Has(selector)
	b.ready()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Type empties a field and types into it.
func (b *Tab) Type(selector, words string) {
	b.t.Helper()
	b.Has(selector)
	b.ready()
	b.Do(chromedp.Clear(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), words))
}

// Press presses keys one after another, wherever the focus is; package kb names those that write nothing.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys))
}
