package roster

import "time"

// LINEEventKind says what happened, in LINE's words. There may be others than the ones named here.
type LINEEventKind string

// The kinds of events that the product heeds.
const (
	BotJoined     LINEEventKind = "join"         // the account was invited to a group
	BotLeft       LINEEventKind = "leave"        // it was removed from one
	MembersJoined LINEEventKind = "memberJoined" // somebody came into a group that the account is in
	MembersLeft   LINEEventKind = "memberLeft"   // somebody left one
	Followed      LINEEventKind = "follow"       // somebody added the account as a friend, or unblocked it
	Unfollowed    LINEEventKind = "unfollow"     // somebody blocked it
)

// LINEEvent is one event that LINE told by webhook.
type LINEEvent struct {
	ID         string        // names the event however often it is told
	Kind       LINEEventKind // may be one that the product does not know
	HappenedAt time.Time     // by LINE's clock; events are told in any order
	GroupID    string        // the LINE group it happened in, empty if it was none
	UserID     string        // the LINE user it is about, empty if LINE does not say
	ReplyToken string        // answers it once, within about a minute; empty if it cannot be answered
	Standby    bool          // LINE lets another program act on it
	Body       []byte        // JSON, as LINE sent it
}

// Heeded reports whether the product does something when such an event happens. What else is said in a group shows
// only that the account is in it.
func (e LINEEvent) Heeded() bool {
	if e.Standby {
		return false
	}
	switch e.Kind {
	case BotJoined, BotLeft, MembersJoined, MembersLeft:
		return e.GroupID != ""
	case Followed, Unfollowed:
		return e.UserID != "" && e.GroupID == ""
	}
	return false
}

// ReplyTokenLife is how long after an event a reply is tried. Source: LINE says that a token "must be used within one
// minute after receiving the webhook", https://developers.line.biz/en/reference/messaging-api/#send-reply-message ,
// read in October 2026.
const ReplyTokenLife = time.Minute

// Tries of a webhook event that LINE must be asked about: how many there are, and the wait after the first, which
// doubles with each.
const (
	MaxEventTries  = 6
	EventRetryBase = 10 * time.Second
)
