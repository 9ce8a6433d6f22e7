package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"

	"golang.org/x/term"

	"shiftpost/db"
	"shiftpost/handlers/auth"
)

// admin makes an admin or sets an admin's password. It may run beside serve.
func admin(ctx context.Context, c Config, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	var add bool
	switch {
	case len(args) == 3 && args[0] == "add":
		add = true
	case len(args) == 2 && args[0] == "passwd":
	default:
		return &usageError{"write: shiftpost admin add EMAIL NAME, or: shiftpost admin passwd EMAIL"}
	}
	email := db.NormalizeEmail(args[1])
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email {
		return fmt.Errorf("%q is not an e-mail address", args[1])
	}
	password, err := askPassword(fmt.Sprintf("Password for %s (at least %d characters, then Enter): ", email, auth.MinPasswordLength), stdin, stdout)
	if err != nil {
		return err
	}
	if err := auth.CheckPassword(password, email); err != nil {
		return err
	}
	loc, err := c.location()
	if err != nil {
		return err
	}
	store, err := db.Open(ctx, db.Options{Dir: c.DataDir, Location: loc})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	hash := auth.HashPassword(password)
	if !add {
		if err := store.SetAdminPassword(ctx, email, hash); errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("there is no admin %s", email)
		} else if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "The password of %s is set.\n", email)
		return err
	}
	_, err = store.CreateAdmin(ctx, db.AdminEdit{Email: email, Name: strings.TrimSpace(args[2]), PasswordHash: hash})
	if errors.Is(err, db.ErrNameTaken) {
		return fmt.Errorf("there is an admin %s already; set the password by: shiftpost admin passwd %s", email, email)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "Added %s. Sign in at %s/session/new\n", email, strings.TrimSuffix(c.BaseURL, "/"))
	return err
}

// askPassword reads what is typed up to Enter, or the end of an input that is no terminal. A terminal does not show it.
func askPassword(prompt string, stdin io.Reader, stdout io.Writer) (password string, err error) {
	f, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(stdout, prompt)
		password, err = bufio.NewReader(stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read password: %w", err)
		}
		fmt.Fprintln(stdout)
		return strings.TrimRight(password, "\r\n"), nil
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("hide password: %w", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(f.Fd()), before)) }()
	password, err = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{f, stdout}, "").ReadPassword(prompt)
	if errors.Is(err, io.EOF) { // Ctrl-C too
		return "", errors.New("no password was typed, so nothing was changed")
	}
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return password, nil
}
