package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var mismatchWords = lazyregexp.New(`.*(?:Driver/library version mismatch|system has unsupported display driver / cuda driver combination|forward compatibility was attempted on non supported HW).*`)

var driverMismatch = evidence.Rule{
	Code:  "driver-mismatch",
	Title: "the GPU driver's two halves are of different versions",
	Mechanism: `An upgrade replaced the driver's libraries while the old kernel module stays loaded until a reboot. Runs that have the GPU go on,
new ones fail.
Source: NVIDIA driver's README; unattended upgrades do it at night.`,
	Find: words(mismatchWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the driver's libraries and its kernel module are of different versions", "驱动库与内核模块版本不一致"),
			evidence.Say("reboot the host (an administrator); hold the nvidia packages back from unattended upgrades", "请管理员重启主机；禁止自动升级 nvidia 软件包")
	}),
}
