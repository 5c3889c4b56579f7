package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var lostWords = lazyregexp.New(`.*(?:GPU is lost|fallen off the bus|NVRM: Xid \([^)]*\): (?:48|6[1-4]|74|79|9[2-5]|109|1[12]\d)\b.*|Unable to determine the device handle|uncorrectable ECC error|CUDA error: uncorrectable.*|nvmlInit_v2_\(\) INTERNAL ASSERT|Failed to initialize NVML: Unknown Error).*`)

// gpuLost: the GPU went away while the run had it.
var gpuLost = evidence.Rule{
	Code:  "gpu-lost",
	Title: "the GPU was lost while the run used it",
	Mechanism: `A GPU that falls off the bus, an uncorrectable memory error, or a systemd daemon-reload that takes the device out of the
container's cgroup end all use of it. The kernel log has an Xid line; "Failed to initialize NVML: Unknown Error" inside, with nvidia-smi
well on the host, is the daemon-reload.
Source: NVIDIA, "XID Errors"; nvidia-container-toolkit issue 48.`,
	Find: func(c *evidence.Case) *evidence.Finding {
		m := c.Raised(lostWords)
		if m == nil {
			return nil
		}
		return &evidence.Finding{
			Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("the GPU was lost while the run used it", "运行期间 GPU 丢失"),
			Fix:   evidence.Say("nvidia-smi and dmesg | grep Xid on the host; start the run again from its checkpoint", "在主机上查看 nvidia-smi 和 dmesg | grep Xid；从检查点重新运行"),
		}
	},
}
