package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"shiftpost/db/roster"
)

// Config is everything that can be set from outside. Each field is one environment variable; those marked secret can
// also be given as the name of a file that holds the value, in the variable with _FILE at its end.
type Config struct {
	// Addr is the TCP address the site listens on.
	Addr string `env:"SHIFTPOST_ADDR" envDefault:"127.0.0.1:8080"`
	// BaseURL is where browsers find the site, https://shift.example.jp; plain http only on this machine itself.
	BaseURL string `env:"SHIFTPOST_BASE_URL"`
	// DataDir is the folder of the database and the pictures.
	DataDir string `env:"SHIFTPOST_DATA_DIR" envDefault:"./data"`
	// TimeZone is the school's, by its IANA name.
	TimeZone string `env:"SHIFTPOST_TIME_ZONE" envDefault:"Asia/Tokyo"`
	// ChromePath is the Chrome that draws the tables; found by itself if empty.
	ChromePath string `env:"SHIFTPOST_CHROME_PATH"`

	// ChannelAccessToken lets the product send as the Messaging API channel. Secret.
	ChannelAccessToken string `env:"LINE_CHANNEL_ACCESS_TOKEN" secret:"true"`
	// ChannelSecret signs LINE's webhooks. Secret.
	ChannelSecret string `env:"LINE_CHANNEL_SECRET" secret:"true"`
	// LoginChannelID is the LINE Login channel whose ID tokens are accepted.
	LoginChannelID string `env:"LINE_LOGIN_CHANNEL_ID"`
	// LIFFID names the LIFF app, 1234567890-AbcdEfgh.
	LIFFID string `env:"LINE_LIFF_ID"`
	// LINEAPIBaseURL is LINE's API.
	LINEAPIBaseURL string `env:"LINE_API_BASE_URL" envDefault:"https://api.line.me"`
	// LIFFBaseURL is what LIFF addresses in messages begin with.
	LIFFBaseURL string `env:"LINE_LIFF_BASE_URL" envDefault:"https://liff.line.me"`
	// LIFFSDKURL is LINE's script for LIFF pages.
	LIFFSDKURL string `env:"LINE_LIFF_SDK_URL" envDefault:"https://static.line-scdn.net/liff/edge/2/sdk.js"`

	// RetryBase is the wait after a first try without a known outcome; it doubles with every try.
	RetryBase time.Duration `env:"SHIFTPOST_RETRY_BASE" envDefault:"2m"`
	// RetryKeyTTL is how long LINE knows a retry key.
	RetryKeyTTL time.Duration `env:"SHIFTPOST_RETRY_KEY_TTL" envDefault:"24h"`
	// LINETimeout bounds one request to LINE.
	LINETimeout time.Duration `env:"SHIFTPOST_LINE_TIMEOUT" envDefault:"10s"`
	// Lease is how long a worker may be silent before its job is taken over.
	Lease time.Duration `env:"SHIFTPOST_LEASE" envDefault:"60s"`
	// Workers is how many messages are sent at a time.
	Workers int `env:"SHIFTPOST_WORKERS" envDefault:"8"`
	// SweepInterval is the pace of the recurring passes.
	SweepInterval time.Duration `env:"SHIFTPOST_SWEEP_INTERVAL" envDefault:"15m"`
	// UndoWindow is how long the notice of a changed shift waits for a further change, as long as no admin set it on the
	// settings page; at most 10 minutes.
	UndoWindow time.Duration `env:"SHIFTPOST_UNDO_WINDOW" envDefault:"30s"`
}

// configError lists every problem of a configuration.
type configError struct{ problems []string }

// Error has one problem a line.
func (e *configError) Error() string {
	return "the settings are not usable:\n  " + strings.Join(e.problems, "\n  ")
}

// readConfig reads the settings from an environment (NAME=value). It does not check them: what a command needs
// differs.
func readConfig(environ []string) (Config, error) {
	vars := env.ToMap(environ)
	var problems []string
	fields := reflect.TypeFor[Config]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Tag.Get("secret") == "" {
			continue
		}
		name := f.Tag.Get("env")
		path := vars[name+"_FILE"]
		switch {
		case path == "":
		case vars[name] != "":
			problems = append(problems, fmt.Sprintf("%s and %s_FILE are both set: keep one", name, name))
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s_FILE: %v", name, err))
				continue
			}
			vars[name] = string(b)
		}
	}
	for name, value := range vars {
		if vars[name] = clean(value); vars[name] == "" {
			delete(vars, name) // an empty variable counts as unset, so that its default applies
		}
	}
	c, err := env.ParseAsWithOptions[Config](env.Options{Environment: vars})
	var several env.AggregateError
	switch {
	case errors.As(err, &several):
		for _, e := range several.Errors {
			problems = append(problems, unreadable(e))
		}
	case err != nil:
		problems = append(problems, err.Error())
	}
	if problems != nil {
		return c, &configError{problems}
	}
	for _, address := range []*string{&c.BaseURL, &c.LINEAPIBaseURL, &c.LIFFBaseURL, &c.LIFFSDKURL} {
		*address = canonical(*address)
	}
	if id, found := strings.CutPrefix(c.LIFFID, "https://liff.line.me/"); found {
		c.LIFFID = id // the console shows both side by side
	}
	return c, nil
}

// clean takes off a value what surely came with it by copying: a byte order mark, white space and line breaks around it,
// and a pair of quotes that no shell took off.
func clean(value string) string {
	value = strings.TrimSpace(strings.TrimPrefix(value, "\ufeff"))
	for _, quote := range []string{`"`, `'`} {
		if inner, found := strings.CutPrefix(value, quote); found && strings.HasSuffix(inner, quote) {
			return strings.TrimSpace(strings.TrimSuffix(inner, quote))
		}
	}
	return value
}

// canonical writes an address as browsers do: the scheme and the host in small letters, without a slash at the end. What
// is no address stays as it is.
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String()
}

// unreadable names the variable of a value that could not be read; the parser names the field.
func unreadable(err error) string {
	var e env.ParseError
	if !errors.As(err, &e) {
		return err.Error()
	}
	f, _ := reflect.TypeFor[Config]().FieldByName(e.Name)
	return fmt.Sprintf("%s: %v", f.Tag.Get("env"), e.Err)
}

var (
	channelIDForm = regexp.MustCompile(`^[0-9]{10}$`)
	liffIDForm    = regexp.MustCompile(`^[0-9]{10}-[0-9A-Za-z]{8}$`)
	secretForm    = regexp.MustCompile(`^[!-~]+$`) // what an HTTP header can carry, without spaces
)

// check says everything that keeps serve from running with these settings.
func (c Config) check() error {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		bad("SHIFTPOST_ADDR: %q is not host:port", c.Addr)
	}
	if _, err := c.location(); err != nil {
		bad("SHIFTPOST_TIME_ZONE: %q is no time zone, write one like Asia/Tokyo", c.TimeZone)
	}
	for _, u := range []struct{ name, value string }{
		{"SHIFTPOST_BASE_URL", c.BaseURL}, {"LINE_API_BASE_URL", c.LINEAPIBaseURL}, {"LINE_LIFF_BASE_URL", c.LIFFBaseURL}, {"LINE_LIFF_SDK_URL", c.LIFFSDKURL},
	} {
		if why := badURL(u.value); why != "" {
			bad("%s: %s", u.name, why)
		}
	}
	if u, err := url.Parse(c.BaseURL); err == nil && u.Path != "" {
		bad("SHIFTPOST_BASE_URL: %q has a path, but the site has a host of its own: write %s", c.BaseURL, u.Scheme+"://"+u.Host)
	}
	for _, v := range []struct{ name, value, why string }{
		{"LINE_CHANNEL_ACCESS_TOKEN", c.ChannelAccessToken, "copy the channel access token of the Messaging API channel from the LINE Developers Console"},
		{"LINE_CHANNEL_SECRET", c.ChannelSecret, "copy the channel secret of the Messaging API channel from the LINE Developers Console"},
	} {
		switch {
		case v.value == "":
			bad("%s is not set: %s", v.name, v.why)
		case !secretForm.MatchString(v.value):
			bad("%s holds a space, a line break or another character that none has: %s again", v.name, v.why)
		}
	}
	if !channelIDForm.MatchString(c.LoginChannelID) {
		bad("LINE_LOGIN_CHANNEL_ID: %q is not the ten digits of a LINE Login channel", c.LoginChannelID)
	}
	if !liffIDForm.MatchString(c.LIFFID) {
		bad("LINE_LIFF_ID: %q is not a LIFF id like 1234567890-AbcdEfgh", c.LIFFID)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
		min   time.Duration
	}{
		{"SHIFTPOST_RETRY_BASE", c.RetryBase, time.Second}, {"SHIFTPOST_RETRY_KEY_TTL", c.RetryKeyTTL, 20 * time.Minute},
		{"SHIFTPOST_LINE_TIMEOUT", c.LINETimeout, time.Second}, {"SHIFTPOST_LEASE", c.Lease, 5 * time.Second},
		{"SHIFTPOST_SWEEP_INTERVAL", c.SweepInterval, time.Minute}, {"SHIFTPOST_UNDO_WINDOW", c.UndoWindow, 0},
	} {
		if d.value < d.min {
			bad("%s: %s is shorter than %s", d.name, d.value, d.min)
		}
	}
	if c.UndoWindow > roster.MaxUndoWindow {
		bad("SHIFTPOST_UNDO_WINDOW: %s is longer than %s", c.UndoWindow, roster.MaxUndoWindow)
	}
	if c.Lease < 2*c.LINETimeout {
		bad("SHIFTPOST_LEASE: %s is shorter than two requests of SHIFTPOST_LINE_TIMEOUT (%s)", c.Lease, c.LINETimeout)
	}
	if c.Workers < 1 || c.Workers > 64 {
		bad("SHIFTPOST_WORKERS: %d is not between 1 and 64", c.Workers)
	}
	if problems != nil {
		return &configError{problems}
	}
	return nil
}

func (c Config) location() (*time.Location, error) { return time.LoadLocation(c.TimeZone) }

// badURL says what is wrong with the address of a service, or nothing. What passes other machines must be encrypted.
func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "not set: write an address like https://shift.example.jp"
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return fmt.Sprintf("%q is not an address like https://shift.example.jp", s)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Sprintf("%q must end before any ? or #, and name nobody before an @", u.Redacted())
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Sprintf("%q must begin with https", s)
	}
	return ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
