package docker

import (
	"fmt"
	"regexp"
	"strings"

	"crun.dev/crun/internal/shellword"
	"crun.dev/crun/run/engine"
	"crun.dev/crun/run/plan"
)

type compiledRule struct {
	rule
	regexp *regexp.Regexp
}

func compileRules() []compiledRule {
	var compiled []compiledRule
	for _, r := range rules() {
		compiled = append(compiled, compiledRule{r, regexp.MustCompile(`(?is)` + r.pattern)})
	}
	return compiled
}

// rules are what engines from 20.10 on are known to say, in the order in which
// they are tried: what is said within another sentence comes first.
func rules() []rule {
	return []rule{
		// Images, containers, files.
		{`no such image|unable to find image|image not known|reference does not exist`, engine.ErrNotFound, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s has no image %s: build it with \"crun build\", or fetch it with \"docker pull\"", c.ep, c.imageName())
		}},
		{`invalid reference format`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("%q is no name of an image: it is written like name, name:tag or registry/name:tag, in lower case", c.imageName())
		}},
		{`could not find the file|no such file or directory in container|no such container path`, engine.ErrNotFound, func(c *ruleContext) string {
			return fmt.Sprintf("container %.12s has no file %s", c.container, c.file)
		}},
		{`no such container|no container with name or id`, engine.ErrNotFound, func(c *ruleContext) string {
			return fmt.Sprintf("container %.12s is gone from the engine at %s: somebody has removed it", c.container, c.ep)
		}},
		{`container name "/?([^"]+)" is already in use`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s has a container named %s already: remove it with \"docker rm -f %s\", or start the run again", c.ep, c.m[1], c.m[1])
		}},
		{`container \S+ is not running|cannot resize a stopped container|container state improper`, engine.ErrNotRunning, func(c *ruleContext) string {
			return fmt.Sprintf("container %.12s does not run", c.container)
		}},
		{`bind source path does not exist: (\S.*)`, nil, func(c *ruleContext) string {
			if command, host := c.ep.SSH(); command != "" {
				return fmt.Sprintf("the engine at %s finds no %s on its own machine, where a run's files have to be: copy it there (%s %s %s; rsync -a -s -e %s %s/ %s/), or run crun over there",
					c.ep, c.m[1], command, host, shellword.Quote("mkdir -p "+shellword.Quote(c.m[1])), // the shell over there takes quotes away, too
					shellword.Quote(command), shellword.Quote(c.m[1]), shellword.Quote(host+":"+c.m[1]))
			}
			return fmt.Sprintf("the engine at %s finds no %s on its own machine: create it there; only what both machines have can be mounted", c.ep, c.m[1])
		}},
		{`invalid mount config for type "bind": (?:stat|lstat|mkdir) (\S.*): permission denied|error while creating mount source path '([^']+)': .*permission denied`, nil, func(c *ruleContext) string {
			if c.rootless {
				return fmt.Sprintf("the rootless engine at %s may not look into %s, since its user may not: let others pass the folders above it (chmod o+x), or work where that user may", c.ep, c.m[1]+c.m[2])
			}
			return fmt.Sprintf("the engine at %s may not look into %s: where it lies on NFS, root is squashed there; let others pass the folders above it (chmod o+x), or use a rootless engine of your own", c.ep, c.m[1]+c.m[2])
		}},
		{`port is already allocated|address already in use`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("port %s is taken on the engine's host: publish on another, or on any free one (-p 0:PORT)", portOf(c.text))
		}},
		{`listen tcp\S* (\S+): bind: permission denied|cannot expose privileged port (\d+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("port %s is one of root's on the engine's host: publish on one from 1024 up", c.m[1]+c.m[2])
		}},
		{`network (\S+) not found|failed to find network (\S+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s has no network %s: run with --network none or --network host", c.ep, strings.TrimSuffix(c.m[1]+c.m[2], ":"))
		}},
		{`no space left on device|disk quota exceeded`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the disk of the engine at %s is full: see with \"docker system df\" what fills it, and make room with \"docker system prune\" (%s)", c.ep, c.text)
		}},

		// GPUs.
		{`could not select device driver "([^"]*)"`, nil, func(c *ruleContext) string {
			if c.m[1] == "cdi" {
				return fmt.Sprintf("the engine at %s does not know CDI, by which GPUs were asked for: turn on features.cdi in its daemon.json (Docker 25 and later) and restart it, or install nvidia-container-toolkit and run \"nvidia-ctk runtime configure --runtime=docker\"", c.ep)
			}
			return fmt.Sprintf("the engine at %s can give no GPU: install nvidia-container-toolkit on its host, run \"nvidia-ctk runtime configure --runtime=docker\" and restart the engine, or run without (--gpus none)", c.ep)
		}},
		{`unresolvable CDI devices (\S+(?:, \S+)*)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s has no GPU %s: see \"nvidia-ctk cdi list\" there, and write the devices anew with \"nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml\"", c.ep, c.m[1])
		}},
		{`nvidia-container-cli: device error: (?:(\S+): )?unknown device|unknown device id: (\S+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine's host has no GPU %s: see there with \"nvidia-smi -L\" which it has, and name one of those (--gpus)", c.m[1]+c.m[2])
		}},
		{`nvidia-container-cli: requirement error: (?:unsatisfied condition: )?([^\n:]+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the GPU driver of the engine's host is too old for image %s (%s): update the driver, or build for an older CUDA", c.imageName(), strings.TrimSpace(c.m[1]))
		}},
		{`nvidia-container-cli: (initialization error|ldcache error|mount error)[^\n]*|nvml error[^\n]*`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the GPU driver of the engine's host does not work (%s): make \"nvidia-smi\" work there first", strings.TrimSpace(c.m[0]))
		}},
		{`unknown (?:or invalid )?runtime (?:specified|name:?) (\S+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s has no runtime %s: name it under \"runtimes\" in its daemon.json and restart it", c.ep, c.m[1])
		}},

		// Limits.
		{`error setting rlimit type (\d+): operation not permitted|setrlimit .?(RLIMIT_[A-Z]+).?: operation not permitted`, nil, sayRlimit},
		{`minimum memory limit allowed is (\w+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("memory is %s, less than the %s that the engine allows: ask for more (--memory)", c.memory(), c.m[1])
		}},
		{`minimum memoryswap limit should be larger than memory limit`, nil, func(c *ruleContext) string {
			return "memory_swap is less than memory, and it is memory and swap together: raise it (--memory-swap), or leave it out"
		}},
		{`range of cpus is from (\S+) to (\S+),`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("cpus is outside what the engine's host has: allowed are %s to %s (--cpus)", c.m[1], c.m[2])
		}},
		{`requested cpus are not available - requested (\S+), available: (\S+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("cpuset is %s, and the engine's host has the CPUs %s: name some of those (--cpuset), or use cpus, which needs no numbers", c.m[1], strings.TrimSuffix(c.m[2], "."))
		}},
		{`unable to set memory limit to (\d+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("memory is %s, too little for the container's own start: ask for more (--memory)", c.memory())
		}},
		// What starts the container is a Go program (runc), which keeps to the
		// process's limits already: it needs between 1 and 2 GiB of addresses.
		{`cannot allocate memory|failed to create new OS thread|out of memory`, nil, func(c *ruleContext) string {
			if c.plan != nil {
				if n, ok := c.plan.Rlimit("RLIMIT_AS"); ok && n >= 0 {
					return fmt.Sprintf("address_space is %s, too little for the container's own start: ask for 2g or more (--address-space), or leave it out", plan.FormatBytes(n))
				}
			}
			return fmt.Sprintf("the engine's host has no memory left to start the container with: see with \"docker stats\" what takes it, or ask for more (--memory) where that is little (%s)", c.text)
		}},

		// Commands. The runtimes name what they could not start.
		{`exec format error`, engine.ErrNotExec, func(c *ruleContext) string {
			return fmt.Sprintf("image %s is made for another kind of processor than the engine's host has, or %s is no program: build the image there, or give a script its #! line", c.imageName(), c.command())
		}},
		{`exec: "([^"]*)": executable file not found|executable file .([^' ]+). not found`, engine.ErrNoCommand, sayNoCommand},
		{`exec: "([^"]*)": stat \S+: no such file or directory|exec: "([^"]*)": no such file or directory`, engine.ErrNoCommand, sayNoCommand},
		{`exec: "([^"]*)": (?:permission denied|is a directory)|exec: "([^"]*)": stat \S+: permission denied|open executable: permission denied`, engine.ErrNotExec, func(c *ruleContext) string {
			return fmt.Sprintf("%s cannot be executed in image %s: make it a file that the run's user may execute (chmod +x), or run it with its interpreter", or(c.m[1]+c.m[2], c.command()), c.imageName())
		}},
		{`chdir to cwd \("([^"]*)"\)[^\n]*: (permission denied|no such file or directory)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the run cannot begin in the folder %s (%s): let the run's user into it, or start from another", c.m[1], c.m[2])
		}},

		// The engine as a whole.
		{`client version (\S+) is too new\. maximum supported api version is (\S+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s speaks API %s at most, and DOCKER_API_VERSION asks for %s: unset it", c.ep, c.m[2], c.m[1])
		}},
		{`client version (\S+) is too old\. minimum supported api version is ([\d.]+)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s speaks API %s at least, and was spoken to in %s: unset DOCKER_API_VERSION, or update crun", c.ep, strings.TrimSuffix(c.m[2], "."), c.m[1])
		}},
		{`authorization denied by plugin (\S+): (.*)`, nil, func(c *ruleContext) string {
			return fmt.Sprintf("the engine at %s does not permit this (%s: %s): ask whoever runs it", c.ep, c.m[1], c.m[2])
		}},
	}
}

func sayNoCommand(c *ruleContext) string {
	name := or(c.m[1], c.m[2])
	if strings.Contains(name, "/") {
		return fmt.Sprintf("there is no %s in image %s: correct the path, or mount the folder that has it", name, c.imageName())
	}
	return fmt.Sprintf("there is no command %s in image %s: correct its name, or add what has it to the environment", name, c.imageName())
}

func sayRlimit(c *ruleContext) string {
	c.m[1] += c.m[2]
	field, value := c.rlimit()
	switch {
	case field == "":
		return fmt.Sprintf("a limit of each process is more than the engine may give (type %s): lower it, or raise the engine's own", c.m[1])
	case value == "":
		return fmt.Sprintf("%s is more than the engine may give: lower it, or raise the engine's own limit (%s)", field, raiseHint(field))
	}
	return fmt.Sprintf("%s is %s, more than the engine may give: lower it (--%s), or raise the engine's own limit (%s)",
		field, value, strings.ReplaceAll(field, "_", "-"), raiseHint(field))
}

// raiseHint names the line of a systemd unit that raises a limit.
func raiseHint(field string) string {
	names := map[string]string{"nofile": "NOFILE", "memlock": "MEMLOCK", "stack": "STACK", "core": "CORE", "address_space": "AS"}
	return "Limit" + names[field] + "= in docker.service and containerd.service"
}

// memory is the plan's ceiling of memory, for people.
func (c *ruleContext) memory() string {
	if c.plan != nil && c.plan.Spec.Linux != nil && c.plan.Spec.Linux.Resources != nil {
		if m := c.plan.Spec.Linux.Resources.Memory; m != nil && m.Limit != nil {
			return plan.FormatBytes(*m.Limit)
		}
	}
	return "as asked"
}

var portPatterns = []string{
	`Bind for (\S+) failed`,
	`listen (?:tcp|udp)\S* (\S+): bind`,
	`host port for (\S+?):\d+\.`,
	`\b(\d+\.\d+\.\d+\.\d+:\d+)\b`,
}

// portOf finds the address of a port that is taken.
func portOf(text string) string {
	for _, pattern := range portPatterns {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return "that was asked for"
}
