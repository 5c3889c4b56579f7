package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var inotifyWords = lazyregexp.New(`.*inotify (?:watch|instance) limit reached.*|.*System limit for number of file watchers reached.*|.*Failed to (?:add|initialize) inotify.*`)

// inotify has limits of its own, a user's over the whole host, and borrows the
// error numbers of full disks and of descriptors.
var inotify = evidence.Rule{
	Code:  "inotify",
	Title: "the host's limit on watched files was reached",
	Mechanism: `Notebooks, Streamlit and TensorBoard watch folders through inotify. fs.inotify.max_user_watches and max_user_instances bound that
a user over the whole host, and the errors are those of a full disk (28) or of too many files (24).
Source: inotify(7), "/proc interfaces".`,
	Find: words(inotifyWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the host's limit on watched files (inotify) was reached; disk and descriptors are free", "达到主机的文件监视（inotify）上限；磁盘和描述符并未耗尽"),
			evidence.Say("on the host: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512; or switch watching off", "在主机上执行 sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512；或关闭文件监视")
	}),
}
