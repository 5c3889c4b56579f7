package rules

import (
	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var lostWords = lazyregexp.New(`.*(?:GPU is lost|fallen off the bus|NVRM: Xid.*|Unable to determine the device handle|uncorrectable ECC error|CUDA error: (?:unspecified launch failure|an illegal memory access|device-side assert|uncorrectable).*|Failed to initialize NVML: Unknown Error).*`)

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
		if m == nil || ownFault.MatchString(m[0]) {
			return nil
		}
		return &evidence.Finding{
			Code: "gpu-lost", Sure: evidence.Likely, Signs: []evidence.Sign{said(m[0])},
			Cause: evidence.Say("the GPU was lost while the run used it", "运行期间 GPU 丢失"),
			Fix:   evidence.Say("nvidia-smi and dmesg | grep Xid on the host; start the run again from its checkpoint", "在主机上查看 nvidia-smi 和 dmesg | grep Xid；从检查点重新运行"),
		}
	},
}

// ownFault are errors of kernels, which the script or a library makes.
var ownFault = lazyregexp.New(`illegal memory access|device-side assert|unspecified launch failure`)

var mismatchWords = lazyregexp.New(`.*(?:Driver/library version mismatch|CUDA error: system has unsupported display driver / cuda driver combination|forward compatibility was attempted on non supported HW).*`)

var driverMismatch = evidence.Rule{
	Code:  "driver-mismatch",
	Title: "the GPU driver's two halves are of different versions",
	Mechanism: `An upgrade replaced the driver's libraries while the old kernel module stays loaded until a reboot. Runs that have the GPU go on,
new ones fail.
Source: NVIDIA driver's README; unattended upgrades do it at night.`,
	Find: words("driver-mismatch", mismatchWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the driver's libraries and its kernel module are of different versions", "驱动库与内核模块版本不一致"),
			evidence.Say("reboot the host (an administrator); hold the nvidia packages back from unattended upgrades", "重启主机（管理员）；禁止自动升级 nvidia 软件包")
	}),
}

var oldDriverWords = lazyregexp.New(`.*(?:The NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime version|unsatisfied condition: cuda).*`)

var driverOld = evidence.Rule{
	Code:  "driver-old",
	Title: "the host's driver is too old for the image's CUDA",
	Mechanism: `Each CUDA release needs a driver of some age: 11.x 450, 12.x 525 (minor releases work together), 13.x 580.
Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility".`,
	Find: words("driver-old", oldDriverWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the host's driver is too old for the CUDA in the image", "主机驱动对镜像中的 CUDA 来说过旧"),
			evidence.Say("crun build --cuda auto takes the newest CUDA that this driver can", "crun build --cuda auto 会选择该驱动支持的最新 CUDA")
	}),
}

var kernelWords = lazyregexp.New(`.*(?:no kernel image is available for execution on the device|sm_\d+ is not compatible with the current PyTorch installation|PTX was compiled with an unsupported toolchain).*`)

var kernelImage = evidence.Rule{
	Code:  "no-kernel-image",
	Title: "the image's torch has no code for this GPU",
	Mechanism: `A build of torch carries code for the architectures it was made for (sm_XX). A newer GPU needs a newer torch or CUDA, a very old
one an older torch.
Source: torch.cuda.get_arch_list().`,
	Find: words("no-kernel-image", kernelWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the torch in the image was not built for this GPU", "镜像中的 torch 不支持该 GPU 架构"),
			evidence.Say("crun lint --cuda auto names a torch that fits", "crun lint --cuda auto 会给出合适的 torch 版本")
	}),
}

var visibleWords = lazyregexp.New(`.*(?:CUDA unknown error|invalid device ordinal|CUDA error: invalid device).*`)

var cudaVisible = evidence.Rule{
	Code:  "cuda-visible",
	Title: "the script asked for a GPU number that the run does not have",
	Mechanism: `Inside a run the GPUs are numbered from 0 whatever they are on the host; cuda:3 in a run with one GPU is none. A variable
CUDA_VISIBLE_DEVICES that a script sets after CUDA has begun gives "CUDA unknown error".
Source: CUDA C++ Programming Guide, "CUDA Environment Variables"; pytorch issue 128819.`,
	Find: words("cuda-visible", visibleWords, func(*evidence.Case, []string) (cause, fix evidence.Text) {
		return evidence.Say("the script asked for a GPU that the run does not have, or set CUDA_VISIBLE_DEVICES too late", "脚本使用了运行中不存在的 GPU 编号，或过晚设置 CUDA_VISIBLE_DEVICES"),
			evidence.Say("use cuda:0, take CUDA_VISIBLE_DEVICES out of the script, or --gpus N", "使用 cuda:0，从脚本中去掉 CUDA_VISIBLE_DEVICES，或 --gpus N")
	}),
}
