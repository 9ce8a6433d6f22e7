package auth

import (
	"errors"
	"strings"
	"testing"
)

func TestPasswordFitsItsOwnHashOnly(t *testing.T) {
	t.Parallel()
	hash := HashPassword("正しい馬の電池 12")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("hash %q is not in PHC form with the documented cost", hash)
	}
	for password, want := range map[string]bool{"正しい馬の電池 12": true, "正しい馬の電池 13": false, "": false} {
		got, err := verifyPassword(hash, password)
		if err != nil || got != want {
			t.Errorf("verify %q: %v, %v, want %v", password, got, err, want)
		}
	}
}

func TestSamePasswordHasAnotherHashEachTime(t *testing.T) {
	t.Parallel()
	first, second := HashPassword("correct horse"), HashPassword("correct horse")
	if first == second {
		t.Error("two hashes are equal: no salt")
	}
}

func TestHashesOfOtherCostsStayValid(t *testing.T) {
	t.Parallel()
	// From the tests of the reference implementation, https://github.com/P-H-C/phc-winner-argon2/blob/master/src/test.c.
	const hash = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	ok, err := verifyPassword(hash, "password")
	if err != nil || !ok {
		t.Errorf("a hash of other costs is refused: %v, %v", ok, err)
	}
}

func TestTextThatIsNoHashIsAnErrorAndNoPassword(t *testing.T) {
	t.Parallel()
	good := HashPassword("correct horse")
	for name, hash := range map[string]string{
		"empty":             "",
		"plain text":        "correct horse",
		"another algorithm": strings.Replace(good, "argon2id", "argon2i", 1),
		"another version":   strings.Replace(good, "v=19", "v=16", 1),
		"no cost":           strings.Replace(good, "m=19456,t=2,p=1", "", 1),
		"no passes":         strings.Replace(good, "t=2", "t=0", 1),
		"too much memory":   strings.Replace(good, "m=19456", "m=4194304", 1),
		"too many passes":   strings.Replace(good, "t=2", "t=1000", 1),
		"no key":            good[:strings.LastIndex(good, "$")+1],
		"broken base64":     good[:len(good)-3] + "***",
		"endless":           good + strings.Repeat("A", 2000),
	} {
		if ok, err := verifyPassword(hash, "correct horse"); ok || !errors.Is(err, errHash) {
			t.Errorf("%s: got %v, %v, want errHash", name, ok, err)
		}
	}
}

func TestStrangersHashCostsAsMuchAsAnAdmins(t *testing.T) {
	t.Parallel()
	cost := func(hash string) string { return strings.Join(strings.Split(hash, "$")[:4], "$") }
	if got, want := cost(strangerHash), cost(HashPassword("correct horse")); got != want {
		t.Errorf("a stranger's hash is %s, an admin's %s: the time of the answer tells who exists", got, want)
	}
	if ok, err := verifyPassword(strangerHash, ""); ok || err != nil {
		t.Errorf("stranger's hash: %v, %v", ok, err)
	}
}

func TestNewPasswordHasTenToHundredTwentyEightCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		password string
		want     error
	}{
		{"123456789", ErrPasswordShort},
		{"1234567890", nil},
		{"シフト表をつくる人たち", nil},
		{"シフト表をつくる", ErrPasswordShort},
		{strings.Repeat("あ", 128), nil},
		{strings.Repeat("あ", 129), ErrPasswordLong},
		{"Manager@mihon-juku.example", ErrPasswordEmail},
	} {
		if err := CheckPassword(c.password, "manager@mihon-juku.example"); !errors.Is(err, c.want) {
			t.Errorf("%.30q: %v, want %v", c.password, err, c.want)
		}
	}
}
