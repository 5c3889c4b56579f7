package rules

import (
	"strings"

	"crun.dev/crun/internal/lazyregexp"
	"crun.dev/crun/run/why/evidence"
)

var moduleWords = lazyregexp.New(`.*(?:ModuleNotFoundError: |python[\d.]*: )No module named '?([\w.]+)'?.*`)

var noEnvironment = evidence.Rule{
	Code:  "module-missing",
	Title: "a package is not in the image",
	Mechanism: `The script imports a module that the image does not have: it is not in environment.yml, or the image is another than the one that
was built from it. What was installed by hand in a container is gone with it.
Source: Python, importlib.`,
	Find: words(moduleWords, func(c *evidence.Case, m []string) (cause, fix evidence.Text) {
		name, _, _ := strings.Cut(m[1], ".")
		if c.Plan != nil && c.Plan.Image.Lock == "" {
			return evidence.Say("the image %[2]s has no module %[1]s: it was not built from an environment file", "镜像 %[2]s 中没有模块 %[1]s：它不是由环境文件构建的", name, c.Plan.Image.Ref),
				evidence.Say("leave --image out, so that the image of environment.yml is taken", "去掉 --image，使用 environment.yml 的镜像")
		}
		return evidence.Say("the image has no module %s", "镜像中没有模块 %s", name),
			evidence.Say("its package in environment.yml, then crun build; a module of your own: PYTHONPATH, or pip: [-e .]", "把对应的包写入 environment.yml 并 crun build；自己的模块用 PYTHONPATH 或 pip: [-e .]")
	}),
}
