package views

// signInDays are the made-up rows beside the sign-in form.
var signInDays = []struct {
	Day     string
	Letters [5]string
}{
	{"11", [5]string{"", "早", "", "早", ""}},
	{"12", [5]string{"夕", "", "★遅", "", "遅"}},
	{"13", [5]string{"", "", "", "夕", ""}},
	{"14", [5]string{"★遅", "", "", "遅", "夕"}},
}
