// Package launch is the life of a run over an engine, and the one place that
// creates, starts and removes a container.
//
// An [Owner] is what the monitor is to its run: [Owner.Start] takes it from
// its plan to its end, [Owner.Adopt] takes up the run of a monitor that died.
// Both keep one promise: whatever fails, at whatever step, the container is
// gone or the record says that it is not, so that the next command sees to it.
//
// A [Session] is what the foreground command has of a run: its streams, its
// terminal and its signals.
package launch
