// Package impact says what a change does to running pods: how many of them
// serve during a rollout, how often clients reconnect, how much a set of
// autoscalers may ask for.
//
// It is arithmetic and nothing else: no objects, no I/O, no clock, and it
// imports no other package of prdiff. Each model names its source, and its tests
// reproduce the figures that were published.
package impact
