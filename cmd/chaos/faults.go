package main

import (
	"net/http"

	"shiftpost/jobs/line/linesim"
)

// faultShare is how many requests of a hundred LINE fails.
const faultShare = 20.0

// faults are all the ways in which LINE fails, with their shares of a hundred requests. What is left of faultShare is
// plain 500s.
var faults = []struct {
	share float64
	linesim.Fault
}{
	{2, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusServiceUnavailable, Accept: true}},
	{1, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusBadGateway}},
	{1, linesim.Fault{Kind: linesim.FaultHang}},
	{1.5, linesim.Fault{Kind: linesim.FaultHang, Accept: true}},
	{1.5, linesim.Fault{Kind: linesim.FaultCut}},
	{2, linesim.Fault{Kind: linesim.FaultCut, Accept: true}},
	{1, linesim.Fault{Kind: linesim.FaultBroken}},
	{1, linesim.Fault{Kind: linesim.FaultHTML}},
	{1, linesim.Fault{Kind: linesim.FaultHTML, Status: http.StatusGatewayTimeout}},
	{1, linesim.Fault{Kind: linesim.FaultTruncate}},
	{1.5, linesim.Fault{Kind: linesim.FaultSlow, DelayMS: 50}},
	{0.5, linesim.Fault{Kind: linesim.FaultDown}},
	{0.8, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusBadRequest}},
	{0.2, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusConflict}},
	{0.2, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusFound}},
	{0.2, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusRequestEntityTooLarge}},
	// Each of these holds the whole channel for a while, so they are few.
	{0.1, linesim.Fault{Kind: linesim.FaultToken, Count: 4}},
	{0.1, linesim.Fault{Kind: linesim.FaultAccess, Count: 4}},
	{0.1, linesim.Fault{Kind: linesim.FaultRate, Count: 8}},
	{0.05, linesim.Fault{Kind: linesim.FaultMonthly, Count: 2}},
}

// spoil lets LINE fail as faults says, and for some recipients always.
func spoil(sim *linesim.Simulator, people []*person) error {
	for i, p := range people {
		always := linesim.Fault{Endpoint: "push", To: p.lineID, Kind: linesim.FaultStatus}
		switch i % 200 {
		case 0:
		case 100:
			always.Status = http.StatusBadRequest
		default:
			continue
		}
		if _, err := sim.AddFault(always); err != nil {
			return err
		}
	}
	left := faultShare
	passed := 100.0 // of a hundred requests, what reaches this fault
	add := func(share float64, f linesim.Fault) error {
		f.Endpoint, f.Probability = "push", share/passed
		passed -= share
		left -= share
		_, err := sim.AddFault(f)
		return err
	}
	for _, f := range faults {
		if err := add(f.share, f.Fault); err != nil {
			return err
		}
	}
	return add(left, linesim.Fault{Kind: linesim.FaultStatus, Status: http.StatusInternalServerError})
}
