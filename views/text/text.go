// Package text holds every sentence a person can read and the way dates, times and numbers are written.
//
// The sentences live in catalogs/NOUN.LANGUAGE.toml, one pair of files for each noun. Japanese is the original and
// the default; English is complete (a test compares the two). The language travels in the context, so a templ
// component calls T(ctx, key) and needs no further argument.
package text

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

//go:embed catalogs/*.toml
var catalogs embed.FS

// Language is a language the product speaks, as a BCP 47 tag.
type Language string

// The languages there are catalogs for.
const (
	Japanese Language = "ja"
	English  Language = "en"
)

// Languages lists all languages, the default one first.
var Languages = []Language{Japanese, English}

var (
	localizers = loadLocalizers()
	matcher    = language.NewMatcher([]language.Tag{language.Japanese, language.English})
)

// loadLocalizers reads the embedded catalogs; a broken catalog is a programmer's mistake and stops the start.
func loadLocalizers() map[Language]*i18n.Localizer {
	b := i18n.NewBundle(language.Japanese)
	b.RegisterUnmarshalFunc("toml", toml.Unmarshal)
	files, err := fs.Glob(catalogs, "catalogs/*.toml")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		if _, err := b.LoadMessageFileFS(catalogs, f); err != nil {
			panic(fmt.Sprintf("message catalog %s: %v", f, err))
		}
	}
	all := map[Language]*i18n.Localizer{}
	for _, l := range Languages {
		all[l] = i18n.NewLocalizer(b, string(l))
	}
	return all
}

type languageKey struct{}

// WithLanguage returns a context in which T and the formatting functions speak l.
func WithLanguage(ctx context.Context, l Language) context.Context {
	return context.WithValue(ctx, languageKey{}, l)
}

// LanguageOf returns the language of ctx, Japanese if none was set.
func LanguageOf(ctx context.Context) Language {
	if l, ok := ctx.Value(languageKey{}).(Language); ok {
		return l
	}
	return Japanese
}

// ParseLanguage returns the language with that tag, and false if there is none.
func ParseLanguage(tag string) (Language, bool) {
	for _, l := range Languages {
		if string(l) == tag {
			return l, true
		}
	}
	return Japanese, false
}

// Accepted picks the language for a request without a stored choice, from its Accept-Language header.
func Accepted(r *http.Request) Language {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return Japanese
	}
	_, i, _ := matcher.Match(tags...)
	return Languages[i]
}

// T returns the sentence with that key in the language of ctx. Pairs are the names and values of the
// sentence's placeholders: T(ctx, "shifts.added", "Teacher", name). A key without a sentence is a programmer's
// mistake that a test finds; T then returns the key.
func T(ctx context.Context, key string, pairs ...any) string {
	if len(pairs) == 0 {
		return fixed(ctx, key)
	}
	return localize(ctx, &i18n.LocalizeConfig{MessageID: key, TemplateData: data(pairs)})
}

// sentence names a sentence without placeholders.
type sentence struct {
	language Language
	key      string
}

// fixedSentences keeps the sentences without placeholders that were asked for: most are, and every time the same.
var fixedSentences sync.Map // sentence → string

func fixed(ctx context.Context, key string) string {
	k := sentence{LanguageOf(ctx), key}
	if s, ok := fixedSentences.Load(k); ok {
		return s.(string)
	}
	s := localize(ctx, &i18n.LocalizeConfig{MessageID: key, TemplateData: data(nil)})
	fixedSentences.Store(k, s)
	return s
}

// N is T for a sentence whose form depends on a number; the sentence has it as {{.Count}}.
func N(ctx context.Context, key string, count int, pairs ...any) string {
	d := data(pairs)
	d["Count"] = count
	return localize(ctx, &i18n.LocalizeConfig{MessageID: key, TemplateData: d, PluralCount: count})
}

func localize(ctx context.Context, c *i18n.LocalizeConfig) string {
	s, err := localizers[LanguageOf(ctx)].Localize(c)
	if err != nil && s == "" {
		return c.MessageID
	}
	return s
}

func data(pairs []any) map[string]any {
	d := make(map[string]any, len(pairs)/2+1)
	for i := 0; i+1 < len(pairs); i += 2 {
		d[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return d
}
