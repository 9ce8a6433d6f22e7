package static

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// FontFamilies are the families that FontCSS defines, in the order in which a
// style sheet must name them: the first is the face of the site and of the shift
// table, the second draws the characters the first lacks (𠮷 and other rare
// kanji of names).
const FontFamilies = `"BIZ UDPGothic", "Noto Sans JP"`

// face is one file of a family: the characters of one slice in one weight.
type face struct {
	family string // as in CSS, without quotes
	weight string // CSS font-weight, "400" or a range such as "100 900"
	file   string // name for FontFile
	ranges string // CSS unicode-range: exactly the characters this file draws
}

// faceTable has a face in each line, fields separated by tabs. Its ranges are the
// published ones cut down to what each file can really draw and freed of overlaps.
// A browser would otherwise load a slice of the first family for a character that
// is in the slice's range but not in the file, and learn only then that it needs
// the second family: too late for a picture that waits for its fonts.
// licences/README.md says how the table was made.
//
//go:embed fonts/faces.tsv
var faceTable string

var faces = sync.OnceValue(func() []face {
	var all []face
	for line := range strings.Lines(faceTable) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			panic(fmt.Sprintf("static: fonts/faces.tsv: line %d has %d fields, not 4", len(all)+1, len(fields)))
		}
		all = append(all, face{family: fields[0], weight: fields[1], file: fields[2], ranges: fields[3]})
	}
	return all
})

// FontCSS is a style sheet with an @font-face rule for every embedded font file.
// url gives the address of a file by its name (one that FontFile knows). Text is
// hidden while its font loads, so nothing is ever drawn in a wrong face.
func FontCSS(url func(name string) string) string {
	var css strings.Builder
	for _, f := range faces() {
		fmt.Fprintf(&css, "@font-face{font-family:%q;font-style:normal;font-weight:%s;font-display:block;src:url(%q) format(\"woff2\");unicode-range:%s}\n",
			f.family, f.weight, url(f.file), f.ranges)
	}
	return css.String()
}

// FontFile is the content of one embedded font file (WOFF2), by its name without a
// folder. It is false for any other name.
func FontFile(name string) ([]byte, bool) {
	if !strings.HasSuffix(name, ".woff2") || strings.Contains(name, "/") {
		return nil, false
	}
	body, err := embedded.ReadFile("fonts/" + name)
	return body, err == nil
}
