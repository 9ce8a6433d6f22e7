package render

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	// politeStop is how long a Chrome that is not needed any more may take to
	// end by itself, which lets it reap its own helpers. It takes 50 ms.
	politeStop = 2 * time.Second

	// removeTries and removeEvery bound the wait for the folder of a killed Chrome
	// to be free: two seconds.
	removeTries = 400
	removeEvery = 5 * time.Millisecond

	folderPrefix = "chrome-"
)

// baseFont is the one font of the machine as Chrome sees it: without any, Chrome
// aborts at its first text. It draws ASCII only, so text that forgets to name our
// families shows boxes everywhere instead of another face on every machine.
//
//go:embed base.ttf
var baseFont []byte

// fontConfig shows Chrome baseFont and no other font; %[1]s is the folder of this
// life of Chrome.
const fontConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>%[1]s/fonts</dir>
  <cachedir>%[1]s/fontcache</cachedir>
  <match target="font">
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="hinting" mode="assign"><bool>false</bool></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
  </match>
</fontconfig>
`

// flags are what is added to chromedp.DefaultExecAllocatorOptions; the package
// comment has the reasons.
var flags = []chromedp.ExecAllocatorOption{
	chromedp.Flag("disable-gpu", true),
	chromedp.Flag("disable-component-update", true),
	chromedp.Flag("disable-domain-reliability", true),
	chromedp.Flag("disable-quic", true),
	chromedp.Flag("no-pings", true),
	chromedp.Flag("no-proxy-server", true),
	chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
	chromedp.Flag("font-render-hinting", "none"),
	chromedp.Flag("disable-lcd-text", true),
}

// browser is one life of one Chrome: its processes and its folder.
type browser struct {
	ctx  context.Context // of chromedp; ends when Chrome is gone or told to go
	lost <-chan struct{} // closed when Chrome does not answer any more
	gone chan struct{}   // closed when no process and no folder is left

	pid     int
	folder  string
	release context.CancelFunc // kills Chrome and waits for it
	opening sync.RWMutex       // held for reading while a tab is made
	once    sync.Once
	why     string // it was ended; guarded by Renderer.mu
}

// startBrowser starts Chrome in a new folder below parent. When ctx ends first,
// that start is given up, but ctx does not bound the life of the browser.
//
// chromedp must not be cancelled while it makes something: its own goroutines
// write then what the cancellation reads. So a start that is given up has its
// process killed, which lets chromedp come to an end by itself.
func startBrowser(ctx context.Context, path, parent string, logf func(string, ...any)) (*browser, error) {
	folder, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for Chrome: %w", err)
	}
	b := &browser{folder: folder, gone: make(chan struct{})}
	if err := writeFonts(folder); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}

	var command *exec.Cmd
	options := append(chromedp.DefaultExecAllocatorOptions[:], flags...)
	options = append(options,
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(folder, "profile")),
		// The environment of this program holds LINE's secrets.
		chromedp.NoInheritEnv,
		chromedp.Env(
			"PATH="+os.Getenv("PATH"),
			"LD_LIBRARY_PATH="+os.Getenv("LD_LIBRARY_PATH"),
			"LANG=C.UTF-8",
			"HOME="+folder,
			"TMPDIR="+folder,
			"FONTCONFIG_FILE="+filepath.Join(folder, "fonts.conf"),
		),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
			c.SysProcAttr = processAttributes()
			c.Dir = folder // for whatever it writes beside itself
			command = c
		}),
	)
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	b.release = release
	running := make(chan int, 1) // gets the process id before chromedp waits for an answer
	b.ctx, _ = chromedp.NewContext(allocator, chromedp.WithLogf(logf), chromedp.WithErrorf(logf),
		chromedp.WithBrowserOption(func(*chromedp.Browser) { running <- command.Process.Pid }))

	// A deadline on b.ctx itself would end the browser later, at the deadline.
	made, givenUp := make(chan struct{}), make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(givenUp)
		select {
		case pid := <-running:
			killGroup(pid)
		case <-made:
		}
	})
	err = chromedp.Do(b.ctx)
	close(made)
	kept := keep()
	if !kept {
		<-givenUp // it kills no process that took the id over
	}
	if command != nil && command.Process != nil {
		b.pid = command.Process.Pid
	}
	if !kept || err != nil {
		b.stop(false)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %s does not start: %.1000s; install one with: %s", ErrNoChrome, path, strings.TrimSpace(err.Error()), InstallHint)
	}
	b.lost = chromedp.FromContext(b.ctx).Browser.LostConnection
	return b, nil
}

func writeFonts(folder string) error {
	if err := os.Mkdir(filepath.Join(folder, "fonts"), 0o700); err != nil {
		return fmt.Errorf("write Chrome's font settings: %w", err)
	}
	for name, content := range map[string][]byte{"fonts/base.ttf": baseFont, "fonts.conf": fmt.Appendf(nil, fontConfig, html.EscapeString(folder))} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return fmt.Errorf("write Chrome's font settings: %w", err)
		}
	}
	return nil
}

// dead is true when Chrome is gone or told to go.
func (b *browser) dead() bool {
	select {
	case <-b.ctx.Done():
		return true
	case <-b.lost:
		return true
	default:
		return false
	}
}

// stop ends every process of this Chrome, also frozen ones, and returns when
// nothing of it is left. If polite, Chrome is asked first. Later calls wait for
// the first one.
func (b *browser) stop(polite bool) {
	b.once.Do(func() {
		if !polite {
			killGroup(b.pid) // ends the making of a tab too
		}
		b.opening.Lock()
		defer b.opening.Unlock()
		if polite && !b.dead() {
			ctx, cancel := context.WithTimeout(b.ctx, politeStop)
			defer cancel()
			// An error does not matter: Chrome is killed all the same.
			_ = chromedp.Cancel(ctx)
		}
		killGroup(b.pid)
		b.release()
		// What cannot be removed now is swept by the next New.
		_ = removeFolder(b.folder)
		close(b.gone)
	})
	<-b.gone
}

// killGroup kills a Chrome and its helpers, of which some outlive it by a moment
// or, when stopped, for ever. None escapes by forking: the kernel lets no process
// with a signal waiting fork. Helpers whose parent died stay zombies until init
// reaps them. A pid of 0 stands for a Chrome that never ran.
func killGroup(pid int) {
	if pid > 0 {
		// An error means that all are gone.
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// removeFolder removes a folder of Chrome. A helper that is just dying may still
// write a file into a folder that was empty a moment ago, so it tries for a while.
func removeFolder(folder string) (err error) {
	for range removeTries {
		if err = os.RemoveAll(folder); err == nil {
			return nil
		}
		time.Sleep(removeEvery)
	}
	return err
}
