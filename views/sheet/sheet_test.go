package sheet_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shiftpost/db/roster"
	"shiftpost/jobs/render"
	"shiftpost/views/sheet"
	"shiftpost/views/text"
)

var rewrite = flag.Bool("update", false, "write the documents in testdata anew")

func pages(t *testing.T, s roster.Sheet) []sheet.Page {
	t.Helper()
	all, err := sheet.Pages(t.Context(), s, tokyo, render.FontStyles)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// html is the only page of a sheet.
func html(t *testing.T, s roster.Sheet) string {
	t.Helper()
	all := pages(t, s)
	if len(all) != 1 {
		t.Fatalf("%d pages, want 1", len(all))
	}
	return string(all[0].HTML)
}

// words is the text of a document without tags and styles, its pieces separated by |.
func words(html string) string {
	_, body, _ := strings.Cut(html, "<body")
	pieces := regexp.MustCompile(`<[^>]*>`).Split(body[strings.Index(body, ">")+1:], -1)
	var list []string
	for _, p := range pieces {
		if p := strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, "|")
}

func TestTheDocumentsAreThoseInTestdata(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		for i, p := range pages(t, s) {
			path := filepath.Join("testdata", name+"-"+strconv.Itoa(i+1)+".html")
			// A line for each element makes a change of the document readable. The styles are in a file of their own.
			got := regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(string(p.HTML), "<style>sheet.css</style>")
			got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s is not what is drawn now (go test ./views/sheet -update writes it anew):\n%s", path, diff)
			}
		}
	}
}

func TestTheSameSheetGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		if diff := cmp.Diff(pages(t, s), pages(t, samples(t)[name])); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestNoTextIsSmallerThan31Pixels(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("sheet.css")
	if err != nil {
		t.Fatal(err)
	}
	sizes := regexp.MustCompile(`(?:font-size:|font: \d+) ?([^;/ ]+)`).FindAllStringSubmatch(string(css), -1)
	if len(sizes) < 10 {
		t.Fatalf("found only %d sizes", len(sizes))
	}
	for _, m := range sizes {
		if px, err := strconv.Atoi(strings.TrimSuffix(m[1], "px")); err != nil || px < 31 {
			t.Errorf("%q is under 31px", m[0])
		}
	}
	if strings.Contains(html(t, samples(t)["first"]), "style=") {
		t.Error("a size may hide in a style attribute")
	}
}

func TestADocumentAsksForNothingButItsFonts(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		for _, p := range pages(t, s) {
			doc := strings.Replace(string(p.HTML), `<link rel="stylesheet" href="/fonts.css">`, "", 1)
			if len(doc) == len(p.HTML) {
				t.Errorf("%s: the fonts are not asked for", name)
			}
			for _, no := range []string{"<script", "<img", "src=", "href=", "url(", "@import", "http:", "https:", "onload"} {
				if strings.Contains(doc, no) {
					t.Errorf("%s contains %s", name, no)
				}
			}
		}
	}
}

func TestNamesAreNeverMarkup(t *testing.T) {
	t.Parallel()
	s := snapshot(january, []string{`<b>山</b> "田"</style>`}, shift(1, ekimae, 5, "9-17"))
	s.Classrooms[0].Name = "<i>駅</i>"
	doc := html(t, roster.Sheet{Snapshot: s, Number: 1})
	if strings.Contains(doc, "<b>山") || strings.Contains(doc, "<i>駅") || !strings.Contains(doc, "&lt;b&gt;山&lt;/b&gt;") || !strings.Contains(doc, "&lt;i&gt;駅") {
		t.Error("a name is in the document as it was typed")
	}
}

func TestTheSheetIsJapaneseForEverybody(t *testing.T) {
	t.Parallel()
	s := samples(t)["update"]
	english, err := sheet.Pages(text.WithLanguage(context.Background(), text.English), s, tokyo, render.FontStyles)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pages(t, s), english); diff != "" {
		t.Errorf("an English reader gets another sheet:\n%s", diff)
	}
}

func TestTheHeadSaysWhichTableThisIs(t *testing.T) {
	t.Parallel()
	names := people(2)
	one := snapshot(roster.Month{Year: 2026, Month: time.December}, names, shift(1, ekimae, 1, "9-17"), shift(2, honmachi, 1, "9-17"))
	twenty := snapshot(roster.Month{Year: 2026, Month: time.December}, names, shift(1, ekimae, 1, "10-17"), shift(2, honmachi, 1, "9-17"))
	uncertain := *second
	uncertain.Certain = false
	changes := roster.Compare(one, twenty)
	undated := one
	undated.ChangedAt = time.Time{}
	for name, c := range map[string]struct {
		sheet roster.Sheet
		want  []string // the heads of the pages
	}{
		"first announcement": {roster.Sheet{Snapshot: one, Number: 1}, []string{
			"2026年12月 シフト表|駅前教室|第1版|1月8日(金) 14:40 現在|1 / 2 ページ", "2026年12月 シフト表|本町教室|第1版|1月8日(金) 14:40 現在|2 / 2 ページ"}},
		"first announcement, second publication": {roster.Sheet{Snapshot: one, Number: 2}, []string{
			"2026年12月 シフト表|駅前教室|第2版|1月8日(金) 14:40 現在|1 / 2 ページ", "2026年12月 シフト表|本町教室|第2版|1月8日(金) 14:40 現在|2 / 2 ページ"}},
		"update": {roster.Sheet{Snapshot: twenty, Number: 3, Base: second, Changes: changes}, []string{
			"2026年12月 シフト表|駅前教室|第3版・更新|1月8日(金) 14:40 現在|★ 変更1件|1 / 2 ページ", "2026年12月 シフト表|本町教室|第3版・更新|1月8日(金) 14:40 現在|変更なし（全体で1件）|2 / 2 ページ"}},
		"update that changes no shift": {roster.Sheet{Snapshot: one, Number: 3, Base: second}, []string{
			"2026年12月 シフト表|駅前教室|第3版・更新|1月8日(金) 14:40 現在|変更なし|1 / 2 ページ", "2026年12月 シフト表|本町教室|第3版・更新|1月8日(金) 14:40 現在|変更なし|2 / 2 ページ"}},
		"update of what may not have arrived": {roster.Sheet{Snapshot: twenty, Number: 3, Base: &uncertain, Changes: changes}, []string{
			"2026年12月 シフト表|駅前教室|第3版・更新|1月8日(金) 14:40 現在|★ 変更あり|1 / 2 ページ", "2026年12月 シフト表|本町教室|第3版・更新|1月8日(金) 14:40 現在|変更なし|2 / 2 ページ"}},
		"nothing known of the newest change": {roster.Sheet{Snapshot: undated, Number: 1}, []string{
			"2026年12月 シフト表|駅前教室|第1版|1 / 2 ページ", "2026年12月 シフト表|本町教室|第1版|2 / 2 ページ"}},
	} {
		for i, p := range pages(t, c.sheet) {
			if got, _, _ := strings.Cut(words(string(p.HTML)), "|日|"); got != c.want[i] {
				t.Errorf("%s, page %d:\n got %s\nwant %s", name, i+1, got, c.want[i])
			}
		}
	}
}

func TestPagesAreNamedAfterTheirClassroomAndPart(t *testing.T) {
	t.Parallel()
	var shifts []roster.SnapshotShift
	for i := range int64(8) {
		shifts = append(shifts, shift(i+1, ekimae, 5, "9-17"))
	}
	shifts = append(shifts, shift(1, honmachi, 6, "9-17"))
	var got []string
	for _, p := range pages(t, roster.Sheet{Snapshot: snapshot(january, people(8), shifts...), Number: 1}) {
		got = append(got, p.Title)
		if !strings.Contains(string(p.HTML), `<span class="classroom">`+p.Title+"</span>") {
			t.Errorf("the page does not show its title %s", p.Title)
		}
	}
	if want := "駅前教室（1/2） 駅前教室（2/2） 本町教室"; strings.Join(got, " ") != want {
		t.Errorf("titles %v, want %s", got, want)
	}
}

func TestChangesAreMarkedInWordsAndSpelledOutBelow(t *testing.T) {
	t.Parallel()
	names := []string{"佐藤 花子"}
	for name, c := range map[string]struct {
		before, after []roster.SnapshotShift
		cell, below   string
	}{
		"added":             {nil, []roster.SnapshotShift{shift(1, ekimae, 5, "22-25")}, "★追加|22:00|–翌1:00", "1/5(火)|佐藤|花子|追加|22:00–翌1:00"},
		"removed":           {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, nil, "★取消|なし", "1/5(火)|佐藤|花子|取消|9:00–17:00"},
		"time changed":      {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "10-17")}, "★変更|10:00|–17:00", "1/5(火)|佐藤|花子|変更|9:00–17:00|→ 10:00–17:00"},
		"classroom changed": {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, []roster.SnapshotShift{shift(1, honmachi, 5, "9-17")}, "★変更|他教室へ", "1/5(火)|佐藤|花子|変更|駅前教室 9:00–17:00|→ 本町教室 9:00–17:00"},
		"removed beside another": {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-12"), shift(1, ekimae, 5, "13-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "9-12")},
			"9:00|–12:00|★取消|13:00|–17:00", "1/5(火)|佐藤|花子|取消|13:00–17:00"},
	} {
		s := update(snapshot(january, names, c.before...), snapshot(january, names, c.after...))
		got := words(string(pages(t, s)[0].HTML))
		for _, want := range []string{"|5|火|" + c.cell + "|6|水|", "|★ 第2版(12/20)から変わったところ|1件|" + c.below + "|★|第2版から変更|"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s is missing in %s", name, want, got)
			}
		}
	}
}

func TestNoMoreThan24ChangesAreSpelledOut(t *testing.T) {
	t.Parallel()
	var after []roster.SnapshotShift
	for day := 1; day <= 30; day++ {
		after = append(after, shift(1, ekimae, day, "9-17"))
	}
	got := words(html(t, update(snapshot(january, people(1)), snapshot(january, people(1), after...))))
	if !strings.Contains(got, "|★ 変更30件|") || !strings.Contains(got, "|1/24(日)|講師|01|追加|9:00–17:00|ほか6件は、表の ★ をご覧ください。|") {
		t.Errorf("got %s", got)
	}
}

func TestTheNamesStandAgainBeforeEachMondayButNotWithinThreeRows(t *testing.T) {
	t.Parallel()
	for month, want := range map[string]string{
		"2027-01": "1 11 18 25",   // begins on a Friday: Monday the 4th is too near
		"2027-08": "1 9 16 23 30", // begins on a Sunday
		"2027-02": "1 8 15 22",    // begins on a Monday
		"2026-12": "1 7 14 21 28", // begins on a Tuesday
		"2027-07": "1 5 12 19 26", // begins on a Thursday: Monday the 5th has four rows before it
	} {
		m, err := roster.ParseMonth(month)
		if err != nil {
			t.Fatal(err)
		}
		rows := regexp.MustCompile(`<div class="row heads">|<span class="number">(\d+)</span>`).FindAllStringSubmatch(html(t, roster.Sheet{Snapshot: snapshot(m, people(1), shift(1, ekimae, 1, "9-17")), Number: 1}), -1)
		var got []string
		for i, r := range rows {
			if r[1] == "" {
				got = append(got, rows[i+1][1])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: names above the days %v, want %s", month, got, want)
		}
	}
}

func TestDaysAreMarkedInTextAndHolidaysNamed(t *testing.T) {
	t.Parallel()
	got := words(html(t, roster.Sheet{Snapshot: snapshot(january, people(1), shift(1, ekimae, 11, "9-17")), Number: 1}))
	for _, want := range []string{"|1|金|祝|元日|2|土|3|日|4|月|", "|11|月|祝|成人の日|9:00|–17:00|12|火|"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

func TestAPageThatWouldBeTooHighIsSplitByWeeks(t *testing.T) {
	t.Parallel()
	all := pages(t, crowded())
	if len(all) < 2 {
		t.Fatalf("%d pages, want several", len(all))
	}
	if grids, err := sheet.PageGrids(crowded()); err != nil || len(grids) != len(all) {
		t.Errorf("%d grids for %d pages, error %v", len(grids), len(all), err)
	}
	var days []string
	for i, p := range all {
		if want := "駅前教室（" + strconv.Itoa(i+1) + "/" + strconv.Itoa(len(all)) + "）"; p.Title != want {
			t.Errorf("title %s, want %s", p.Title, want)
		}
		own := regexp.MustCompile(`<span class="number">(\d+)</span> ?<span class="weekday">(.)`).FindAllStringSubmatch(string(p.HTML), -1)
		if i > 0 && own[0][2] != "月" {
			t.Errorf("page %d begins on %s, want 月", i+1, own[0][2])
		}
		for _, d := range own {
			days = append(days, d[1])
		}
	}
	if len(days) != 31 || days[0] != "1" || days[30] != "31" {
		t.Errorf("the pages have the days %v", days)
	}
}

// crowded is a month in which everybody has three shifts on every day, all of them new.
func crowded() roster.Sheet {
	var after []roster.SnapshotShift
	for day := 1; day <= 31; day++ {
		for teacher := int64(1); teacher <= 7; teacher++ {
			after = append(after, shift(teacher, ekimae, day, "16-18"), shift(teacher, ekimae, day, "18-20"), shift(teacher, ekimae, day, "20-25"))
		}
	}
	return update(snapshot(january, people(7)), snapshot(january, people(7), after...))
}
