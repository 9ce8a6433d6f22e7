package browsertest

import (
	_ "embed"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/page"
)

// shots is the one flag of all browser tests.
var shots = flag.String("shots", "", "folder for pictures of the pages that browser tests see")

// axe is axe-core 4.14.1 of https://github.com/dequelabs/axe-core, MPL-2.0: axe-core-LICENSE.txt. Only tests use it.
//
//go:embed axe.min.js
var axe string

// Shot keeps a picture of the whole page if somebody asked for pictures.
func (b *Tab) Shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	b.Script(`document.fonts.ready`)
	size := Value[[]float64](b, `[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]`)
	picture := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
		Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1}})
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// wide says what makes the page wider than its window; empty if nothing does.
const wide = `(() => {
	const page = document.documentElement, width = page.clientWidth;
	if (page.scrollWidth <= width) return "";
	return page.scrollWidth + " px wide in a window of " + width + "\n" + [...document.querySelectorAll("body *")]
		.filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".visually-hidden,.skip,thead"))
		.map((e) => e.outerHTML.slice(0, 120)).join("\n");
})()`

// Fits checks that the page is not wider than its window.
func (b *Tab) Fits(name string) {
	b.t.Helper()
	b.Script(`document.fonts.ready`)
	if w := Value[string](b, wide); w != "" {
		b.t.Errorf("%s is %s", name, w)
	}
}

// Accessible checks with axe-core that readers of every kind can use the page, and lists what is in their way. It keeps
// a Shot first, because axe-core moves what scrolls.
func (b *Tab) Accessible(name string) {
	b.t.Helper()
	b.Shot(name)
	b.Script(axe)
	for _, v := range Value[[]struct {
		ID, Help string
		At       []string
	}](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) =>
		({ id: v.id, help: v.help, at: v.nodes.map((n) => n.html.slice(0, 200) + " — " + n.failureSummary) })))`) {
		b.t.Errorf("%s: %s: %s\n\t%s", name, v.ID, v.Help, strings.Join(v.At, "\n\t"))
	}
}

// WatchErrors lets the pages to come remember what goes wrong on them.
func (b *Tab) WatchErrors() {
	b.t.Helper()
	b.BeforePages(`window.wentWrong = [];
		addEventListener("securitypolicyviolation", (e) => wentWrong.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
		addEventListener("error", (e) => wentWrong.push(e.message));`)
}

// Errors lists what the content security policy of the page refused and the errors of its scripts, after WatchErrors.
func (b *Tab) Errors() []string {
	b.t.Helper()
	return Value[[]string](b, `document.fonts.ready.then(() => wentWrong)`)
}
