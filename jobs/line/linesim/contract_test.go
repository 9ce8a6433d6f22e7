//go:build contract

package linesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/google/uuid"

	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// These tests compare the product's requests and the simulator's answers and webhooks with LINE's own OpenAPI files.
// The environment variable LINE_OPENAPI_DIR names the folder that holds them; they are those of
// https://github.com/line/line-openapi . The build tag keeps them out of the tests that need no such folder.

// gaps are what the files do not say, though LINE's reference does. What is listed here is not checked, everything else
// is. The test fails when a gap is never met, so that the list does not outlive its reasons.
var gaps = map[string]string{
	"status 401": "documented for every call (REF#error-responses), but the file lists it for none",
	"status 404": "documented for groups and profiles, but the file does not list it for each of them",
	"status 400": "documented for every call with parameters, but the file lists it for few",
	"status 415": "documented, but in no file",
	"status 500": "documented, but in no file",
	"status 403": "documented for member ids, but not listed there",
}

// unreadable are requests whose bodies the validator cannot decode.
var unreadable = map[string]string{
	"POST /oauth2/v3/token": "its form is a choice of two (oneOf), which the validator's form decoder does not support",
}

// document is one of LINE's files, ready to check against.
type document struct {
	*openapi3.T
	router routers.Router
}

func load(t *testing.T, name string) *document {
	t.Helper()
	dir := os.Getenv("LINE_OPENAPI_DIR")
	if dir == "" {
		t.Fatal("LINE_OPENAPI_DIR is not set: it names the folder with LINE's OpenAPI files")
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context, openapi3.DisableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	// Requests go to the simulator, not to the servers the file names.
	doc.Servers = nil
	for _, p := range doc.Paths.Map() {
		p.Servers = nil
		for _, op := range p.Operations() {
			op.Servers = nil
		}
	}
	r, err := legacy.NewRouter(doc, openapi3.DisableExamplesValidation())
	if err != nil {
		t.Fatal(err)
	}
	return &document{doc, r}
}

// inspector is an http.RoundTripper that checks each request and its answer against the files.
type inspector struct {
	t    *testing.T
	docs []*document

	mu      sync.Mutex
	checked map[string]int
	met     map[string]bool // gaps
}

func (i *inspector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(answer))
	i.check(r, body, res, answer)
	return res, nil
}

func (i *inspector) check(r *http.Request, body []byte, res *http.Response, answer []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	what := r.Method + " " + r.URL.Path
	var route *routers.Route
	var params map[string]string
	for _, d := range i.docs {
		// The router matches by address; servers were taken out, so the path alone counts.
		plain := r.Clone(r.Context())
		plain.URL.Host, plain.URL.Scheme = "", ""
		found, p, err := d.router.FindRoute(plain)
		if err == nil {
			route, params = found, p
			break
		}
	}
	if route == nil {
		i.t.Errorf("%s is in none of the files", what)
		return
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, MultiError: true}
	plain := r.Clone(r.Context())
	plain.Body = io.NopCloser(bytes.NewReader(body))
	in := &openapi3filter.RequestValidationInput{Request: plain, PathParams: params, Route: route, Options: options}
	// A request that LINE refuses need not be valid: that is why it is refused.
	if res.StatusCode/100 == 2 || res.StatusCode == http.StatusConflict {
		_, skip := unreadable[what]
		if err := openapi3filter.ValidateRequest(r.Context(), in); (err != nil) != skip {
			i.t.Errorf("request %s: valid is %v: %v\n%s", what, !skip, err, body)
		}
		i.messages(body)
	}
	i.checked[route.Method+" "+route.Path]++
	if route.Operation.Responses.Status(res.StatusCode) == nil {
		gap := fmt.Sprintf("status %d", res.StatusCode)
		if _, known := gaps[gap]; !known {
			i.t.Errorf("%s answers %d, which the file does not list", what, res.StatusCode)
		}
		i.met[gap] = true
		// The error's form is the same everywhere.
		i.valid("ErrorResponse", answer)
		return
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: options}
	out.SetBodyBytes(answer)
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		i.t.Errorf("answer %d to %s is not valid: %v\n%s", res.StatusCode, what, err, answer)
	}
}

// messages checks the message objects in a request's body down to the last Flex component.
func (i *inspector) messages(body []byte) {
	var b struct{ Messages []any }
	if json.Unmarshal(body, &b) != nil {
		return
	}
	for n, m := range b.Messages {
		i.docs[0].deep(i.t, fmt.Sprintf("messages/%d", n), "Message", m)
	}
}

// valid checks a JSON text against a schema of the first file.
func (i *inspector) valid(schema string, text []byte) {
	i.t.Helper()
	i.docs[0].validate(i.t, schema, text)
}

func (d *document) validate(t *testing.T, schema string, text []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Errorf("%v in %s", err, text)
		return
	}
	d.deep(t, "", schema, v)
}

// deep checks a value against a schema of the file and everything within it against the schemas of its kinds. The
// validator alone stops at the base: LINE's files name the kinds by a discriminator and not by oneOf.
func (d *document) deep(t *testing.T, path, schema string, v any) {
	t.Helper()
	ref := d.Components.Schemas[schema]
	if ref == nil {
		t.Fatalf("the file has no schema %s", schema)
	}
	o, isObject := v.(map[string]any)
	if by := ref.Value.Discriminator; by != nil && isObject {
		kind, ok := by.Mapping[fmt.Sprint(o[by.PropertyName])]
		if !ok {
			t.Errorf("%s: the file knows no %s of type %v", path, schema, o[by.PropertyName])
			return
		}
		if name := nameOf(kind.Ref); name != schema {
			d.deep(t, path, name, v)
			return
		}
	}
	if err := ref.Value.VisitJSON(v, openapi3.MultiErrors()); err != nil {
		t.Errorf("%s: %s is not valid: %v", path, schema, err)
	}
	if !isObject {
		return
	}
	for name, property := range properties(ref) {
		inner, present := o[name]
		if !present || inner == nil {
			continue
		}
		if n := nameOf(property.Ref); n != "" {
			d.deep(t, path+"/"+name, n, inner)
		}
		if items := property.Value.Items; items != nil && nameOf(items.Ref) != "" {
			list, _ := inner.([]any)
			for n, e := range list {
				d.deep(t, fmt.Sprintf("%s/%s/%d", path, name, n), nameOf(items.Ref), e)
			}
		}
	}
}

// properties are those of a schema and of what it is made of.
func properties(ref *openapi3.SchemaRef) map[string]*openapi3.SchemaRef {
	all := map[string]*openapi3.SchemaRef{}
	for _, part := range ref.Value.AllOf {
		for name, p := range properties(part) {
			all[name] = p
		}
	}
	for name, p := range ref.Value.Properties {
		all[name] = p
	}
	return all
}

func nameOf(ref string) string { return strings.TrimPrefix(ref, "#/components/schemas/") }

func TestRequestsAndAnswersAreThoseOfLINEsFiles(t *testing.T) {
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff"}})
	i := &inspector{
		t: t, checked: map[string]int{}, met: map[string]bool{},
		docs: []*document{load(t, "messaging-api.yml"), load(t, "liff.yml"), load(t, "channel-access-token.yml")},
	}
	client := func(token string) *line.Client {
		return line.NewClient(line.Options{BaseURL: s.BaseURL(), Token: token, Clock: s.clock, HTTPClient: &http.Client{Transport: i}})
	}
	c, ctx := client(s.Channel().AccessToken), context.Background()
	h := hookOf(t, s)
	u := s.users[0].ID
	good := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	refused := func(status int, err error) {
		t.Helper()
		var le *line.Error
		if !errors.As(err, &le) || le.Status != status {
			t.Errorf("%v, want %d", err, status)
		}
	}

	// Every body the product composes.
	for _, body := range productBodies(t, s) {
		key := uuid.NewString()
		_, err := c.Push(ctx, body, key)
		good(err)
		ans, err := c.Push(ctx, body, key)
		good(err)
		if ans.Status != http.StatusConflict {
			t.Errorf("retry: %d", ans.Status)
		}
	}
	good(c.ValidatePush(ctx, json.RawMessage(`[{"type":"text","text":"x"}]`)))
	good(s.Say(u, u, "やあ"))
	s.flush(t)
	var event struct{ ReplyToken string }
	var call struct{ Events []json.RawMessage }
	good(json.Unmarshal(s.Webhooks()[0].Body, &call))
	good(json.Unmarshal(call.Events[0], &event))
	good(c.Reply(ctx, event.ReplyToken, json.RawMessage(`[{"type":"text","text":"はい"}]`)))
	_, err := c.BotInfo(ctx)
	good(err)
	_, err = c.Quota(ctx)
	good(err)
	_, err = c.Consumption(ctx)
	good(err)
	_, err = c.GroupSummary(ctx, s.group.ID)
	good(err)
	_, err = c.GroupMemberCount(ctx, s.group.ID)
	good(err)
	_, err = c.GroupMember(ctx, s.group.ID, u)
	good(err)
	_, err = c.Profile(ctx, u)
	good(err)
	good(c.SetWebhook(ctx, h.URL))
	_, err = c.Webhook(ctx)
	good(err)
	_, err = c.TestWebhook(ctx)
	good(err)
	s.SetQuota(-1)
	_, err = c.Quota(ctx)
	good(err)

	// What LINE refuses.
	refused(400, c.ValidatePush(ctx, json.RawMessage(`[{"type":"text","text":""}]`)))
	_, err = c.Push(ctx, pushBody(nobody, "x"), uuid.NewString())
	refused(400, err)
	_, err = client("wrong").BotInfo(ctx)
	refused(401, err)
	_, err = c.GroupSummary(ctx, nowhere)
	refused(404, err)
	_, err = c.Profile(ctx, nobody)
	refused(404, err)
	_, err = c.GroupMemberCount(ctx, "x")
	refused(400, err)
	for _, f := range []linesim.Fault{{Kind: linesim.FaultAccess}, {Kind: linesim.FaultRate}, {Kind: linesim.FaultMonthly}, {Kind: linesim.FaultStatus, Status: 500}, {Kind: linesim.FaultStatus, Status: 409}} {
		f.Count = 1
		s.fault(t, f)
		if _, err := c.Push(ctx, pushBody(u, "x"), uuid.NewString()); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}

	// Calls the simulator answers, though the product does not make them.
	raw := func(method, path, body, contentType string) {
		t.Helper()
		req, err := http.NewRequest(method, s.BaseURL()+path, strings.NewReader(body))
		good(err)
		req.Header.Set("Authorization", "Bearer "+s.Channel().AccessToken)
		if contentType != "" {
			req.Header.Set("Content-Type", contentType)
		}
		res, err := (&http.Client{Transport: i}).Do(req)
		good(err)
		res.Body.Close()
	}
	raw("GET", "/v2/bot/group/"+s.group.ID+"/members/ids", "", "")
	raw("POST", "/v2/bot/user/"+u+"/linkToken", "", "")
	raw("POST", "/v2/bot/message/push", "x", "text/plain")
	raw("POST", "/v2/bot/group/"+s.group.ID+"/leave", "", "")
	raw("GET", "/liff/v1/apps", "", "")
	raw("POST", "/oauth2/v3/token", "grant_type=client_credentials&client_id="+s.Channel().ID+"&client_secret="+s.Channel().Secret, formType)

	for gap, reason := range gaps {
		if !i.met[gap] {
			t.Errorf("gap %q (%s) is no longer one", gap, reason)
		}
	}
	var calls []string
	for c, n := range i.checked {
		calls = append(calls, fmt.Sprintf("%s ×%d", c, n))
	}
	slices.Sort(calls)
	t.Logf("%d calls checked:\n%s", len(calls), strings.Join(calls, "\n"))
}

// productBodies are the bodies of pushes, built by the code that builds them in production.
func productBodies(t *testing.T, s *school) [][]byte {
	t.Helper()
	japan := time.FixedZone("JST", 9*60*60)
	c, err := jobs.NewComposer(s.LIFFBaseURL(), s.Login().LIFFID, japan)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	add := func(body []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	first := roster.PublicationMessage{
		LINEGroupID: s.group.ID, GroupName: "駅前・本町グループ", Month: roster.Month{Year: 2027, Month: 1}, Number: 1,
		DocumentID: "abc", PublishedAt: noon,
	}
	update := first
	update.Number, update.Base, update.Added, update.Changed = 2, &roster.Base{Number: 1, Certain: true}, 2, 1
	uncertain := update
	uncertain.Base = &roster.Base{Number: 1}
	for _, m := range []roster.PublicationMessage{first, update, uncertain} {
		add(c.ComposePublication(m))
	}
	before := &roster.ToldShift{Classroom: "駅前教室", Date: roster.Date{Year: 2027, Month: 1, Day: 8}, Times: roster.TimeRange{Start: 17 * 60, End: 21*60 + 30}}
	now := &roster.ToldShift{Classroom: "本町教室", Date: roster.Date{Year: 2027, Month: 1, Day: 9}, Times: roster.TimeRange{Start: 22 * 60, End: 25 * 60}}
	to := s.users[0].ID
	for _, m := range []roster.NoticeMessage{
		{Kind: roster.ShiftReminder, LINEID: to, Now: now, DocumentID: "abc"},
		{Kind: roster.ShiftReminder, LINEID: to, Now: now},
		{Kind: roster.ShiftCorrection, LINEID: to, Before: before, Now: now, DocumentID: "abc"},
		{Kind: roster.ShiftCorrection, LINEID: to, Now: now, DocumentID: "abc"},
		{Kind: roster.ShiftCancellation, LINEID: to, Before: before, DocumentID: "abc"},
		{Kind: roster.ShiftCancellation, LINEID: to, Gone: []roster.ToldShift{*before, *now}},
	} {
		add(c.ComposeNotice(m))
	}
	add(c.ComposeReceiptRequest(roster.ReceiptRequestMessage{LINEID: to, GroupName: "駅前・本町グループ", Month: roster.Month{Year: 2027, Month: 1}, Number: 2, DocumentID: "abc", PublishedAt: noon}))
	return bodies
}

func TestWebhooksAreThoseOfLINEsFile(t *testing.T) {
	d := load(t, "webhook.yml")
	s := newSchool(t, linesim.Options{})
	hookOf(t, s)
	u := s.users[0].ID
	stranger := s.AddUser(linesim.User{Name: "新しい 人"})
	s.fault(t, linesim.Fault{Kind: linesim.FaultRedeliver, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultNoEvents, Count: 1})
	for _, do := range []func() error{
		func() error { return s.RemoveBot(s.group.ID) },
		func() error { return s.InviteBot(s.group.ID) },
		func() error { return s.Join(s.group.ID, stranger.ID) },
		func() error { return s.Leave(s.group.ID, stranger.ID) },
		func() error { return s.Follow(stranger.ID) },
		func() error { return s.Block(u) },
		func() error { return s.Follow(u) },
		func() error { return s.Say(s.group.ID, u, "こんにちは") },
		func() error { return s.Postback(u, u, "a=1") },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	s.flush(t)
	seen := map[string]bool{}
	for _, w := range s.Webhooks() {
		d.validate(t, "CallbackRequest", w.Body)
		for _, e := range w.Events() {
			seen[e] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("saw %v", seen)
	}
}
