package linesim

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// FaultKind is one way of failing.
type FaultKind string

// The ways LINE can fail. "Accepting" ones do the work first, as far as LINE's own checks allow it, and then fail.
const (
	FaultStatus   FaultKind = "status"   // answers Fault.Status, or 500
	FaultHang     FaultKind = "hang"     // gives no answer until the client goes away
	FaultCut      FaultKind = "cut"      // resets the connection
	FaultBroken   FaultKind = "broken"   // accepts with 200, but the body is broken JSON
	FaultHTML     FaultKind = "html"     // accepts with 200, or answers Fault.Status; the body is HTML, as from LINE's edge
	FaultTruncate FaultKind = "truncate" // accepts with 200, then cuts the connection within the body
	FaultSlow     FaultKind = "slow"     // answers properly, after Fault.DelayMS or 3 seconds
	FaultDown     FaultKind = "down"     // resets every connection, whatever the endpoint
	FaultRate     FaultKind = "rate"     // 429, too many requests
	FaultMonthly  FaultKind = "monthly"  // 429, monthly limit, whatever the quota says: LINE's temporary shortage
	FaultToken    FaultKind = "token"    // 401, as if the channel access token had expired
	FaultAccess   FaultKind = "access"   // 403, API not available for the account
	FaultExpired  FaultKind = "expired"  // verify: answers that the ID token has expired

	FaultDuplicate    FaultKind = "duplicate"     // webhook: the same call twice
	FaultReorder      FaultKind = "reorder"       // webhook: after the next one
	FaultRedeliver    FaultKind = "redeliver"     // webhook: again, marked as redelivered, as after a lost answer
	FaultBadSignature FaultKind = "bad signature" // webhook: signed with another secret
	FaultNoEvents     FaultKind = "no events"     // webhook: an extra call without events before it
	FaultUnknownEvent FaultKind = "unknown event" // webhook: an extra event of a type nobody knows before it
)

// faultKinds are all kinds of faults, and whether they are about webhooks.
var faultKinds = map[FaultKind]bool{
	FaultStatus: false, FaultHang: false, FaultCut: false, FaultBroken: false, FaultHTML: false, FaultTruncate: false, FaultSlow: false,
	FaultDown: false, FaultRate: false, FaultMonthly: false, FaultToken: false, FaultAccess: false, FaultExpired: false,
	FaultDuplicate: true, FaultReorder: true, FaultRedeliver: true, FaultBadSignature: true, FaultNoEvents: true, FaultUnknownEvent: true,
}

// Values of Fault.To that stand for many recipients.
const (
	ToGroups = "groups" // any group
	ToUsers  = "users"  // any user
)

// Fault makes requests fail. The first fault that fits a request takes it.
type Fault struct {
	ID          int64     `json:"id"` // given by AddFault
	Kind        FaultKind `json:"kind"`
	Endpoint    string    `json:"endpoint,omitempty"`    // one of Endpoints; any if empty (webhook kinds: ignored)
	To          string    `json:"to,omitempty"`          // LINE id, ToGroups or ToUsers; anybody if empty
	Skip        int       `json:"skip,omitempty"`        // requests that fit and pass before it begins
	Count       int       `json:"count,omitempty"`       // requests it takes; 0: until it is removed
	Probability float64   `json:"probability,omitempty"` // 0 to 1 of taking a request that fits; 0 counts as 1
	Accept      bool      `json:"accept,omitempty"`      // status, hang, cut: do the work first
	Status      int       `json:"status,omitempty"`      // status, html
	Message     string    `json:"message,omitempty"`     // status: the answer's message
	DelayMS     int       `json:"delayMs,omitempty"`     // slow: milliseconds of real time

	Taken int `json:"taken"` // requests it has taken so far
}

func (f *Fault) webhook() bool { return faultKinds[f.Kind] }

// over reports whether f has taken all it may.
func (f *Fault) over() bool { return f.Count > 0 && f.Taken >= f.Count }

func (f *Fault) fits(endpoint, to string) bool {
	if f.Kind != FaultDown && f.Endpoint != "" && f.Endpoint != endpoint {
		return false
	}
	switch f.To {
	case "":
		return true
	case ToGroups:
		return groupIDForm.MatchString(to)
	case ToUsers:
		return userIDForm.MatchString(to)
	default:
		return f.To == to
	}
}

// AddFault lets requests fail from now on and returns the fault's id.
func (s *Simulator) AddFault(f Fault) (int64, error) {
	if _, ok := faultKinds[f.Kind]; !ok {
		return 0, fmt.Errorf("no fault is called %q", f.Kind)
	}
	if f.Endpoint != "" && !slices.Contains(Endpoints, f.Endpoint) {
		return 0, fmt.Errorf("no endpoint is called %q", f.Endpoint)
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return 0, fmt.Errorf("status %d is not between 200 and 599", f.Status)
	}
	if f.Probability < 0 || f.Probability > 1 || f.Count < 0 || f.Skip < 0 || f.DelayMS < 0 {
		return 0, fmt.Errorf("a fault's numbers are not negative and its probability is at most 1")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Seq++
	f.ID, f.Taken = s.st.Seq, 0
	s.st.Faults = append(s.st.Faults, &f)
	s.changed()
	return f.ID, nil
}

// RemoveFault ends a fault; an unknown id is ignored.
func (s *Simulator) RemoveFault(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Faults = slices.DeleteFunc(s.st.Faults, func(f *Fault) bool { return f.ID == id })
	s.changed()
}

// ClearFaults ends all faults.
func (s *Simulator) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Faults = nil
	s.changed()
}

// Faults returns the faults, used up ones included, oldest first.
func (s *Simulator) Faults() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	fs := make([]Fault, len(s.st.Faults))
	for i, f := range s.st.Faults {
		fs[i] = *f
	}
	return fs
}

// take returns a copy of the fault that takes this request, or nil. With s.mu held.
func (s *Simulator) take(webhook bool, endpoint, to string) *Fault {
	for _, f := range s.st.Faults {
		if f.webhook() != webhook || f.over() || !f.fits(endpoint, to) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Probability > 0 && s.dice.Float64() >= f.Probability {
			continue
		}
		f.Taken++
		c := *f
		return &c
	}
	return nil
}

// instead returns the answer that f gives without the request being worked, and false if it is to be worked.
func (f *Fault) instead() (reply, bool) {
	switch f.Kind {
	case FaultStatus:
		if !f.Accept {
			return f.answer(), true
		}
	case FaultHang, FaultCut:
		if !f.Accept {
			return reply{}, true
		}
	case FaultDown:
		return reply{}, true
	case FaultHTML:
		if f.Status != 0 && f.Status/100 != 2 {
			return htmlReply(f.Status), true
		}
	case FaultRate:
		return refuse(http.StatusTooManyRequests, msgRate), true
	case FaultMonthly:
		return refuse(http.StatusTooManyRequests, msgMonthly), true
	case FaultToken:
		return refuse(http.StatusUnauthorized, msgToken), true
	case FaultAccess:
		return refuse(http.StatusForbidden, msgAccess), true
	case FaultExpired:
		return loginRefusal("IdToken expired."), true
	}
	return reply{}, false
}

// answer is what FaultStatus says.
func (f *Fault) answer() reply {
	status, message := f.Status, f.Message
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if message == "" {
		message = http.StatusText(status)
		switch status {
		case http.StatusUnauthorized:
			message = msgToken
		case http.StatusForbidden:
			message = msgAccess
		case http.StatusTooManyRequests:
			message = msgRate
		case http.StatusBadRequest:
			message = msgFailed
		}
	}
	return refuse(status, message)
}

func (f *Fault) delay() time.Duration {
	if f.DelayMS == 0 {
		return 3 * time.Second
	}
	return time.Duration(f.DelayMS) * time.Millisecond
}
