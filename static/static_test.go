package static_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"shiftpost/static"
)

// servedFiles lists what must be served: every file of this folder that is neither Go source nor a picture of the
// README.
func servedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && name == "readme" {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() && !strings.HasSuffix(name, ".go") && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 300 {
		t.Fatalf("only %d files found: the walk is broken", len(names))
	}
	return names
}

func get(t *testing.T, method, url string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	static.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryFileIsServedUnchangedUnderItsHashedURL(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		"css": "text/css; charset=utf-8", "svg": "image/svg+xml", "js": "text/javascript; charset=utf-8", "woff2": "font/woff2",
		"txt": "text/plain; charset=utf-8", "md": "text/plain; charset=utf-8", "tsv": "text/plain; charset=utf-8",
	}
	hashed := regexp.MustCompile(`^/static/[^.]+(\.min)?\.[0-9a-f]{12}\.[a-z0-9]+$`)
	for _, name := range servedFiles(t) {
		url := static.URL(name)
		if !hashed.MatchString(url) {
			t.Errorf("%s: URL %q has no hash before the extension", name, url)
		}
		res := get(t, "GET", url)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", name, res.StatusCode)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if body(t, res.Body) != string(want) {
			t.Errorf("%s: served bytes differ from the file", name)
		}
		extension := name[strings.LastIndex(name, ".")+1:]
		if got := res.Header.Get("Content-Type"); got != types[extension] {
			t.Errorf("%s: Content-Type %q, want %q", name, got, types[extension])
		}
		if got := res.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", name, got)
		}
		if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options %q", name, got)
		}
	}
}

func TestOnlyTheHashedAddressesAnswer(t *testing.T) {
	t.Parallel()
	old := regexp.MustCompile(`\.[0-9a-f]{12}\.`).ReplaceAllString(static.URL("app.css"), ".000000000000.")
	for _, url := range []string{
		old, "/static/app.css", "/static/", "/static", "/static/fonts/", "/static/js/", "/static/static.go", "/",
		"/static/../static.go", "/static/js/.gitkeep", strings.TrimPrefix(static.URL("app.css"), "/static"),
	} {
		res := get(t, "GET", url)
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", url, res.StatusCode)
		}
		if strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: a missing file may be cached for ever", url)
		}
		if strings.Contains(body(t, res.Body), "<a ") {
			t.Errorf("%s: lists a folder", url)
		}
	}
}

func TestOtherMethodsAreRefusedAndHeadHasNoBody(t *testing.T) {
	t.Parallel()
	url := static.URL("htmx.min.js")
	if res := get(t, "POST", url); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", res.StatusCode, res.Header.Get("Allow"))
	}
	if res := get(t, "HEAD", url); res.StatusCode != http.StatusOK || body(t, res.Body) != "" || res.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: status %d, Content-Length %q", res.StatusCode, res.Header.Get("Content-Length"))
	}
}

func TestTextIsCompressedForThoseWhoAcceptItAndFontsNever(t *testing.T) {
	t.Parallel()
	plain := body(t, get(t, "GET", static.URL("fonts.css")).Body)
	for accept, want := range map[string]bool{
		"gzip": true, "br, gzip, zstd": true, "GZIP;q=0.5": true, "deflate": false, "": false,
		"gzip;q=0": false, "gzip; q=0.000": false, "*": false,
	} {
		res := get(t, "GET", static.URL("fonts.css"), "Accept-Encoding", accept)
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("Accept-Encoding %q: compressed %v, want %v", accept, got, want)
		}
		if res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: Vary %q", accept, res.Header.Get("Vary"))
		}
		reader := io.Reader(res.Body)
		if want {
			z, err := gzip.NewReader(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			reader = z
		}
		if body(t, reader) != plain {
			t.Errorf("Accept-Encoding %q: another content", accept)
		}
	}
	if res := get(t, "GET", static.URL("fonts/biz-udpgothic-rest-400-normal.woff2"), "Accept-Encoding", "gzip"); res.Header.Get("Content-Encoding") != "" {
		t.Error("a font file was compressed again")
	}
}

func TestAnUnknownNamePanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("URL of an unknown name did not panic")
		}
	}()
	static.URL("js/no-such-file.js")
}

func TestEveryForeignFileHasItsLicenceTextAndALine(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("licences/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{
		"htmx.txt":                        "Zero-Clause BSD",
		"biz-udpgothic.txt":               "SIL OPEN FONT LICENSE Version 1.1",
		"noto-sans-jp.txt":                "SIL OPEN FONT LICENSE Version 1.1",
		"digital-go-jp-design-tokens.txt": "Copyright (c) 2023 デジタル庁",
	} {
		text, err := os.ReadFile("licences/" + name)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(text), words) {
			t.Errorf("%s does not say %q", name, words)
		}
		if !strings.Contains(string(readme), "("+name+")") {
			t.Errorf("licences/README.md has no line for %s", name)
		}
	}
}
