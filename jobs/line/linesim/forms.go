package linesim

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"shiftpost/views/text"
)

// Why a form on /sim was not done.
var (
	errBadForm = errors.New("the form cannot be read")
	errNumber  = errors.New("not a number in range")
	errName    = errors.New("a name has 1 to 50 characters")
)

// problem is the sentence about a form that was not done.
func problem(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, errNumber):
		return text.T(ctx, "linesim.problem.number")
	case errors.Is(err, errName):
		return text.T(ctx, "linesim.problem.name")
	case errors.Is(err, errText):
		return text.T(ctx, "linesim.problem.text")
	case errors.Is(err, errNobody):
		return text.T(ctx, "linesim.problem.nobody")
	default:
		return text.T(ctx, "linesim.problem.form")
	}
}

// preset is a fault as the panel offers it.
type preset struct {
	name  string
	fault Fault
}

// The presets, in the order of the panel. Those of the second list are behind 「ほかの障害」.
var (
	presets = []preset{
		{"status_refused", Fault{Kind: FaultStatus, Status: 503}},
		{"status_accepted", Fault{Kind: FaultStatus, Status: 503, Accept: true}},
		{"hang_refused", Fault{Kind: FaultHang}},
		{"hang_accepted", Fault{Kind: FaultHang, Accept: true}},
		{"cut_refused", Fault{Kind: FaultCut}},
		{"cut_accepted", Fault{Kind: FaultCut, Accept: true}},
		{"rate", Fault{Kind: FaultRate}},
		{"monthly", Fault{Kind: FaultMonthly}},
	}
	morePresets = []preset{
		{"token", Fault{Kind: FaultToken}},
		{"access", Fault{Kind: FaultAccess}},
		{"bad_request", Fault{Kind: FaultStatus, Status: 400}},
		{"broken", Fault{Kind: FaultBroken}},
		{"html", Fault{Kind: FaultHTML}},
		{"html_refused", Fault{Kind: FaultHTML, Status: 502}},
		{"truncate", Fault{Kind: FaultTruncate}},
		{"slow", Fault{Kind: FaultSlow, DelayMS: 5000}},
		{"expired", Fault{Kind: FaultExpired, Endpoint: "verify"}},
		{"down", Fault{Kind: FaultDown}},
	}
	webhookPresets = []preset{
		{"duplicate", Fault{Kind: FaultDuplicate}},
		{"reorder", Fault{Kind: FaultReorder}},
		{"redeliver", Fault{Kind: FaultRedeliver}},
		{"bad_signature", Fault{Kind: FaultBadSignature}},
		{"no_events", Fault{Kind: FaultNoEvents}},
		{"unknown_event", Fault{Kind: FaultUnknownEvent}},
	}
)

func allPresets() []preset {
	return append(append(append([]preset{}, presets...), morePresets...), webhookPresets...)
}

// presetOf finds the name under which the panel offers a fault; one set by a script may have none of its own and is
// called by the nearest.
func presetOf(f *Fault) string {
	nearest := ""
	for _, p := range allPresets() {
		if p.fault.Kind != f.Kind || p.fault.Accept != f.Accept {
			continue
		}
		if nearest == "" || p.fault.Status == f.Status {
			nearest = p.name
		}
	}
	if nearest == "" {
		nearest = string(f.Kind)
	}
	return nearest
}

// readFault reads the fault panel. The target is "endpoint|recipient".
func readFault(r *http.Request) (Fault, error) {
	var f Fault
	found := false
	for _, p := range allPresets() {
		if p.name == r.PostFormValue("fault") {
			f, found = p.fault, true
		}
	}
	if !found {
		return f, errBadForm
	}
	if f.Endpoint == "" {
		f.Endpoint, f.To, _ = strings.Cut(r.PostFormValue("target"), "|")
	}
	skip, err1 := strconv.Atoi(r.PostFormValue("skip"))
	count, err2 := strconv.Atoi(r.PostFormValue("count"))
	percent, err3 := strconv.Atoi(r.PostFormValue("percent"))
	if err := errors.Join(err1, err2, err3); err != nil || skip < 0 || count < 0 || count > 1000 || percent < 1 || percent > 100 {
		return f, errNumber
	}
	f.Skip, f.Count = skip, count
	if percent < 100 {
		f.Probability = float64(percent) / 100
	}
	return f, nil
}
