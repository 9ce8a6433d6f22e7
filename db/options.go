package db

import "time"

// DeliveryOptions are the numbers of sending. Zero values stand for the defaults.
type DeliveryOptions struct {
	RetryBase   time.Duration // wait after the first try without a known outcome; doubles with each. Default 2 m
	RetryKeyTTL time.Duration // how long LINE knows a retry key. Default 24 h
	Lease       time.Duration // how long a worker may be silent before its job is taken over. Default 60 s
	UndoWindow  time.Duration // how long a correction caused by an edit waits while no admin set it; below 0: not at all. Default 30 s
	SweepEvery  time.Duration // pace of the sweeps, and the wait of a delivery without a job. Default 15 m
}

func (o DeliveryOptions) withDefaults() DeliveryOptions {
	for _, d := range []struct {
		v    *time.Duration
		dflt time.Duration
	}{{&o.RetryBase, 2 * time.Minute}, {&o.RetryKeyTTL, 24 * time.Hour}, {&o.Lease, time.Minute}, {&o.UndoWindow, 30 * time.Second}, {&o.SweepEvery, 15 * time.Minute}} {
		if *d.v == 0 {
			*d.v = d.dflt
		}
	}
	return o
}

// DeliveryOptions returns the numbers of sending that are in use.
func (s *Store) DeliveryOptions() DeliveryOptions { return s.opts }
