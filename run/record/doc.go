// Package record keeps what is known of a run on disk, so that it outlives the
// container, the monitor and crun itself.
//
// A store is a folder with one folder a run, named by the run's id:
//
//	plan.json     the plan, written once
//	state.json    how the run stands, replaced as a whole
//	events.jsonl  what happened, one JSON object a line, only ever appended to
//	log/          the output while the run lasts, in segments (see LogWriter)
//	log.zst       the same after its end, compressed
//	limits.json   the limits as init read them back from inside
//	report.json   the counters that init wrote at the end
//	lock          held (flock) by the monitor that owns the run
//
// plan.json and state.json are written beside, synced and renamed: a reader
// sees the old or the new one, after a power cut too. The last line of
// events.jsonl counts once its newline is there.
//
// A folder whose name starts with a dot is no record: one being made or one
// being removed, or .kept, with files that many runs are given. The file
// .complete notes which records are complete.
package record
