package views

import (
	"shiftpost/static"
)

// Shell is the empty page that LINE opens.
type Shell struct {
	LIFFID  string // empty while LINE is not connected
	LIFFURL string // the LIFF app's address at LINE, to which a path below the endpoint can be added
	SDKURL  string
	Path    string // of the page, to come back to it after a change of language
}

// ViewerMessage is what a teacher reads instead of the table.
type ViewerMessage struct {
	Reason    string // names its sentences below "viewer.problems."
	RequestID string // empty where the log has nothing to add
}

// again reports whether the message can end by itself, so that trying again makes sense.
func (m ViewerMessage) again() bool {
	switch m.Reason {
	case "line", "internal", "offline", "start", "clock":
		return true
	}
	return false
}

// reopen reports whether the way on is to open the page from LINE anew.
func (m ViewerMessage) reopen() bool {
	switch m.Reason {
	case "session", "expired", "invalid", "reopen":
		return true
	}
	return false
}

// shellReasons are the messages that the shell's script shows by itself, where no server could be asked or none knows.
var shellReasons = []string{"offline", "start", "clock", "reopen"}

func viewerStyleSheets() []string {
	return []string{static.URL("fonts.css"), static.URL("app.css"), static.URL("viewer.css")}
}
