package render

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// chromes are looked for in this order. headless-shell comes first: it starts
// faster and needs a third of the memory of the whole browser. The programs in
// /usr/lib come before the names in PATH, which on Debian are shell scripts
// that stay between us and the browser.
var chromes = []string{
	"/usr/lib/chromium/chromium-headless-shell",
	"chromium-headless-shell",
	"chrome-headless-shell",
	"headless-shell",
	"headless_shell",
	"/usr/lib/chromium/chromium",
	"/usr/lib/chromium-browser/chromium-browser",
	"/opt/google/chrome/chrome",
	"chromium",
	"chromium-browser",
	"google-chrome-stable",
	"google-chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
}

// FindChrome gives the absolute path of the Chrome to use. A configured path or name is
// the only one tried; without one the usual places are searched, headless-shell
// before whole browsers. The error wraps ErrNoChrome. Whether the program is a
// Chrome that starts is seen only at the first picture.
func FindChrome(configured string) (path string, err error) {
	if configured != "" {
		path, err := lookPath(configured)
		if err != nil {
			return "", fmt.Errorf("%w: configured as %q: %w", ErrNoChrome, configured, err)
		}
		return path, nil
	}
	for _, name := range chromes {
		if path, err := lookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: none is installed; install it with: %s", ErrNoChrome, InstallHint)
}

func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
