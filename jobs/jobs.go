// Package jobs does what happens without anybody watching: it carries deliveries to LINE and runs the recurring
// sweeps.
//
// The runner leases due jobs, works several at a time and sleeps while nothing is due. What a delivery may do next is
// decided in package db; this package makes the request and hands back what came of it.
package jobs
