package ui_test

import (
	"encoding/xml"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"shiftpost/views/ui"
)

// draw renders a component with some text as its children.
func draw(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(templ.WithChildren(t.Context(), templ.Raw("<i>children</i>")), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPiecesSayWhatTheyAreToEveryReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		piece templ.Component
		has   []string
		lacks []string
	}{
		{"a button sends its form", ui.Button(ui.ButtonProps{Label: "保存", Kind: ui.Primary, Working: "保存しています…"}),
			[]string{`type="submit"`, `class="button button-primary"`, `data-working="保存しています…"`, "保存</span>"}, []string{"name="}},
		{"a button without words has a label", ui.Button(ui.ButtonProps{Icon: ui.IconClose, Type: "button", Attrs: templ.Attributes{"aria-label": "閉じる"}}),
			[]string{`type="button"`, `aria-label="閉じる"`, "button-icon", `aria-hidden="true"`}, nil},
		{"a danger button is not filled", ui.Button(ui.ButtonProps{Label: "やめる", Kind: ui.Danger}), []string{`class="button button-danger"`}, []string{"button-primary"}},
		{"a link that looks like a button is a link", ui.LinkButton(ui.LinkButtonProps{Label: "戻る", Href: "/groups"}), []string{`<a href="/groups" class="button"`}, []string{"<button"}},
		{"a link runs no script", ui.LinkButton(ui.LinkButtonProps{Label: "x", Href: `"><script>`}), nil, []string{"<script>"}},
		{"a field without an error", ui.Field(ui.FieldProps{Name: "name", Label: "名前", Value: `"><b>`}),
			[]string{`<label class="field-label" for="name">`, `id="name"`, `autocomplete="off"`, "&#34;&gt;&lt;b&gt;", "<i>children</i>"}, []string{"aria-invalid", "aria-describedby", "error-text", "<b>"}},
		{"a field with help and an error names both", ui.Field(ui.FieldProps{Name: "name", Label: "名前", Help: "40文字まで", Error: "名前を入力してください。"}),
			[]string{`aria-invalid="true"`, `aria-describedby="name-help name-error"`, `id="name-help"`, `id="name-error"`, "名前を入力してください。"}, nil},
		{"a select keeps its choice", ui.Select(ui.SelectProps{Name: "group", Label: "グループ", Value: "2", Empty: "選んでください", Options: []ui.Option{{Value: "1", Label: "北"}, {Value: "2", Label: "南"}}}),
			[]string{`<option value="">選んでください</option>`, `<option value="2" selected>南</option>`}, []string{`<option value="1" selected`}},
		{"a textarea keeps its text", ui.Textarea(ui.TextareaProps{Name: "note", Label: "メモ", Value: "</textarea><b>"}), []string{"&lt;/textarea&gt;&lt;b&gt;", `rows="3"`}, nil},
		{"a checkbox has its sentence", ui.Checkbox(ui.CheckboxProps{Name: "notices", Label: "送る", Checked: true, Help: "あとで変えられます"}),
			[]string{`type="checkbox"`, `value="true"`, "checked", `aria-describedby="notices-help"`}, nil},
		{"the first of the cards is found by the field's name", ui.Choices(ui.ChoicesProps{Name: "pattern", Legend: "パターン", Value: "b", Options: []ui.Option{{Value: "a", Label: "早", Hint: "10–15"}, {Value: "b", Label: "夕"}}, Error: "選んでください。"}),
			[]string{`id="pattern" name="pattern" value="a"`, `id="pattern-1" name="pattern" value="b" checked`, `id="pattern-error"`, "10–15"}, nil},
		{"one error needs no list", ui.ErrorSummary("1か所を直してください。", ui.Errors{{Field: "name", Message: "名前を入力してください。"}}), nil, []string{"直してください"}},
		{"two errors are listed with links to their fields", ui.ErrorSummary("2か所を直してください。", ui.Errors{{Field: "name", Message: "名前を入力してください。"}, {Field: "times", Message: "時間を入力してください。"}}),
			[]string{`role="alert"`, "2か所を直してください。", `href="#name"`, `href="#times"`}, nil},
		{"what went well waits for its turn", ui.FlashNotice(ui.Flash{Kind: ui.Done, Text: "保存しました。"}), []string{`role="status"`, "notice-done", "<svg"}, nil},
		{"what went wrong does not", ui.FlashNotice(ui.Flash{Kind: ui.Failed, Text: "送れませんでした。"}), []string{`role="alert"`, "notice-failed"}, nil},
		{"a state has a mark and a word", ui.Badge(ui.Failed, ui.IconFailed, "失敗"), []string{"badge-failed", "<svg", "失敗"}, nil},
		{"nothing to do is not counted", ui.Count(0, "失敗 0件"), nil, []string{"count", "失敗"}},
		{"a count says what it counts", ui.Count(2, "失敗 2件"), []string{`<span class="count" aria-hidden="true">2</span>`, `class="visually-hidden">失敗 2件`}, nil},
		{"a panel has its heading", ui.Panel(ui.PanelProps{Title: "要対応", Urgent: true}), []string{"panel-urgent", "<h2>要対応</h2>", `class="panel-body"`, "<i>children</i>"}, nil},
		{"an empty place leads on", ui.Empty(ui.EmptyProps{Icon: ui.IconCalendar, Title: "まだありません"}), []string{"まだありません", "<i>children</i>"}, nil},
		{"a dialog is named by its question", ui.Dialog(ui.DialogProps{ID: "retry", Title: "送り直しますか", Close: "閉じる"}), []string{`<dialog class="dialog" id="retry" aria-labelledby="retry-title"`, `id="retry-title"`, "data-closes"}, nil},
		{"an action bar says what its buttons do", ui.ActionBar("第3版・18通", "いますぐ"), []string{`role="group"`, `aria-label="第3版・18通"`, "いますぐ"}, nil},
		{"the last page has no next one", ui.Pager(ui.PagerProps{Label: "ページ", PreviousHref: "/deliveries?page=1", PreviousText: "前へ", NextText: "次へ"}),
			[]string{`href="/deliveries?page=1" rel="prev"`, `<span class="button button-small" aria-disabled="true">`}, []string{`rel="next"`}},
		{"the last crumb is the page itself", ui.Crumbs("ここまで", []ui.Crumb{{Label: "設定", Href: "/settings"}, {Label: "教室"}}), []string{`<a href="/settings">設定</a>`, `<span aria-current="page">教室</span>`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			html := draw(t, c.piece)
			for _, s := range c.has {
				if !strings.Contains(html, s) {
					t.Errorf("%q is missing in\n%s", s, html)
				}
			}
			for _, s := range c.lacks {
				if strings.Contains(html, s) {
					t.Errorf("%q must not be in\n%s", s, html)
				}
			}
			if strings.Contains(html, "style=") || strings.Contains(html, " onclick") {
				t.Errorf("the content security policy forbids this:\n%s", html)
			}
		})
	}
}

// iconNames reads the names of all icon constants from the source.
func iconNames(t *testing.T) []ui.IconName {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "icons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []ui.IconName
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Icon") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ui.IconName(s))
		}
		return true
	})
	if len(all) < 20 {
		t.Fatalf("only %d icons found: the walk is broken", len(all))
	}
	return all
}

func TestEveryIconIsDrawnAndHidden(t *testing.T) {
	t.Parallel()
	shapes := map[string]ui.IconName{}
	for _, name := range iconNames(t) {
		svg := draw(t, ui.Icon(name))
		if !strings.Contains(svg, `aria-hidden="true"`) || !strings.Contains(svg, "currentColor") {
			t.Errorf("%s: %s", name, svg)
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Errorf("%s is not well formed: %v", name, err)
				break
			}
		}
		if twin, ok := shapes[svg]; ok {
			t.Errorf("%s and %s look the same", name, twin)
		}
		shapes[svg] = name
	}
}

func TestUnknownIconIsAnErrorWhileDrawing(t *testing.T) {
	t.Parallel()
	if err := ui.Icon("no such").Render(t.Context(), io.Discard); err == nil {
		t.Error("drawn without an error")
	}
}

// themes reads the colours of app.css: the light ones, and over them the dark ones.
func themes(t *testing.T) map[string]map[string]string {
	t.Helper()
	css, err := os.ReadFile("../../static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	colour := regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{3,6});`)
	light, rest, ok := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark theme")
	}
	dark, _, _ := strings.Cut(rest, "@media")
	all := map[string]map[string]string{"light": {}, "dark": {}}
	for _, m := range colour.FindAllStringSubmatch(light, -1) {
		all["light"][m[1]], all["dark"][m[1]] = m[2], m[2]
	}
	for _, m := range colour.FindAllStringSubmatch(dark, -1) {
		all["dark"][m[1]] = m[2]
	}
	return all
}

// luminance is WCAG 2.2's relative luminance of a colour in hex.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = strings.Repeat(hex[:1], 2) + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:], 2)
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		t.Fatalf("%q is no colour", hex)
	}
	channel := func(v uint64) float64 {
		c := float64(v&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(n>>16) + 0.7152*channel(n>>8) + 0.0722*channel(n)
}

func TestColoursCanBeReadInBothThemes(t *testing.T) {
	t.Parallel()
	const words, controls = 4.5, 3.0
	type pair struct {
		front, back string
		least       float64
	}
	pairs := []pair{
		{"on-accent", "accent", words}, {"on-working", "working", words}, {"on-failed", "failed-edge", words},
		{"on-floating", "floating", words}, {"on-deep", "deep", words}, {"accent", "accent-tint", words}, {"text", "accent-tint", words},
		{"line-control", "surface", controls}, {"line-control", "ground", controls}, {"focus", "ground", controls},
	}
	for _, back := range []string{"surface", "surface-sunken", "ground"} {
		for _, front := range []string{"text", "text-second", "text-third", "accent"} {
			pairs = append(pairs, pair{front, back, words})
		}
	}
	for _, tint := range []string{"done", "attention", "failed", "changed", "saturday", "sunday", "closed"} {
		for _, front := range []string{tint, "text"} {
			pairs = append(pairs, pair{front, tint + "-tint", words})
		}
	}
	for name, colours := range themes(t) {
		for _, p := range pairs {
			front, back := colours[p.front], colours[p.back]
			if front == "" || back == "" {
				t.Errorf("%s: %s or %s is not set", name, p.front, p.back)
				continue
			}
			a, b := luminance(t, front), luminance(t, back)
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < p.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", name, p.front, p.back, ratio, p.least)
			}
		}
	}
}

// customProperty finds the custom properties of a style sheet, set or used.
var customProperty = regexp.MustCompile(`(var\()?(--[a-z-]+)(:)?`)

func TestStyleSheetsUseOnlyPropertiesThatAreSet(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile("../../static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, m := range customProperty.FindAllStringSubmatch(string(base), -1) {
		if m[1] == "" && m[3] != "" {
			set[m[2]] = true
		}
	}
	for _, m := range customProperty.FindAllStringSubmatch(string(base), -1) {
		if m[1] != "" && !set[m[2]] {
			t.Errorf("app.css uses %s, which is not set", m[2])
		}
	}
	if len(set) < 50 {
		t.Errorf("only %d properties found: the pattern is broken", len(set))
	}
}
