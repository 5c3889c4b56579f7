"""The part of crun that runs inside a build. It never enters the image.

    solve REQUEST SOLUTION      choose the conda packages of an environment
    solve-pip REQUEST SOLUTION  choose the pip packages of an environment whose conda packages are installed
    solve-apt REQUEST SOLUTION  choose the Debian packages of an image
    apt LIST                    install Debian packages
    conda LIST                  install conda packages
    compile LIST                make wheels of pip packages that are compiled against torch
    wheels LIST                 install these wheels
    pip LIST                    install pip packages into a conda environment
    local LIST                  install packages of the project's folders into one
    check REQUEST REPORT        try whether what is installed works

These are JSON files; build/list.go and build/check.go are
the other side. What a person should know is printed; a failure ends with
one line that starts with "crun: " and exit code 1.
"""
import json
import os
import sys

sys.path.insert(0, "/run/crun/toolbox/opt/crun/site-packages")

import layer  # noqa: E402
import limits  # noqa: E402
from common import Failure, sources  # noqa: E402


def read(path):
    with open(path, encoding="utf-8") as file:
        # Go writes an empty list as null.
        content = {key: [] if value is None else value for key, value in json.load(file).items()}
    if "channels" in content:
        content["channels"] = dict(content["channels"])  # name to address, in order
    return content


GIT = "/run/crun/git"


def use_git():
    """Lets programs find git where a step has it mounted: the base may have none."""
    if os.path.isdir(GIT):
        programs = GIT + "/opt/crun/git-core"
        os.environ["PATH"] = programs + ":" + os.environ.get("PATH", os.defpath)
        os.environ["GIT_EXEC_PATH"] = programs
        os.environ["GIT_TEMPLATE_DIR"] = GIT + "/usr/share/git-core/templates"
        # The machine's own certificates come first; a slim base has none.
        os.environ.setdefault("GIT_SSL_CAINFO", GIT + "/etc/ssl/certs/ca-certificates.crt")
        os.environ["GIT_TERMINAL_PROMPT"] = "0"  # nobody is there to answer


# What a base image may set to steer uv, pip and git (NVIDIA's set PIP_CONSTRAINT), and
# what steers every Python and conda.
TOOLS_PREFIXES = ("UV_", "PIP_", "GIT_")
PYTHON_PREFIXES = ("PYTHON", "CONDA_", "MAMBA_", "VIRTUAL_ENV")


def forget_base(command, variables):
    """Takes out of variables what would have the base image decide which packages are chosen, and how they are built.

    The lock and the layers depend on what was asked for alone. The check tries
    the image as a run has it, with what Python is told there.
    """
    prefixes = TOOLS_PREFIXES if command == "check" else TOOLS_PREFIXES + PYTHON_PREFIXES
    for name in [name for name in variables if name.startswith(prefixes)]:
        del variables[name]
    variables["PIP_CONFIG_FILE"] = os.devnull  # not the base's /etc/pip.conf
    variables["GIT_CONFIG_NOSYSTEM"] = "1"  # nor its /etc/gitconfig


def main(command, *arguments):
    forget_base(command, os.environ)
    # Link scripts and build backends may write to their home; nothing of it
    # belongs in the image.
    os.environ["HOME"] = "/run/crun/home"
    os.environ["RATTLER_CACHE_DIR"] = "/run/crun/cache/rattler"
    os.environ["PYTHONNOUSERSITE"] = "1"
    # For what packages build: wheels from sources, files of link scripts.
    os.environ["SOURCE_DATE_EPOCH"] = str(layer.TIME)
    os.environ["TMPDIR"] = "/run/crun/tmp"
    for folder in (os.environ["HOME"], os.environ["TMPDIR"]):
        os.makedirs(folder, exist_ok=True)
    sources.use_certificates()
    sources.use_logins()
    use_git()
    if command == "solve-apt":
        import apt

        request, solution = arguments
        with open(solution, "w", encoding="utf-8") as file:
            json.dump(apt.solve_request(read(request)), file)
    elif command in ("solve", "solve-pip"):
        if command == "solve":
            from solve import solve
        else:
            from solvepip import solve
        request, solution = arguments
        answer = solve(read(request))
        with open(solution, "w", encoding="utf-8") as file:
            json.dump(answer, file)
    elif command == "apt":
        import apt

        apt.install_list(read(arguments[0]))
    elif command == "conda":
        import conda

        conda.install_list(read(arguments[0]))
    elif command in ("compile", "wheels"):
        import compiled

        (compiled.compile_list if command == "compile" else compiled.install_wheels)(read(arguments[0]))
    elif command == "pip":
        import uvtool

        uvtool.install_list(read(arguments[0]))
    elif command == "local":
        import local

        local.install_list(read(arguments[0]))
    elif command == "check":
        import check

        check.check(*arguments)
    else:
        raise Failure(f"no such command: {command}")


def run():
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        # On stdout, so that it comes after what has been said there.
        print("crun: " + sources.public(str(failure)), flush=True)
        return 1
    except BaseException:
        import traceback

        print(sources.public(traceback.format_exc()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = limits.run(limits.read(), run)
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: rattler's threads may meet an interpreter that is shutting
    # down, and one in ten such ends is a segmentation fault (seen with 0.28.0).
    os._exit(code)
