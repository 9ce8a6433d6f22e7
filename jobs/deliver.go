package jobs

import (
	"context"
	"errors"
	"net/http"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line"
)

// pusher is what carrying a delivery needs of LINE.
type pusher interface {
	Push(ctx context.Context, body []byte, retryKey string) (line.Answer, error)
}

// errShutdown is the cause that ends requests still in flight when the grace time of a shutdown is over.
var errShutdown = errors.New("the program is shutting down")

// push makes the request of one try and sorts the answer. It is safe to make again with the same try: LINE answers a
// repeated retry key without posting twice.
func push(ctx context.Context, p pusher, try *db.Try) db.Result {
	answer, err := p.Push(ctx, try.Body, try.RetryKey)
	r := db.Result{Outcome: roster.Accepted, Status: answer.Status, RequestID: answer.RequestID, AcceptedRequestID: answer.AcceptedRequestID}
	if err == nil {
		return r
	}
	var refusal *line.Error
	if !errors.As(err, &refusal) {
		r.Outcome, r.Code, r.Message = roster.Unknown, roster.CodeInternal, err.Error()
		return r
	}
	r.Code, r.Message = roster.Code(refusal.Code), refusal.Message
	r.Outcome, r.Hold = roster.Refused, holdCause(refusal)
	if refusal.Class == line.Unknown {
		r.Outcome = roster.Unknown
		r.CutOff = errors.Is(context.Cause(ctx), errShutdown)
	}
	return r
}

// holdCause returns the fault of the whole channel that an answer tells of, empty if it is about the one message.
func holdCause(e *line.Error) roster.HoldCause {
	switch {
	case e.Class != line.ChannelFault:
		return ""
	case e.Status == http.StatusUnauthorized:
		return roster.HoldUnauthorized
	case e.Status == http.StatusForbidden:
		return roster.HoldForbidden
	case e.MonthlyLimit:
		return roster.HoldMonthlyLimit
	}
	return roster.HoldRateLimit
}
