package text_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"shiftpost/views/text"
)

// sentence is one message of a catalog in all its plural forms.
type sentence struct {
	file  string
	forms map[string]string // by plural form; "other" alone for most
}

var placeholder = regexp.MustCompile(`\{\{\s*\.(\w+)\s*\}\}`)

// placeholders lists what the sentence must be given.
func (s sentence) placeholders() []string {
	all := map[string]bool{}
	for _, form := range s.forms {
		for _, m := range placeholder.FindAllStringSubmatch(form, -1) {
			all[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// catalog reads all sentences of a language by key.
func catalog(t *testing.T, language text.Language) map[string]sentence {
	t.Helper()
	files, err := filepath.Glob("catalogs/*." + string(language) + ".toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogs of %s: %v", language, err)
	}
	all := map[string]sentence{}
	var walk func(file, key string, v any)
	walk = func(file, key string, v any) {
		add := func(forms map[string]string) {
			if first, ok := all[key]; ok {
				t.Errorf("%s is in %s and in %s", key, first.file, file)
			}
			all[key] = sentence{file, forms}
		}
		switch v := v.(type) {
		case string:
			add(map[string]string{"other": v})
		case map[string]any:
			if other, ok := v["other"].(string); ok {
				forms := map[string]string{"other": other}
				for form, s := range v {
					forms[form], _ = s.(string)
				}
				add(forms)
				return
			}
			for name, below := range v {
				walk(file, strings.TrimPrefix(key+"."+name, "."), below)
			}
		default:
			t.Errorf("%s: %s is a %T", file, key, v)
		}
	}
	for _, file := range files {
		var content map[string]any
		if _, err := toml.DecodeFile(file, &content); err != nil {
			t.Fatal(err)
		}
		walk(file, "", content)
	}
	return all
}

func TestBothLanguagesHaveTheSameSentencesWithTheSamePlaceholders(t *testing.T) {
	t.Parallel()
	japanese, english := catalog(t, text.Japanese), catalog(t, text.English)
	for key, ja := range japanese {
		en, ok := english[key]
		if !ok {
			t.Errorf("%s of %s has no English", key, ja.file)
			continue
		}
		// A date is written from other parts in each language: 1月, January.
		if a, b := ja.placeholders(), en.placeholders(); !slices.Equal(a, b) && !strings.HasPrefix(key, "dates.") {
			t.Errorf("%s: Japanese takes %v, English %v", key, a, b)
		}
		if got := slices.Sorted(maps.Keys(ja.forms)); !slices.Equal(got, []string{"other"}) {
			t.Errorf("%s: Japanese has the forms %v, want other alone", key, got)
		}
		for _, form := range slices.Sorted(maps.Keys(en.forms)) {
			if form != "one" && form != "other" {
				t.Errorf("%s: English has no form %q", key, form)
			}
		}
		for form, s := range en.forms {
			if s == "" || ja.forms["other"] == "" {
				t.Errorf("%s: the %s form is empty", key, form)
			}
		}
	}
	for key, en := range english {
		if _, ok := japanese[key]; !ok {
			t.Errorf("%s of %s has no Japanese", key, en.file)
		}
	}
}

// use is a call of T or N.
type use struct {
	at      string
	pattern *regexp.Regexp // of the keys it may ask for
	literal bool           // it asks for one key
	given   []string       // the placeholders it fills; nil if that cannot be seen
}

// source is what the program's source says about keys.
type source struct {
	uses     []use
	literals map[string]bool // every text constant, for tables of keys
}

// readSource looks at every Go file of the module, generated ones included and tests excluded.
func readSource(t *testing.T) source {
	t.Helper()
	src := source{literals: map[string]bool{}}
	fset := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		inText := file.Name.Name == "text"
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					src.literals[s] = true
				}
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if u, ok := readUse(call, inText); ok {
					u.at = fset.Position(call.Pos()).String()
					src.uses = append(src.uses, u)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(src.uses) < 100 {
		t.Fatalf("only %d uses found: the walk is broken", len(src.uses))
	}
	return src
}

// readUse makes sense of a call of text.T or text.N, or of T or N inside package text.
func readUse(call *ast.CallExpr, inText bool) (use, bool) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "text" {
			name = f.Sel.Name
		}
	case *ast.Ident:
		if inText {
			name = f.Name
		}
	}
	first := map[string]int{"T": 2, "N": 3}[name] // the first placeholder's argument
	if first == 0 || len(call.Args) < first {
		return use{}, false
	}
	pattern, fixed := keyPattern(call.Args[1])
	if fixed == 0 {
		return use{}, false // a variable: its value is a constant elsewhere
	}
	u := use{pattern: regexp.MustCompile("^" + pattern + "$"), literal: !strings.Contains(pattern, ".+"), given: []string{}}
	if name == "N" {
		u.given = append(u.given, "Count")
	}
	for i := first; i < len(call.Args); i += 2 {
		lit, ok := call.Args[i].(*ast.BasicLit)
		if !ok {
			u.given = nil
			break
		}
		s, _ := strconv.Unquote(lit.Value)
		u.given = append(u.given, s)
	}
	return u, true
}

// keyPattern turns an expression of a key into a pattern of the keys it can be, and counts its constant parts.
func keyPattern(e ast.Expr) (pattern string, fixed int) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return regexp.QuoteMeta(s), 1
	case *ast.BinaryExpr:
		a, n := keyPattern(e.X)
		b, m := keyPattern(e.Y)
		return a + b, n + m
	case *ast.ParenExpr:
		return keyPattern(e.X)
	}
	return ".+", 0
}

func TestEverySentenceThatIsAskedForExistsAndGetsItsPlaceholders(t *testing.T) {
	t.Parallel()
	sentences, english := catalog(t, text.Japanese), catalog(t, text.English)
	for _, u := range readSource(t).uses {
		found := false
		for key, s := range sentences {
			if !u.pattern.MatchString(key) {
				continue
			}
			found = true
			if !u.literal || u.given == nil {
				continue
			}
			needs := append(s.placeholders(), english[key].placeholders()...)
			for _, name := range needs {
				if !slices.Contains(u.given, name) {
					t.Errorf("%s: %s needs %s", u.at, key, name)
				}
			}
			for _, name := range u.given {
				if name != "Count" && !slices.Contains(needs, name) {
					t.Errorf("%s: %s has no place for %s", u.at, key, name)
				}
			}
		}
		if !found {
			t.Errorf("%s: no sentence has the key %s", u.at, u.pattern)
		}
	}
}

func TestNoSentenceIsLeftOver(t *testing.T) {
	t.Parallel()
	src := readSource(t)
	for key, s := range catalog(t, text.Japanese) {
		used := src.literals[key] || slices.ContainsFunc(src.uses, func(u use) bool { return u.pattern.MatchString(key) })
		if !used {
			t.Errorf("%s of %s is asked for nowhere", key, s.file)
		}
	}
}

func TestEveryCatalogFileHasItsPair(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("catalogs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		noun, rest, _ := strings.Cut(e.Name(), ".")
		other, ok := map[string]string{"ja.toml": "en.toml", "en.toml": "ja.toml"}[rest]
		if !ok {
			t.Errorf("%s is not NOUN.LANGUAGE.toml", e.Name())
			continue
		}
		if _, err := os.Stat("catalogs/" + noun + "." + other); err != nil {
			t.Errorf("%s has no pair", e.Name())
		}
	}
}
