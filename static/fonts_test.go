package static_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"shiftpost/static"
)

// rule is one @font-face rule of FontCSS as a browser reads it.
type rule struct {
	family, weight, url string
	ranges              [][2]rune
}

func fontRules(t *testing.T) []rule {
	t.Helper()
	css := static.FontCSS(func(name string) string { return "https://render.invalid/fonts/" + name })
	pattern := regexp.MustCompile(`@font-face\{font-family:"([^"]+)";font-style:normal;font-weight:([0-9 ]+);font-display:block;src:url\("([^"]+)"\) format\("woff2"\);unicode-range:([^}]+)\}\n`)
	var rules []rule
	for _, m := range pattern.FindAllStringSubmatch(css, -1) {
		r := rule{family: m[1], weight: m[2], url: m[3]}
		for part := range strings.SplitSeq(m[4], ",") {
			first, last, found := strings.Cut(strings.TrimPrefix(part, "U+"), "-")
			if !found {
				last = first
			}
			a, err := strconv.ParseInt(first, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			b, err := strconv.ParseInt(last, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			r.ranges = append(r.ranges, [2]rune{rune(a), rune(b)})
		}
		rules = append(rules, r)
	}
	if rest := pattern.ReplaceAllString(css, ""); rest != "" {
		t.Fatalf("FontCSS has more than rules: %.200q", rest)
	}
	return rules
}

func TestEveryFaceHasItsFileAndEveryFileItsFace(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, r := range fontRules(t) {
		name := strings.TrimPrefix(r.url, "https://render.invalid/fonts/")
		file, ok := static.FontFile(name)
		if !ok || !strings.HasPrefix(string(file), "wOF2") {
			t.Errorf("%s: no WOFF2 file (found %v)", name, ok)
		}
		used[name] = true
	}
	entries, err := os.ReadDir("fonts")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".woff2") && !used[entry.Name()] {
			t.Errorf("fonts/%s is named by no face", entry.Name())
		}
	}
}

func TestFontFileKnowsFontFilesOnly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "faces.tsv", "fonts/faces.tsv", "../app.css", "../fonts/biz-udpgothic-rest-400-normal.woff2", "x.woff2"} {
		if _, ok := static.FontFile(name); ok {
			t.Errorf("FontFile(%q) gave a file", name)
		}
	}
}

func TestEachCharacterIsDrawnByExactlyOneFaceOfEachWeight(t *testing.T) {
	t.Parallel()
	drawnBy := map[string]map[rune]string{"400": {}, "700": {}}
	for _, r := range fontRules(t) {
		for weight, drawn := range drawnBy {
			if r.weight != weight && r.weight != "100 900" {
				continue
			}
			for _, span := range r.ranges {
				for c := span[0]; c <= span[1]; c++ {
					if drawn[c] != "" {
						t.Errorf("%s: U+%04X is drawn twice", r.url, c)
					}
					drawn[c] = r.family
				}
			}
		}
	}
	for _, c := range "髙﨑德濵栁①⑳㈱★○◎△●※～〜–−翌ⅢΩ≒AZaz09 　ｱァー「」" {
		for weight, drawn := range drawnBy {
			if drawn[c] != "BIZ UDPGothic" {
				t.Errorf("%c (U+%04X) in weight %s is drawn by %q, want BIZ UDPGothic", c, c, weight, drawn[c])
			}
		}
	}
	// Names: rare kanji of JIS X 0213, a Vietnamese name.
	for _, c := range "𠮷𠮟𡈽𥔎𩸽鄧濹ễ" {
		for weight, drawn := range drawnBy {
			if drawn[c] == "" {
				t.Errorf("%c (U+%04X) in weight %s is drawn by no face", c, c, weight)
			}
		}
	}
	if len(drawnBy["400"]) != len(drawnBy["700"]) || len(drawnBy["400"]) < 16000 {
		t.Errorf("%d characters in 400, %d in 700", len(drawnBy["400"]), len(drawnBy["700"]))
	}
}

func TestTheServedFontStylesNameHashedFilesInTheOrderOfTheStack(t *testing.T) {
	t.Parallel()
	css := body(t, get(t, "GET", static.URL("fonts.css")).Body)
	urls := regexp.MustCompile(`url\("([^"]+)"\)`).FindAllStringSubmatch(css, -1)
	if len(urls) != len(fontRules(t)) {
		t.Fatalf("%d addresses for %d faces", len(urls), len(fontRules(t)))
	}
	for _, u := range urls {
		if res := get(t, "HEAD", u[1]); res.StatusCode != 200 {
			t.Errorf("%s: status %d", u[1], res.StatusCode)
		}
	}
	for family := range strings.SplitSeq(static.FontFamilies, ", ") {
		if !strings.Contains(css, "font-family:"+family+";") {
			t.Errorf("no face of family %s", family)
		}
	}
}
