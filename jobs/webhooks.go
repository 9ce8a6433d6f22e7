package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"shiftpost/db"
	"shiftpost/views/text"
)

// informer is what working a webhook event needs of LINE.
type informer interface {
	groupAsker
	Reply(ctx context.Context, replyToken string, messages json.RawMessage) error
}

// ask makes the requests that an event of a webhook calls for. They are safe to make again but for the reply, whose
// token the store hands out once. A panic is an event that could not be worked.
func ask(ctx context.Context, l informer, e *db.WebhookEvent, log *slog.Logger) (r db.EventResult) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic while working a webhook event", "event", e.ID, "panic", p, "stack", string(debug.Stack()))
			r = db.EventResult{Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	if e.ReplyToken != "" {
		// A welcome is a courtesy: LINE takes no retry key for it, so a second one could arrive beside the first.
		if err := l.Reply(ctx, e.ReplyToken, welcome(e.Linked)); err != nil {
			log.Warn("a new friend was not welcomed", "event", e.ID, "error", err)
		}
	}
	if e.GroupID != "" {
		r.Group, r.Err = groupFacts(ctx, l, e.GroupID)
	}
	return r
}

// welcome is what somebody reads who adds the account as a friend, as the JSON array of messages that a reply takes. A
// teacher who is linked need not be told how to get linked.
func welcome(linked bool) json.RawMessage {
	ctx := text.WithLanguage(context.Background(), text.Japanese)
	words := text.T(ctx, "messages.welcome")
	if linked {
		words = text.T(ctx, "messages.welcome_linked")
	}
	b, err := json.Marshal([]map[string]string{{"type": "text", "text": words}})
	if err != nil {
		panic(err) // strings alone
	}
	return b
}
