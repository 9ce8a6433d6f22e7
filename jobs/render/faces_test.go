package render_test

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shiftpost/jobs/render"
	"shiftpost/static"
)

// TestEveryCharacterOfEveryFaceIsDrawnByItsFile proves the unicode-range of each
// face of package static. Each face is made a family of its own, each of its
// characters is drawn in a cell of its own, and none may look like the box that
// stands for a character the file does not have.
func TestEveryCharacterOfEveryFaceIsDrawnByItsFile(t *testing.T) {
	t.Parallel()
	const (
		columns = 80
		side    = 24 // px of a cell
		missing = "\U0010FFFD"
	)
	type cell struct{ file, character string }
	var cells []cell
	var page strings.Builder
	page.WriteString(`<!doctype html><meta charset="utf-8"><style>html,body{margin:0}` +
		fmt.Sprintf(`body{display:grid;grid-template-columns:repeat(%d,%dpx);grid-auto-rows:%dpx}`, columns, side, side) +
		`i{font-style:normal;overflow:hidden;text-align:center}`)
	var faces [][]string
	face := regexp.MustCompile(`@font-face\{font-family:"[^"]+"(.*?url\("/fonts/([^"]+)".*?unicode-range:)([^}]+)\}`)
	css := static.FontCSS(func(name string) string { return "/fonts/" + name })
	for i, m := range face.FindAllStringSubmatch(css, -1) {
		weight := "400"
		if strings.Contains(m[2], "-700-") {
			weight = "700"
		}
		fmt.Fprintf(&page, `@font-face{font-family:"face %d"%s%s,U+10FFFD} .f%d{font:%s 16px/%dpx "face %d"}`, i, m[1], m[3], i, weight, side, i)
		faces = append(faces, m)
	}
	page.WriteString("</style>")
	if len(faces) < 300 {
		t.Fatalf("only %d faces found", len(faces))
	}
	for i, m := range faces {
		characters := []string{missing}
		for span := range strings.SplitSeq(m[3], ",") {
			first, last, found := strings.Cut(strings.TrimPrefix(span, "U+"), "-")
			if !found {
				last = first
			}
			for c := hexadecimal(t, first); c <= hexadecimal(t, last); c++ {
				characters = append(characters, string(c))
			}
		}
		for _, c := range characters {
			cells = append(cells, cell{m[2], c})
			fmt.Fprintf(&page, `<i class="f%d">%s</i>`, i, html.EscapeString(c))
		}
	}

	s := newStudio(t, render.Options{Timeout: 5 * time.Minute})
	picture := mustDraw(t, s, render.Page{HTML: []byte(page.String()), Width: columns * side, Scale: 1})
	var box []byte
	for i, c := range cells {
		drawn := pixels(picture, image.Rect(0, 0, side, side).Add(image.Pt(i%columns*side, i/columns*side)))
		switch {
		case c.character == missing:
			box = drawn
			if !slices.ContainsFunc(box, func(level byte) bool { return level < 128 }) {
				t.Fatalf("%s: the box for a missing character is not drawn", c.file)
			}
		case bytes.Equal(drawn, box):
			t.Errorf("%s does not draw %s (%U)", c.file, c.character, []rune(c.character))
		}
	}
}

// pixels are the grey levels of a part of a picture.
func pixels(picture image.Image, part image.Rectangle) []byte {
	levels := make([]byte, 0, part.Dx()*part.Dy())
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			_, g, _, _ := picture.At(x, y).RGBA()
			levels = append(levels, byte(g>>8))
		}
	}
	return levels
}

func hexadecimal(t *testing.T, digits string) rune {
	t.Helper()
	n, err := strconv.ParseInt(digits, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return rune(n)
}
