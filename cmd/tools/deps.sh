#!/bin/sh
# Installs with apt what the build and the tests need and this machine lacks: a C compiler (SQLite is C), a headless
# Chrome (it draws the tables) and one system font (Chrome does not start without any). Without the right to install,
# it prints the one command that does.
set -eu

missing=
command -v cc >/dev/null || command -v gcc >/dev/null || missing="$missing gcc libc6-dev"

chrome=${SHIFTPOST_CHROME_PATH:-}
for path in /usr/lib/chromium/chromium-headless-shell /usr/bin/chromium-headless-shell /usr/lib/chromium/chromium \
	/usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome-stable /usr/bin/google-chrome; do
	[ -n "$chrome" ] || [ ! -x "$path" ] || chrome=$path
done
[ -n "$chrome" ] || missing="$missing chromium-headless-shell"

[ -n "$(find /usr/share/fonts /usr/local/share/fonts -name '*.?tf' 2>/dev/null | head -n 1)" ] || missing="$missing fonts-dejavu-core"

[ -n "$missing" ] || exit 0
command="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive $command
	exit 0
fi
echo "This machine lacks:$missing" >&2
echo "Please run: sudo $command" >&2
echo "Where no chromium-headless-shell is to be had, install any Chrome and set SHIFTPOST_CHROME_PATH to it." >&2
exit 1
