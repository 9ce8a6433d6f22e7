package render_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/render"
	"shiftpost/static"
)

func sameColor(a, b color.Color) bool {
	r1, g1, b1, a1 := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	return r1 == r2 && g1 == g2 && b1 == b2 && a1 == a2
}

var (
	red   = color.RGBA{R: 255, A: 255}
	green = color.RGBA{G: 128, A: 255} // CSS green
	blue  = color.RGBA{B: 255, A: 255}
	white = color.RGBA{R: 255, G: 255, B: 255, A: 255}
)

func TestThePictureIsAsWideAsAskedAndAsHighAsItsContent(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	for _, c := range []struct {
		width         int
		scale         float64
		height        string
		wantX, wantY  int
		lastIsContent bool
	}{
		{1080, 2, "700px", 2160, 1400, true},
		{100, 1, "3px", 100, 3, true},
		{333, 1.5, "10px", 500, 15, true}, // 499.5 rounds up
		{100, 3, "9.2px", 300, 30, false},
		{100, 1, "0", 100, 1, false},
		{390, 4, "2200px", 1560, 8800, true},
	} {
		p := page(`<div style="background:red;height:` + c.height + `"></div>`)
		p.Width, p.Scale = c.width, c.scale
		picture := mustDraw(t, s, p)
		size := picture.Bounds().Size()
		if size.X != c.wantX || size.Y != c.wantY {
			t.Errorf("%d px at %v, %s high: picture is %v, want %d × %d", c.width, c.scale, c.height, size, c.wantX, c.wantY)
		}
		if c.lastIsContent && !(sameColor(picture.At(0, 0), red) && sameColor(picture.At(size.X-1, size.Y-1), red)) {
			t.Errorf("%d px at %v: corners are %v and %v, not red", c.width, c.scale, picture.At(0, 0), picture.At(size.X-1, size.Y-1))
		}
	}
}

func TestContentWiderThanThePictureIsCutOff(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	picture := mustDraw(t, s, page(`<div style="background:blue;width:500px;height:20px"></div>`))
	if size := picture.Bounds().Size(); size != image.Pt(100, 20) {
		t.Errorf("picture is %v", size)
	}
}

func TestAPageOf40MegapixelsIsDrawnWholeAndABiggerOneRefused(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	// 2160 × 18518 is just below the limit, and higher than Chrome's biggest texture.
	p := page(`<div style="background:blue;height:9249px"></div><div style="background:red;height:10px"></div>`)
	p.Width, p.Scale = 1080, 2
	picture := mustDraw(t, s, p)
	if size := picture.Bounds().Size(); size != image.Pt(2160, 18518) {
		t.Errorf("picture is %v", size)
	}
	for y, want := range map[int]color.Color{0: blue, 16383: blue, 16384: blue, 18497: blue, 18498: red, 18517: red} {
		for _, x := range []int{0, 2159} {
			if got := picture.At(x, y); !sameColor(got, want) {
				t.Errorf("pixel %d, %d is %v, want %v", x, y, got, want)
			}
		}
	}
	p = page(`<div style="height:9260px"></div>`)
	p.Width, p.Scale = 1080, 2
	if _, err := s.PNG(t.Context(), p); !errors.Is(err, render.ErrTooBig) {
		t.Errorf("a bigger page: %v, want ErrTooBig", err)
	}
}

func TestSizesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	for _, p := range []render.Page{{Width: 0, Scale: 1}, {Width: -1, Scale: 1}, {Width: 100}, {Width: 100, Scale: -1}, {Width: 100, Scale: 4.1}, {Width: 1, Scale: 0.4}, {Width: 100, Scale: math.NaN()}} {
		if _, err := s.PNG(t.Context(), p); err == nil {
			t.Errorf("width %d, scale %v was drawn", p.Width, p.Scale)
		}
	}
}

// cells draws each text into a box of 60 × 40 pixels of its own.
func cells(t *testing.T, s *studio, style string, texts []string) []image.Image {
	t.Helper()
	var body strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&body, `<div style="height:40px;width:60px;overflow:hidden;%s">%s</div>`, style, text)
	}
	p := page(body.String())
	p.Width = 60
	picture := mustDraw(t, s, p).(interface {
		SubImage(image.Rectangle) image.Image
	})
	var parts []image.Image
	for i := range texts {
		parts = append(parts, picture.SubImage(image.Rect(0, i*40, 60, (i+1)*40)))
	}
	return parts
}

func samePixels(a, b image.Image) bool {
	size := a.Bounds().Size()
	if b.Bounds().Size() != size {
		return false
	}
	for y := range size.Y {
		for x := range size.X {
			if !sameColor(a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y), b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y)) {
				return false
			}
		}
	}
	return true
}

func TestRareCharactersOfNamesAreNotTheEmptyBox(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	// Two code points that no font may ever draw, then nothing at all.
	texts := []string{"\U0010FFFD", "\U000F1234", "&nbsp;"}
	for c := range strings.SplitSeq("髙 﨑 𠮷 德 濵 栁 ① ㈱ ★ ～ – 翌 Ⅲ 𠮟 𥔎 ễ", " ") {
		texts = append(texts, c)
	}
	for _, weight := range []string{"400", "700"} {
		drawn := cells(t, s, "font-weight:"+weight, texts)
		if !samePixels(drawn[0], drawn[1]) || samePixels(drawn[0], drawn[2]) {
			t.Fatalf("weight %s: what should be the empty box is not always the same, or is nothing", weight)
		}
		for i, text := range texts[3:] {
			for j, other := range drawn {
				if j != i+3 && samePixels(drawn[i+3], other) {
					t.Errorf("weight %s: %s looks like %q", weight, text, texts[j])
				}
			}
		}
	}
	regular, bold := cells(t, s, "", []string{"髙", "𠮷"}), cells(t, s, "font-weight:700", []string{"髙", "𠮷"})
	for i := range regular {
		if samePixels(regular[i], bold[i]) {
			t.Error("bold looks like regular")
		}
	}
}

func TestJapaneseWithoutOurFontsIsAnEmptyBoxWhateverTheMachineHas(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	for _, family := range []string{"sans-serif", "serif", "monospace", "system-ui", "'DejaVu Sans'", "'Noto Sans CJK JP'", "'IPAexGothic'"} {
		drawn := cells(t, s, "font-family:"+family, []string{"\U0010FFFD", "あ", "髙", "☺", "&nbsp;"})
		if !samePixels(drawn[0], drawn[1]) || !samePixels(drawn[0], drawn[2]) || !samePixels(drawn[0], drawn[3]) || samePixels(drawn[0], drawn[4]) {
			t.Errorf("%s draws with a font of this machine", family)
		}
	}
}

func TestTheSamePageGivesTheSameBytesInAnotherChrome(t *testing.T) {
	t.Parallel()
	p := page(`<b>髙橋 𠮷田</b> 17:00–翌1:00 ①★`)
	p.Width, p.Scale = 540, 2
	var first []byte
	for range 2 {
		s := newStudio(t, render.Options{})
		for range 2 {
			shot, err := s.PNG(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = shot.PNG
			}
			if !bytes.Equal(first, shot.PNG) {
				t.Error("the bytes differ")
			}
		}
	}
}

func TestAFontThatIsMissingOrBrokenFailsThePicture(t *testing.T) {
	t.Parallel()
	for name, fonts := range map[string]func(string) ([]byte, bool){
		"missing": func(string) ([]byte, bool) { return nil, false },
		"broken":  func(string) ([]byte, bool) { return []byte("wOF2 but no more"), true },
		"the fallback alone": func(name string) ([]byte, bool) {
			if strings.HasPrefix(name, "noto-") {
				return nil, false
			}
			return static.FontFile(name)
		},
	} {
		s := newStudio(t, render.Options{Fonts: fonts})
		if _, err := s.PNG(t.Context(), page("髙橋と𠮷田")); !errors.Is(err, render.ErrFont) {
			t.Errorf("%s: %v, want ErrFont", name, err)
		}
		if _, err := s.PNG(t.Context(), page("<p style='height:10px'></p>")); err != nil {
			t.Errorf("%s: a page without text: %v", name, err)
		}
	}
}

func TestAStyleSheetThatIsNotThereFailsThePicture(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	for _, href := range []string{"/nowhere.css", "@font-face{}"} {
		html := []byte(`<!doctype html><link rel="stylesheet" href="` + href + `"><p>2026`)
		if _, err := s.PNG(t.Context(), render.Page{HTML: html, Width: 100, Scale: 1}); !errors.Is(err, render.ErrFont) {
			t.Errorf("a page that links to %s: %v, want ErrFont", href, err)
		}
	}
}

func TestNothingOutsideIsEverAskedForAnything(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	var visitors atomic.Int32
	go func() {
		defer close(accepted)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			visitors.Add(1)
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for _, host := range []string{"127.0.0.1", "localhost", "render.invalid", "[::ffff:127.0.0.1]"} {
		body.WriteString(strings.ReplaceAll(`
			<link rel="preconnect" href="URL"><link rel="dns-prefetch" href="URL"><link rel="prefetch" href="URL/a"><link rel="prerender" href="URL/b">
			<link rel="preload" as="image" href="URL/c"><link rel="preload" as="font" crossorigin href="URL/d"><link rel="modulepreload" href="URL/e">
			<link rel="stylesheet" href="URL/f"><link rel="icon" href="URL/g"><link rel="manifest" href="URL/h">
			<style>@import url(URL/i); p{background:url(URL/k)}</style><p>x</p>
			<script src="URL/l"></script><script type="speculationrules">{"prefetch":[{"source":"list","urls":["URL/m"]}]}</script>
			<img src="URL/n" srcset="URL/o 2x"><iframe src="URL/p"></iframe><object data="URL/q"></object><embed src="URL/r">
			<video src="URL/s" poster="URL/t" autoplay></video><audio src="URL/u" autoplay></audio><svg><image href="URL/v"/><use href="URL/w#x"/></svg>
			<a href="URL/x" ping="URL/y">x</a><div>x</div>
			<script>fetch("URL/z"); new WebSocket("URL/ws".replace("http","ws")); document.body.innerHTML = ""</script>`,
			"URL", "http://"+net.JoinHostPort(strings.Trim(host, "[]"), port)))
	}
	p := page(`<div style="background:green;height:20px"></div><div style="height:20px;background:url('data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22%3E%3Crect width=%22200%22 height=%2220%22 fill=%22blue%22/%3E%3C/svg%3E')"></div>` + body.String())
	picture := mustDraw(t, s, p)
	if got := picture.At(50, 10); !sameColor(got, green) {
		t.Errorf("the page's own colour is %v, not green: its script ran or it was replaced", got)
	}
	if got := picture.At(50, 30); !sameColor(got, blue) {
		t.Errorf("the data: image is %v, not blue", got)
	}
	outsideFont := page(`<style>@font-face{font-family:x;src:url(http://127.0.0.1:` + port + `/j)} body{font-family:x}</style>x`)
	if _, err := s.PNG(t.Context(), outsideFont); !errors.Is(err, render.ErrFont) {
		t.Errorf("a font from outside: %v, want ErrFont", err)
	}
	// Only a Chrome that is gone asks for nothing more.
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if visitors.Load() != 0 {
		t.Errorf("%d connections were made", visitors.Load())
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 1)) // returns when the listener has seen us
	_ = c.Close()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-accepted
	if visitors.Load() != 1 {
		t.Errorf("the listener counts %d visitors, not the one it had", visitors.Load())
	}
}

func TestAPageThatSendsItselfElsewhereNeverGivesAnotherPicture(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	const body = `<div style="background:green;height:90px">髙</div>`
	plain, err := s.PNG(t.Context(), page(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []string{"http://127.0.0.1:9/", "https://render.invalid/other", "about:blank"} {
		sent, err := s.PNG(t.Context(), page(`<meta http-equiv="refresh" content="0;url=`+elsewhere+`">`+body))
		if err == nil && !bytes.Equal(plain.PNG, sent.PNG) {
			t.Errorf("sent to %s, another picture of %d × %d pixels came out", elsewhere, sent.Width, sent.Height)
		}
	}
}

func TestChromeGetsNoneOfOurEnvironmentAndWorksInItsOwnFolder(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	mustDraw(t, s, page("x"))
	started := s.await(t, "chrome started")
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", started.pid))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for variable := range strings.SplitSeq(strings.TrimSuffix(string(environment), "\x00"), "\x00") {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"FONTCONFIG_FILE", "HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "TMPDIR"}
	if !slices.Equal(names, want) {
		t.Errorf("Chrome's environment has %q, want %q", names, want)
	}
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", started.pid))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(folder) != s.folder {
		t.Errorf("Chrome works in %s, not in a folder of %s", folder, s.folder)
	}
	if caches, err := filepath.Glob(filepath.Join(folder, "fontcache", "*")); err != nil || len(caches) == 0 {
		t.Errorf("Chrome keeps its font cache elsewhere: %q, %v", caches, err)
	}
}

// meddle gives Options.Fonts that call f when a page begins to load a font: the
// picture is then surely in work.
func meddle(f func()) func(string) ([]byte, bool) {
	return func(name string) ([]byte, bool) {
		f()
		return static.FontFile(name)
	}
}

func TestAPictureSurvivesTheDeathOfChromeOrOfItsPage(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"browser", "renderer", ""} {
		var s *studio
		var once sync.Once
		s = newStudio(t, render.Options{Fonts: meddle(func() {
			once.Do(func() {
				if s.signal(t, kind, syscall.SIGKILL) == 0 {
					t.Errorf("no process of kind %q to kill", kind)
				}
			})
		})})
		p := page(`髙<div style="background:red;height:20px"></div>`)
		if picture := mustDraw(t, s, p); !sameColor(picture.At(50, 50), red) {
			t.Errorf("%q killed: the picture is wrong", kind)
		}
	}
}

func TestAPictureUnderWhichChromeDiesTwiceFailsAndTheNextOneDoesNot(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"browser", "renderer"} {
		var s *studio
		var kills atomic.Int32
		s = newStudio(t, render.Options{Fonts: meddle(func() {
			if kills.Load() < 2 && s.signal(t, kind, syscall.SIGKILL) > 0 {
				kills.Add(1)
			}
		})})
		began := time.Now()
		if _, err := s.PNG(t.Context(), page("髙")); !errors.Is(err, render.ErrCrashed) {
			t.Errorf("%s killed twice: %v, want ErrCrashed", kind, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s killed twice: noticed after %v only", kind, took)
		}
		mustDraw(t, s, page("髙"))
	}
}

func TestAChromeThatDiesBetweenTwoPicturesLeavesNothingAndIsReplaced(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	mustDraw(t, s, page("髙"))
	if s.signal(t, "browser", syscall.SIGKILL) != 1 {
		t.Fatal("no Chrome to kill")
	}
	if e := s.await(t, "chrome ended"); e.reason != "died" {
		t.Errorf("ended by reason %q", e.reason)
	}
	s.mustBeEmpty(t)
	mustDraw(t, s, page("髙"))
}

func TestAFrozenChromeIsKilledAtTheDeadlineAndReplaced(t *testing.T) {
	t.Parallel()
	var s *studio
	var once sync.Once
	s = newStudio(t, render.Options{Timeout: 5 * time.Second, Fonts: meddle(func() {
		once.Do(func() { s.signal(t, "", syscall.SIGSTOP) })
	})})
	mustDraw(t, s, page(`<div style="height:10px"></div>`)) // no font, so not frozen yet
	began := time.Now()
	if _, err := s.PNG(t.Context(), page("髙")); !errors.Is(err, render.ErrTimeout) {
		t.Errorf("frozen while drawing: %v, want ErrTimeout", err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the deadline of 5 s was kept after %v only", took)
	}
	s.mustBeEmpty(t)
	mustDraw(t, s, page("髙"))

	s.signal(t, "", syscall.SIGSTOP)
	if _, err := s.PNG(t.Context(), page("髙")); !errors.Is(err, render.ErrTimeout) {
		t.Errorf("frozen before drawing: %v, want ErrTimeout", err)
	}
	s.mustBeEmpty(t)
	mustDraw(t, s, page("髙"))
}

func TestTheDeadlineOfTheCallerCountsToo(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newStudio(t, render.Options{Fonts: meddle(func() { <-release })})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := s.PNG(ctx, page("髙")) // its font never comes
	if !errors.Is(err, render.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want ErrTimeout and DeadlineExceeded", err)
	}
	close(release)
	mustDraw(t, s, page("髙"))
}

func TestACallerWhoGoesAwayEndsThePictureButNotChrome(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newStudio(t, render.Options{Fonts: meddle(cancel)})
	if _, err := s.PNG(ctx, page("髙")); !errors.Is(err, context.Canceled) || errors.Is(err, render.ErrTimeout) {
		t.Errorf("%v, want Canceled", err)
	}
	mustDraw(t, s, page("髙"))
	if first := s.await(t, "chrome started"); len(s.events) != 0 || len(s.processes(t)) == 0 {
		t.Errorf("Chrome %d was replaced: %+v", first.pid, <-s.events)
	}
}

func TestAMissingChromeIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	notExecutable := filepath.Join(t.TempDir(), "chrome")
	if err := os.WriteFile(notExecutable, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	notAProgram := filepath.Join(t.TempDir(), "chrome")
	if err := os.WriteFile(notAProgram, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/no/such/chrome", "no-such-chrome", "/bin/false", "/bin/true", notExecutable, notAProgram, "/tmp"} {
		s := newStudio(t, render.Options{ChromePath: path})
		began := time.Now()
		_, err := s.PNG(t.Context(), page("髙"))
		if !errors.Is(err, render.ErrNoChrome) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want ErrNoChrome with the path", path, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: known after %v only", path, took)
		}
		s.mustBeEmpty(t)
	}
}

func TestAProgramThatNeverSpeaksIsKilledAtTheDeadline(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "chrome")
	// A shell with a child, as Debian's wrapper is one. Its arguments hold the folder
	// by which the test finds it.
	if err := os.WriteFile(script, []byte("#!/bin/sh\n/bin/sh -c 'sleep 1000; : \"$1\"' sh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newStudio(t, render.Options{ChromePath: script, Timeout: 2 * time.Second})
	if _, err := s.PNG(t.Context(), page("髙")); !errors.Is(err, render.ErrTimeout) {
		t.Errorf("%v, want ErrTimeout", err)
	}
	s.mustBeEmpty(t)
}

func TestAChromeWithoutWorkIsEndedAfterItsIdleTime(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	s := newStudio(t, render.Options{Clock: clock, IdleAfter: 40 * time.Second})
	mustDraw(t, s, page("髙"))
	first := s.await(t, "chrome started")
	clock.Advance(39 * time.Second)
	mustDraw(t, s, page("髙")) // the idle time begins anew
	clock.Advance(39 * time.Second)
	mustDraw(t, s, page("髙"))
	if len(s.events) > 0 {
		t.Fatalf("too early: %+v", <-s.events)
	}
	clock.Advance(40 * time.Second)
	if ended := s.await(t, "chrome ended"); ended.reason != "idle" || ended.pid != first.pid {
		t.Errorf("ended: %+v, started: %+v", ended, first)
	}
	s.mustBeEmpty(t)
	mustDraw(t, s, page("髙"))
	if second := s.await(t, "chrome started"); second.pid == first.pid {
		t.Error("no new Chrome")
	}
}

func TestPicturesAreDrawnTwoAtATime(t *testing.T) {
	t.Parallel()
	var in, most atomic.Int32
	both := make(chan struct{})
	var once sync.Once
	s := newStudio(t, render.Options{Fonts: meddle(func() {
		n := in.Add(1)
		defer in.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		if n == 2 {
			once.Do(func() { close(both) })
		}
		<-both // a single one in work never gets on
	})})
	colors := map[string]color.Color{"red": red, "green": green, "blue": blue, "white": white}
	var wg sync.WaitGroup
	for range 2 {
		for name, want := range colors {
			wg.Go(func() {
				// A character of one slice only: each page asks for one font.
				picture := mustDraw(t, s, page(`<div style="height:20px;background:`+name+`"></div>𠮷`))
				if got := picture.At(50, 10); !sameColor(got, want) {
					t.Errorf("the %s page is %v", name, got)
				}
			})
		}
	}
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d were drawn at a time", most.Load())
	}
	if started := len(s.events); started != 1 {
		t.Errorf("%d events, want one start of Chrome", started)
	}
}

func TestCloseLeavesNothingAndLetsNothingBegin(t *testing.T) {
	t.Parallel()
	s := newStudio(t, render.Options{})
	mustDraw(t, s, page("髙"))
	if len(s.processes(t)) == 0 {
		t.Fatal("this test does not see Chrome's processes")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	s.mustBeEmpty(t)
	if e := s.await(t, "chrome ended"); e.reason != "closed" {
		t.Errorf("ended by reason %q", e.reason)
	}
	if _, err := s.PNG(t.Context(), page("髙")); !errors.Is(err, render.ErrClosed) {
		t.Errorf("a picture after Close: %v, want ErrClosed", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestCloseWaitsForThePictureInWorkButNotForEver(t *testing.T) {
	t.Parallel()
	inWork, release := make(chan struct{}, 100), make(chan struct{})
	s := newStudio(t, render.Options{Fonts: meddle(func() { inWork <- struct{}{}; <-release })})
	result := make(chan error, 1)
	go func() {
		_, err := s.PNG(t.Context(), page("髙"))
		result <- err
	}()
	<-inWork
	ctx, cancel := context.WithCancelCause(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	gone := errors.New("waited long enough")
	cancel(gone)
	if err := <-closed; !errors.Is(err, gone) {
		t.Errorf("Close: %v, want %v", err, gone)
	}
	if err := <-result; !errors.Is(err, render.ErrClosed) {
		t.Errorf("the picture in work: %v, want ErrClosed", err)
	}
	s.mustBeEmpty(t)
	close(release)
}

func TestAFolderIsSweptAtTheStartAndHasOneOwner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	left := filepath.Join(folder, "chrome-123", "profile", "Default")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(folder, "somebody's file")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := render.New(render.Options{TempDir: folder})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "chrome-123")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an earlier Chrome left is still there: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := render.New(render.Options{TempDir: folder}); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("a second owner: %v", err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	r, err = render.New(render.Options{TempDir: folder})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := render.New(render.Options{TempDir: kept}); err == nil {
		t.Error("a file was taken as folder")
	}
	if _, err := render.New(render.Options{}); err == nil {
		t.Error("no folder was taken")
	}
}

func TestFindChromeTakesTheConfiguredOneOrNone(t *testing.T) {
	t.Parallel()
	found, err := render.FindChrome("")
	if err != nil {
		t.Fatalf("these tests draw with a real Chrome: %v", err)
	}
	if got, err := render.FindChrome(found); got != found || err != nil {
		t.Errorf("FindChrome(%q) = %q, %v", found, got, err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, found)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := render.FindChrome(relative); got != found || err != nil {
		t.Errorf("FindChrome(%q) = %q, %v", relative, got, err)
	}
	if got, err := render.FindChrome("/bin/false"); got != "/bin/false" || err != nil {
		t.Errorf("FindChrome(/bin/false) = %q, %v", got, err)
	}
	if got, err := render.FindChrome("/no/such/chrome"); !errors.Is(err, render.ErrNoChrome) {
		t.Errorf("FindChrome(/no/such/chrome) = %q, %v", got, err)
	}
}

// BenchmarkPNG draws a month of seven teachers at 2x, in a Chrome that runs.
func BenchmarkPNG(b *testing.B) {
	r, err := render.New(render.Options{TempDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(context.WithoutCancel(b.Context())) })
	var rows strings.Builder
	for day := range 31 {
		fmt.Fprintf(&rows, `<tr><th>12/%d</th>`, day+1)
		for range 7 {
			fmt.Fprintf(&rows, `<td><b>17:%02d</b><br>–翌1:00 本町</td>`, day)
		}
		rows.WriteString("</tr>")
	}
	p := page(`<h1>2026年12月 シフト表</h1><table><tr><td></td><th>髙橋<th>山﨑<th>𠮷田<th>德川<th>濵口<th>栁<th>佐藤</tr>` + rows.String() + `</table>`)
	p.Width, p.Scale = 1080, 2
	if _, err := r.PNG(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		if _, err := r.PNG(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAPictureMayBeGivenUpAtAnyMomentOfTheStartOfChromeOrOfItsTab(t *testing.T) {
	t.Parallel()
	for late := time.Duration(0); late < 600*time.Millisecond; late += 25 * time.Millisecond {
		s := newStudio(t, render.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), late)
		_, err := s.PNG(ctx, page("髙"))
		cancel()
		if err != nil && !errors.Is(err, render.ErrTimeout) {
			t.Errorf("given up after %v: %v", late, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		s.mustBeEmpty(t)
	}
}
