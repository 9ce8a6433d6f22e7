package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var goodEnvironment = []string{"SHIFTPOST_BASE_URL=https://shift.example.jp", "LINE_CHANNEL_ACCESS_TOKEN=t", "LINE_CHANNEL_SECRET=s",
	"LINE_LOGIN_CHANNEL_ID=1234567890", "LINE_LIFF_ID=1234567890-AbcdEfgh"}

func TestUnsetSettingsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	c, err := readConfig(append(goodEnvironment, "SHIFTPOST_RETRY_BASE="))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
	if c.Addr != "127.0.0.1:8080" || c.TimeZone != "Asia/Tokyo" || c.RetryBase != 2*time.Minute || c.RetryKeyTTL != 24*time.Hour || c.LINETimeout != 10*time.Second || c.Lease != time.Minute || c.SweepInterval != 15*time.Minute || c.Workers != 8 || c.LINEAPIBaseURL != "https://api.line.me" {
		t.Errorf("defaults are %+v", c)
	}
}

func TestEveryProblemOfTheSettingsIsListedAtOnce(t *testing.T) {
	t.Parallel()
	c, err := readConfig([]string{"SHIFTPOST_ADDR=nowhere", "SHIFTPOST_BASE_URL=http://shift.example.jp", "SHIFTPOST_TIME_ZONE=Mars/Base",
		"LINE_LIFF_ID=x", "SHIFTPOST_WORKERS=0", "SHIFTPOST_LEASE=15s", "SHIFTPOST_UNDO_WINDOW=11m"})
	if err != nil {
		t.Fatal(err)
	}
	err = c.check()
	if err == nil {
		t.Fatal("the settings were accepted")
	}
	for _, name := range []string{"SHIFTPOST_ADDR", "SHIFTPOST_BASE_URL", "SHIFTPOST_TIME_ZONE", "LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET",
		"LINE_LOGIN_CHANNEL_ID", "LINE_LIFF_ID", "SHIFTPOST_WORKERS", "SHIFTPOST_LEASE", "SHIFTPOST_UNDO_WINDOW"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the problem of %s is not named:\n%v", name, err)
		}
	}
}

func TestUnreadableValuesAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := readConfig([]string{"SHIFTPOST_WORKERS=many", "SHIFTPOST_LEASE=soon"})
	if err == nil || !strings.Contains(err.Error(), "SHIFTPOST_WORKERS") || !strings.Contains(err.Error(), "SHIFTPOST_LEASE") {
		t.Errorf("readConfig = %v, want both values named", err)
	}
}

func TestASecretCanBeAFileButNotBoth(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig([]string{"LINE_CHANNEL_ACCESS_TOKEN_FILE=" + path})
	if err != nil || c.ChannelAccessToken != "from-file" {
		t.Errorf("token = %q, %v", c.ChannelAccessToken, err)
	}
	for _, environ := range [][]string{
		{"LINE_CHANNEL_ACCESS_TOKEN_FILE=" + path, "LINE_CHANNEL_ACCESS_TOKEN=direct"},
		{"LINE_CHANNEL_ACCESS_TOKEN_FILE=" + path + ".missing"},
	} {
		if _, err := readConfig(environ); err == nil || !strings.Contains(err.Error(), "LINE_CHANNEL_ACCESS_TOKEN_FILE") {
			t.Errorf("%v was accepted: %v", environ, err)
		}
	}
}

func TestWhatSurelyIsNoiseAroundASettingIsTakenOff(t *testing.T) {
	t.Parallel()
	for _, noisy := range []func(string) string{
		func(v string) string { return v + "\n" },
		func(v string) string { return v + "\r\n" },
		func(v string) string { return " \t" + v + "\u3000" },
		func(v string) string { return `"` + v + `"` },
		func(v string) string { return "'" + v + "'\n" },
		func(v string) string { return "\ufeff" + v },
		func(v string) string { return "\ufeff\"" + v + "\"\r\n" },
	} {
		var environ []string
		for _, setting := range goodEnvironment {
			name, value, _ := strings.Cut(setting, "=")
			environ = append(environ, name+"="+noisy(value))
		}
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(noisy("from-file")), 0o600); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, "SHIFTPOST_LEASE="+noisy("50s"))
		environ[1], environ[2] = "LINE_CHANNEL_ACCESS_TOKEN_FILE="+path, "LINE_CHANNEL_SECRET="+noisy("s")
		c, err := readConfig(environ)
		if err == nil {
			err = c.check()
		}
		if err != nil || c.ChannelAccessToken != "from-file" || c.ChannelSecret != "s" || c.BaseURL != "https://shift.example.jp" || c.LIFFID != "1234567890-AbcdEfgh" || c.Lease != 50*time.Second {
			t.Errorf("%q was read as %+v, %v", environ, c, err)
		}
	}
}

func TestAnAddressIsReadAsABrowserReadsIt(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"HTTPS://shift.example.jp", "https://Shift.Example.JP/", "https://shift.example.jp//"} {
		c, err := readConfig(append(goodEnvironment[1:], "SHIFTPOST_BASE_URL="+typed))
		if err != nil || c.BaseURL != "https://shift.example.jp" {
			t.Errorf("%s was read as %s, %v", typed, c.BaseURL, err)
		}
	}
	c, err := readConfig(append(goodEnvironment[:4:4], "LINE_LIFF_ID=https://liff.line.me/1234567890-AbcdEfgh"))
	if err != nil || c.LIFFID != "1234567890-AbcdEfgh" {
		t.Errorf("the LIFF app's address was read as %s, %v", c.LIFFID, err)
	}
}

func TestASettingThatCannotWorkStopsTheStartWithItsMend(t *testing.T) {
	t.Parallel()
	for setting, mend := range map[string]string{
		"SHIFTPOST_BASE_URL=https://shift.example.jp/app":       "write https://shift.example.jp",
		"SHIFTPOST_BASE_URL=https://shift.example.jp?a=1":       "before any ?",
		"SHIFTPOST_BASE_URL=https://shift.example.jp#top":       "before any ?",
		"SHIFTPOST_BASE_URL=https://me:secret@shift.example.jp": "name nobody",
		"LINE_API_BASE_URL=https://api.line.me?x":               "before any ?",
		"LINE_CHANNEL_ACCESS_TOKEN=two parts":                   "copy the channel access token",
		"LINE_CHANNEL_ACCESS_TOKEN=two\nlines":                  "copy the channel access token",
		"LINE_CHANNEL_SECRET=秘密":                                "copy the channel secret",
	} {
		name, value, _ := strings.Cut(setting, "=")
		c, err := readConfig(append(goodEnvironment[:5:5], setting))
		if err == nil {
			err = c.check()
		}
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), mend) {
			t.Errorf("%q: %v", setting, err)
			continue
		}
		if strings.HasPrefix(name, "LINE_CHANNEL") && strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: the problem tells the secret: %v", setting, err)
		}
	}
}

func TestPlainHTTPIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	for url, good := range map[string]bool{"http://127.0.0.1:8080": true, "http://localhost:1": true, "http://[::1]:1": true, "https://a.jp": true,
		"http://a.jp": false, "a.jp": false, "ftp://a.jp": false, "": false} {
		if (badURL(url) == "") != good {
			t.Errorf("badURL(%q) = %q, want good: %v", url, badURL(url), good)
		}
	}
}
