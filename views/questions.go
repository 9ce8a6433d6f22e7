package views

import "shiftpost/db/roster"

// Question is what is asked before something that costs money or cannot be taken back.
type Question struct {
	ID      string // of its dialog; empty where it is a page only
	Title   string
	Warning string           // why it is asked again; empty the first time
	People  []roster.Teacher // whom it is about, if it is about some
	Lead    []string         // what the matter is, a paragraph each
	Facts   []string         // what follows from it, one sentence each
	Action  string           // where a yes is posted
	Fields  []HiddenField
	Yes     string // names verb and number; empty: there is nothing to say yes to
	Working string // replaces it while it is on its way
	Danger  bool   // something may arrive twice
	No      string // names what is not done
	Back    string // where a no leads
}

// HiddenField is a field that a form sends along unseen.
type HiddenField struct{ Name, Value string }
