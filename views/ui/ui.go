// Package ui holds the pieces every screen is made of: buttons, fields, badges, tables, notices and dialogs. It knows
// no word of the domain and no catalog: whatever can be read comes in as an argument.
//
// Each piece is drawn by the class of its name in static/app.css. A piece with more than three arguments takes a
// struct, whose zero value is the plain form.
package ui

import (
	"strconv"

	"github.com/a-h/templ"
)

// Kind is what a button, a badge or a notice wants of the reader. Not every piece has every kind.
type Kind string

// The kinds. A view has at most one Primary button; Danger buttons have a red outline and are never filled.
const (
	Plain     Kind = "plain"
	Primary   Kind = "primary"
	Danger    Kind = "danger"
	Text      Kind = "text"
	Accent    Kind = "accent"
	Done      Kind = "done"
	Attention Kind = "attention"
	Failed    Kind = "failed"
)

// Flash is a sentence about what was just done, shown once on the page that follows.
type Flash struct {
	Kind Kind // Done, Attention or Failed
	Text string
}

// noticeIcon is the mark of a notice's kind, so that its colour says nothing alone.
func noticeIcon(k Kind) IconName {
	switch k {
	case Done:
		return IconDone
	case Attention:
		return IconWarning
	case Failed:
		return IconFailed
	}
	return IconInfo
}

// FieldError is what is wrong with one field, as a whole sentence.
type FieldError struct {
	Field   string // the field's id
	Message string
}

// Errors are what is wrong with a form, in the order of its fields.
type Errors []FieldError

// Add notes a message for a field.
func (e *Errors) Add(field, message string) {
	*e = append(*e, FieldError{field, message})
}

// On returns the first message for a field, or nothing.
func (e Errors) On(field string) string {
	for _, f := range e {
		if f.Field == field {
			return f.Message
		}
	}
	return ""
}

// Option is one choice of a select or of radio buttons.
type Option struct {
	Value string
	Label string
	Hint  string // a line below the label; radio buttons only
}

// ButtonProps describe a button. Its zero Type submits the form around it.
type ButtonProps struct {
	Label   string
	Kind    Kind // Plain, Primary, Danger or Text
	Icon    IconName
	Working string // replaces the label while the form is on its way: 送っています…
	Type    string // "submit" if empty
	Name    string
	Value   string
	Small   bool // 36 px, inside desktop tables only
	Large   bool // 48 px, the main action of a narrow page
	Attrs   templ.Attributes
}

// LinkButtonProps describe a link that looks like a button: it leads somewhere and changes nothing.
type LinkButtonProps struct {
	Label string
	Href  string
	Kind  Kind
	Icon  IconName
	Small bool
	Large bool
	Attrs templ.Attributes
}

func buttonClass(k Kind, small, large, iconOnly bool) string {
	class := "button"
	switch k {
	case Primary, Danger, Text:
		class += " button-" + string(k)
	}
	if small {
		class += " button-small"
	}
	if large {
		class += " button-large"
	}
	if iconOnly {
		class += " button-icon"
	}
	return class
}

// FieldProps describe a labelled input with its hint and its error.
type FieldProps struct {
	Name         string
	ID           string // Name if empty
	Label        string
	Hint         string // short, beside the label
	Help         string // a sentence below the input
	Value        string
	Error        string
	Type         string // "text" if empty
	Autocomplete string // "off" if empty
	InputMode    string
	MaxLength    int // in UTF-16 units, as browsers count; 0 for none
	Unit         string
	Short        bool // a few characters wide
	Required     bool
	Autofocus    bool
	Attrs        templ.Attributes
}

func (p FieldProps) id() string { return firstOf(p.ID, p.Name) }

// describedBy lists the ids of the texts that explain an input, for a screen reader to read after its label.
func describedBy(id, help, err string) string {
	list := ""
	if help != "" {
		list = id + "-help"
	}
	if err != "" {
		if list != "" {
			list += " "
		}
		list += id + "-error"
	}
	return list
}

// SelectProps describe a labelled select.
type SelectProps struct {
	Name      string
	ID        string // Name if empty
	Label     string
	Hint      string
	Help      string
	Value     string // the chosen option's value
	Empty     string // the first, valueless choice; none if empty
	Options   []Option
	Error     string
	Short     bool
	Required  bool
	Autofocus bool
	Attrs     templ.Attributes
}

func (p SelectProps) id() string { return firstOf(p.ID, p.Name) }

// TextareaProps describe a labelled input of several lines.
type TextareaProps struct {
	Name      string
	ID        string // Name if empty
	Label     string
	Hint      string
	Help      string
	Value     string
	Error     string
	Rows      int // 3 if 0
	MaxLength int // in UTF-16 units; 0 for none
	Attrs     templ.Attributes
}

func (p TextareaProps) id() string { return firstOf(p.ID, p.Name) }

// CheckboxProps describe a checkbox with its sentence. It sends Value, "true" if empty, when it is checked.
type CheckboxProps struct {
	Name    string
	ID      string // Name if empty
	Label   string
	Help    string
	Value   string
	Checked bool
	Attrs   templ.Attributes
}

func (p CheckboxProps) id() string { return firstOf(p.ID, p.Name) }

// ChoicesProps describe radio buttons drawn as cards.
type ChoicesProps struct {
	Name    string // also the id of the first one
	Legend  string
	Value   string
	Options []Option
	Error   string
	Tight   bool // short words side by side
	Attrs   templ.Attributes
}

// choiceID gives the first card the plain name, so that a link of the error summary reaches it.
func (p ChoicesProps) choiceID(i int) string {
	if i == 0 {
		return p.Name
	}
	return p.Name + "-" + strconv.Itoa(i)
}

// PanelProps describe a white panel with a head.
type PanelProps struct {
	ID     string
	Title  string
	Note   string // at the end of the head, in second text
	Urgent bool   // red top edge; only while something in it must be acted on
	Bare   bool   // content reaches the edges: tables and lists
}

// EmptyProps describe what stands where there is nothing yet. Its children are the buttons that lead on.
type EmptyProps struct {
	Icon  IconName
	Title string
	Help  string
}

// DialogProps describe a question. Its children are the body; the safe choice closes it and has the focus.
type DialogProps struct {
	ID    string
	Title string
	Close string // words of the × button
}

// PagerProps describe the way to the pages around a list's. An empty address stops its button.
type PagerProps struct {
	Label        string // of the whole, for screen readers
	PreviousHref string
	PreviousText string
	NextHref     string
	NextText     string
}

// Crumb is one step of the way to a page.
type Crumb struct {
	Label string
	Href  string
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
