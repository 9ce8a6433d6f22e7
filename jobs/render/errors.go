package render

import "errors"

// What can go wrong, for errors.Is. The errors that wrap them say more; none
// holds anything of the page's content.
var (
	// ErrNoChrome says that no Chrome was found, or that the one found does
	// not start. The text names the path, Chrome's own words and what to install.
	ErrNoChrome = errors.New("no working Chrome")

	// ErrTimeout says that the picture was not ready in time. The Chrome that
	// was to draw it has been killed: it may be frozen.
	ErrTimeout = errors.New("picture not ready in time")

	// ErrCrashed says that Chrome, or the process of the page, died twice while
	// it drew the page.
	ErrCrashed = errors.New("browser crashed")

	// ErrTooBig says that the page has more than MaxPixels.
	ErrTooBig = errors.New("page too big for a picture")

	// ErrFont says that a font the page uses is missing or broken, or the style
	// sheet that names it, so text would be in another face than the one chosen.
	ErrFont = errors.New("font not usable")

	// ErrClosed says that Close was called.
	ErrClosed = errors.New("renderer closed")
)

// InstallHint is the one command that gives a Debian machine its Chrome.
const InstallHint = "apt-get install chromium-headless-shell"
