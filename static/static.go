// Package static holds everything the site serves that is the same for
// everybody: style sheets, scripts and fonts, embedded in the binary.
//
// Every file has one address with a hash of its content in it, so browsers may
// keep it for ever and a new version is fetched at once. [URL] gives that
// address, [Handler] answers it. Nothing private belongs here: no sign-in stands
// before it.
//
// To add a file, put it into this folder (js/ for our own scripts) and name it in
// a view with URL. Foreign files need a line and a licence text in licences/.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed *.css icon.svg htmx.min.js js fonts licences
var embedded embed.FS

// Prefix is the path under which Handler expects to be mounted; every URL begins
// with it.
const Prefix = "/static/"

// fontStyles is the one served name that is no file: the faces of FontCSS, with
// the hashed address of each font file.
const fontStyles = "fonts.css"

// asset is one served file, held ready to be written.
type asset struct {
	contentType string
	body        []byte
	gzipped     []byte // nil where compressing gains nothing
}

// catalog finds assets by their hashed address and addresses by their name.
type catalog struct {
	urls   map[string]string
	assets map[string]asset
}

// load hashes the 11 MB of embedded files once, at the first use, so that a
// program which serves nothing does not pay for it.
var load = sync.OnceValue(func() *catalog {
	c := &catalog{urls: map[string]string{}, assets: map[string]asset{}}
	err := fs.WalkDir(embedded, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		body, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		c.add(name, body)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("static: read embedded files: %v", err))
	}
	c.add(fontStyles, []byte(FontCSS(func(file string) string { return c.urls["fonts/"+file] })))
	return c
})

func (c *catalog) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	extension := path.Ext(name)
	url := Prefix + strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(sum[:6]) + extension
	a := asset{contentType: contentType(extension), body: body}
	if extension != ".woff2" {
		if small := compress(body); len(small) < len(body) {
			a.gzipped = small
		}
	}
	c.urls[name] = url
	c.assets[url] = a
}

// contentType does not ask package mime, whose answers depend on the files of
// the machine it runs on.
func contentType(extension string) string {
	switch extension {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".woff2":
		return "font/woff2"
	case ".svg":
		return "image/svg+xml"
	case ".txt", ".md", ".tsv":
		return "text/plain; charset=utf-8"
	}
	panic("static: no content type is known for " + extension)
}

func compress(body []byte) []byte {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		panic(fmt.Sprintf("static: %v", err))
	}
	// Writing to a bytes.Buffer cannot fail.
	_, _ = w.Write(body)
	_ = w.Close()
	return buffer.Bytes()
}

// URL is the address of a file of this folder, such as "app.css",
// "js/month.js" or "fonts.css" (the @font-face rules of FontCSS): its path below
// Prefix with a hash of its content before the extension. An unknown name is a
// programmer's mistake and panics.
func URL(name string) string {
	url, ok := load().urls[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q is embedded", name))
	}
	return url
}

// Handler serves the addresses that URL gives, to be kept by browsers for ever,
// and answers 404 to everything else: other hashes, plain names and folders. It
// compresses what gains by it, so no middleware should do so again. Mount it at
// Prefix without stripping it.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := load().assets[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Content-Type", a.contentType)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		body := a.body
		if a.gzipped != nil {
			header.Set("Vary", "Accept-Encoding")
			if acceptsGzip(r) {
				header.Set("Content-Encoding", "gzip")
				body = a.gzipped
			}
		}
		// No modification time: the hash in the address says all of it.
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}

func acceptsGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			quality, given := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			if !given {
				return true
			}
			q, err := strconv.ParseFloat(quality, 64)
			return err == nil && q > 0
		}
	}
	return false
}
