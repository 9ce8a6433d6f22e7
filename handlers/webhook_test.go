package handlers

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/jobs/line/linesim"
)

// callWebhook sends a body as LINE does, signed with a secret.
func (ts *testSite) callWebhook(secret, body string, headers ...string) *answer {
	ts.Helper()
	headers = append([]string{"Content-Type", "application/json; charset=utf-8", "X-Line-Signature", linesim.Sign(secret, []byte(body))}, headers...)
	return ts.send(http.MethodPost, webhookPath, strings.NewReader(body), headers...)
}

// webhookEvents counts the events that are stored, and the jobs that wait for them.
func (ts *testSite) webhookEvents() (events, jobs int) {
	ts.Helper()
	row := ts.store.SessionDB().QueryRow(`SELECT (SELECT count(*) FROM webhook_events), (SELECT count(*) FROM jobs WHERE kind = 'webhook_event' AND state = 'ready')`)
	if err := row.Scan(&events, &jobs); err != nil {
		ts.Fatal(err)
	}
	return events, jobs
}

// joinEvent is the event of an invitation to a group; n names it.
func joinEvent(n int) string {
	return `{"type":"join","timestamp":` + strconv.FormatInt(dbtest.Start.UnixMilli(), 10) + `,"mode":"active","source":{"type":"group","groupId":"` + dbtest.LINEGroupID(n) +
		`"},"replyToken":"nHuyWiB7yP5Zw52FIkcQobQuGDXCTA","webhookEventId":"01FZ74A0TDDPYRVKNK77XK` + strconv.Itoa(1000+n) + `","deliveryContext":{"isRedelivery":false}}`
}

func webhookBody(events ...string) string {
	return `{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[` + strings.Join(events, ",") + `]}`
}

func TestAWebhookIsStoredAndQueuedBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	woken := 0
	ts.site.wake = func() { woken++ }
	message := `{"type":"message","timestamp":1,"mode":"active","source":{"type":"user","userId":"` + dbtest.LINEUserID(1) + `"},"webhookEventId":"01A","message":{"id":"1","type":"text","text":"こんにちは","quoteToken":"q"}}`
	ts.callWebhook(testSecret, webhookBody(joinEvent(1), message, joinEvent(2))).wantStatus(http.StatusOK)
	if events, jobs := ts.webhookEvents(); events != 3 || jobs != 2 {
		t.Errorf("%d events and %d jobs are stored", events, jobs)
	}
	if woken != 1 {
		t.Errorf("the runner was woken %d times", woken)
	}
	ts.callWebhook(testSecret, webhookBody()).wantStatus(http.StatusOK)
	if woken != 1 {
		t.Error("LINE's trial call wakes the runner")
	}
}

func TestAWebhookThatIsToldAgainIsStoredOnce(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	again := strings.Replace(joinEvent(1), `"isRedelivery":false`, `"isRedelivery":true`, 1)
	for _, e := range []string{joinEvent(1), joinEvent(1), again} {
		ts.callWebhook(testSecret, webhookBody(e)).wantStatus(http.StatusOK)
	}
	if events, jobs := ts.webhookEvents(); events != 1 || jobs != 1 {
		t.Errorf("%d events and %d jobs are stored", events, jobs)
	}
}

func TestAWebhookThatIsNotLINEsOrNotReadableIsRefused(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	good := webhookBody(joinEvent(1))
	for name, c := range map[string]struct {
		secret, body string
		headers      []string
		want         int
	}{
		"signed with another secret": {"another", good, nil, http.StatusBadRequest},
		"not signed":                 {testSecret, good, []string{"X-Line-Signature", ""}, http.StatusBadRequest},
		"signature of another body":  {testSecret, good, []string{"X-Line-Signature", linesim.Sign(testSecret, []byte("x"))}, http.StatusBadRequest},
		"signature is no base64":     {testSecret, good, []string{"X-Line-Signature", "%%%"}, http.StatusBadRequest},
		"two megabytes":              {testSecret, webhookBody(`{"type":"` + strings.Repeat("x", 2<<20) + `"}`), nil, http.StatusRequestEntityTooLarge},
		"HTML":                       {testSecret, "<html><body>Bad Gateway</body></html>", []string{"Content-Type", "text/html"}, http.StatusBadRequest},
		"empty":                      {testSecret, "", nil, http.StatusBadRequest},
		"cut off":                    {testSecret, good[:len(good)-5], nil, http.StatusBadRequest},
	} {
		a := ts.callWebhook(c.secret, c.body, c.headers...)
		if a.status != c.want || a.body != "" {
			t.Errorf("%s: answered %d %q, want %d", name, a.status, a.body, c.want)
		}
	}
	if events, _ := ts.webhookEvents(); events != 0 {
		t.Errorf("%d events are stored", events)
	}
	if log := ts.log.String(); strings.Contains(log, testSecret) || strings.Contains(log, dbtest.LINEGroupID(1)) {
		t.Errorf("the log tells a secret or a LINE id:\n%s", log)
	}
}

func TestABrokenEventOfACallDoesNotTakeAGoodOneWithIt(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	null := `{"type":"message","timestamp":1,"mode":"active","source":{"type":"user","userId":"` + dbtest.LINEUserID(1) + `"},"webhookEventId":"01A","message":null}`
	unreadable := `{"type":"join","source":"` + dbtest.LINEGroupID(2) + `"}`
	for range 2 { // as LINE sends it, and sends it again
		ts.callWebhook(testSecret, webhookBody(null, joinEvent(1), unreadable)).wantStatus(http.StatusOK)
	}
	if events, jobs := ts.webhookEvents(); events != 3 || jobs != 1 {
		t.Errorf("%d events and %d jobs are stored", events, jobs)
	}
	if log := ts.log.String(); !strings.Contains(log, "event 3 of 3") || strings.Contains(log, dbtest.LINEGroupID(2)) {
		t.Errorf("the log does not say which event could not be read, or tells a LINE id:\n%s", log)
	}
}

func TestTheSignatureAloneDecidesWhetherAWebhookIsLINEs(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	for i, headers := range [][]string{
		{"Content-Type", "text/plain"},
		{"Content-Type", ""},
		{"Content-Type", "application/x-www-form-urlencoded"}, // must not be read as a form
		{"Sec-Fetch-Site", "cross-site", "Origin", "https://line.example"},
		{"Transfer-Encoding", "chunked"},
	} {
		a := ts.callWebhook(testSecret, webhookBody(joinEvent(i)), headers...)
		if a.status != http.StatusOK || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%v: answered %d, cookie %q", headers, a.status, a.header.Get("Set-Cookie"))
		}
	}
	if events, _ := ts.webhookEvents(); events != 5 {
		t.Errorf("%d events are stored", events)
	}
	ts.get(webhookPath).wantStatus(http.StatusMethodNotAllowed)
}

func TestWithoutAChannelSecretNoWebhookIsTaken(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.site.webhookSecret = ""
	ts.callWebhook("", webhookBody(joinEvent(1))).wantStatus(http.StatusBadRequest)
	if _, err := ts.store.Claim(t.Context(), 1); !errors.Is(err, queue.ErrNone) {
		t.Errorf("something was queued: %v", err)
	}
}

func TestALostDatabaseIsNoAnswerOf200(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	if _, err := ts.store.SessionDB().Exec(`DROP TABLE webhook_events`); err != nil {
		t.Fatal(err)
	}
	ts.callWebhook(testSecret, webhookBody(joinEvent(1))).wantStatus(http.StatusInternalServerError)
}
