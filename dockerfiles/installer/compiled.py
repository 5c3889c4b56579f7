"""Pip packages that are compiled against the environment's own torch.

Their setup.py imports torch, so an isolated build has none, or another one:
they are built without isolation, once for each torch, and the wheel is kept.
"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

import directurl
import layer
import uvtool
from common import Failure, python_of, sources

WHEELS = "/crun-wheels"
STORE = "/run/crun/cache/wheels"
TOOLS = "/run/crun/buildtools"
CUDA = "/opt/crun-cuda"
# What nearly every setup.py of the kind takes for granted.
BUILD_TOOLS = ("setuptools", "wheel", "packaging", "ninja")
# Their metadata can be read without a CUDA compiler, if they are told so.
METADATA_ALONE = ("FLASH_ATTENTION_SKIP_CUDA_BUILD", "MAMBA_SKIP_CUDA_BUILD", "CAUSAL_CONV1D_SKIP_CUDA_BUILD")
MISSING_TORCH = "No module named 'torch'"


def name_of(line):
    """The package that a requirement is about, or "" for an address alone."""
    found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:@|[=<>!~;]|--hash|$)", line)
    return uvtool.canonicalize_name(found.group(1)) if found else ""


def choose(request, prefix, solve, run):
    """run(arguments)'s result, with the packages that need torch built without isolation.

    Which those are is known of some; of others it shows when their isolated
    build lacks torch. solve chooses without them (pypi.compile_requirements).
    """
    known = {uvtool.canonicalize_name(name) for name in request.get("compiled") or []}
    against = {name for name in map(name_of, request["pip"]) if name in known}
    against |= {name for name in known for line in request["pip"] if not name_of(line) and name in line.lower()}
    prepared = False
    while True:
        if against and not prepared:
            prepare(request, prefix, against, solve)
            prepared = True
        result = run([argument for name in sorted(against) for argument in ("--no-build-isolation-package", name)])
        if result.returncode == 0 or MISSING_TORCH not in result.stderr:
            break
        found = {uvtool.canonicalize_name(name) for name in re.findall(r"[Ff]ailed to (?:download and )?build `([A-Za-z0-9._-]+)", result.stderr)} - against
        if not found:
            break
        against |= found
    request["against"] = against
    return result


def prepare(request, prefix, against, solve):
    """Makes what a build without isolation finds: torch, and the usual tools."""
    os.environ.update({name: "TRUE" for name in METADATA_ALONE})
    if "torch" not in uvtool.distributions(prefix):
        # pip's torch is chosen without those that need it, and put there: it
        # comes into the download cache, from which the image's layer takes it.
        others = [line for line in request["pip"] if name_of(line) not in against and (name_of(line) or not any(name in line.lower() for name in against))]
        entries = solve({**request, "pip": others, "compiled": []}, prefix, [])
        if any(entry["name"] == "torch" for entry in entries):
            wanted = [entry for entry in entries if entry["name"] in NEEDED or entry["name"].startswith("nvidia-")]
            uvtool.install(wanted, python_of(prefix), uvtool.where(request["indexes"], request["pip_options"]))
    tools(prefix, request["indexes"], request["pip_options"])


# What "import torch" and the usual setup.py need; build/compiled.go has the same.
NEEDED = (
    "torch", "triton", "pytorch-triton", "filelock", "typing-extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "numpy",
    "setuptools", "wheel", "packaging", "ninja", "psutil", "pybind11", "cython", "einops",
)


def tools(prefix, indexes, options):
    """Puts the tools that the environment lacks where its python finds them, outside of it."""
    have = uvtool.distributions(prefix)
    missing = [name for name in BUILD_TOOLS if name not in have]
    if missing:
        result = uvtool.run_uv("pip", "install", "--quiet", "--python", python_of(prefix), "--target", TOOLS, "--index-strategy", "unsafe-best-match", *uvtool.where(indexes, options), *missing)
        if result.returncode:
            print("cannot fetch " + ", ".join(missing) + ", which a package that is compiled may need: " + sources.public(result.stderr.strip()), flush=True)
    os.environ["PYTHONPATH"] = TOOLS


def mark(request, prefix, entries):
    """Marks the entries that have to be compiled: those without a wheel that fits."""
    for entry in entries:
        if entry["name"] not in request.get("against", ()) or entry.get("path"):
            continue
        url = entry.get("url", "")
        if url:
            wheel = url.partition("#")[0].endswith(".whl")
        else:
            result = uvtool.run_uv(
                "pip", "install", "--dry-run", "--quiet", "--python", python_of(prefix), "--no-deps", "--only-binary", entry["name"],
                "--index-strategy", "unsafe-best-match", *uvtool.where(request["indexes"], request["pip_options"]), f"{entry['name']}=={entry['version']}")
            wheel = result.returncode == 0
        if not wheel:
            entry["against"] = "torch"


def compile_list(content):
    """Makes a wheel of each package, or takes the one of an earlier build."""
    prefix, python = content["prefix"], python_of(content["prefix"])
    options = uvtool.where(content["indexes"], content["options"])
    os.makedirs(WHEELS, exist_ok=True)
    os.makedirs(STORE, exist_ok=True)
    identity = content["identity"]
    pending = []
    for entry in content["packages"]:
        key = hashlib.sha256(json.dumps([identity, entry], sort_keys=True).encode()).hexdigest()
        kept = glob.glob(f"{STORE}/{key}/*.whl")
        if kept:
            shutil.copy(kept[0], WHEELS)
            print(f"{entry['name']}: the wheel of an earlier build is taken", flush=True)
        else:
            pending.append((entry, key))
    if not pending:
        return
    if content.get("needs"):
        uvtool.install(content["needs"], python, options)
    if content.get("toolchain"):
        import conda

        conda.install_list({**content["toolchain"], "channels": dict(content["toolchain"]["channels"])})
    tools(prefix, content["indexes"], content["options"])
    for entry, key in pending:
        print(f"compiling {entry['name']} {entry.get('version', '')} against torch, {os.environ.get('MAX_JOBS', os.cpu_count())} jobs", flush=True)
        with tempfile.TemporaryDirectory(dir=STORE) as folder:
            built = build(entry, python, options, folder)
            os.makedirs(f"{folder}/done")
            shutil.move(built, f"{folder}/done")
            wheel = glob.glob(f"{folder}/done/*.whl")[0]
            shutil.copy(wheel, WHEELS)
            if not os.path.isdir(f"{STORE}/{key}"):
                try:
                    os.rename(f"{folder}/done", f"{STORE}/{key}")
                except OSError:
                    pass  # another build was quicker


def build(entry, python, options, folder):
    """The wheel of entry, which uv leaves in its cache."""
    variables = {"MAX_JOBS": os.environ.get("MAX_JOBS", str(len(os.sched_getaffinity(0))))}
    nvcc = next((home for home in (CUDA, "/usr/local/cuda") if os.path.exists(home + "/bin/nvcc")), None)
    if nvcc:
        variables.update(CUDA_HOME=nvcc, PATH=f"{nvcc}/bin:{os.environ['PATH']}", FORCE_CUDA="1")
        architectures = flags(python)
        if architectures:
            variables["TORCH_CUDA_ARCH_LIST"] = architectures
    before = dict(os.environ)
    os.environ.update(variables)
    # The environment's own tools come first, as when it is activated.
    os.environ["PATH"] = f"{os.path.dirname(python)}:{TOOLS}/bin:{os.environ['PATH']}"
    cache, uvtool.CACHE = uvtool.CACHE, folder + "/uv"
    try:
        uvtool.install([entry], python, [*options, *(["--require-hashes"] if entry.get("hashes") else []), "--no-build-isolation-package", entry["name"], "--target", folder + "/installed"])
    finally:
        os.environ.clear()
        os.environ.update(before)
        uvtool.CACHE = cache
    found = [path for path in glob.glob(f"{folder}/uv/**/*.whl", recursive=True) if os.path.isfile(path) and same(path, entry["name"])]
    if not found:
        raise Failure(f"building {entry['name']} made no wheel")
    return found[0]


def same(path, name):
    return uvtool.canonicalize_name(os.path.basename(path).partition("-")[0]) == uvtool.canonicalize_name(name)


def flags(python):
    """The GPUs that torch itself is built for, as its build tools want to be told: no GPU is here to ask."""
    result = subprocess.run([python, "-s", "-c", "import torch; print(torch._C._cuda_getArchFlags())"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return ";".join(f"{number[:-1]}.{number[-1]}" for number in re.findall(r"sm_(\d+)", result.stdout))


def install_wheels(content):
    """Installs what compile_list has made; the stage before is mounted."""
    python = python_of(content["prefix"])
    names = [path for path in glob.glob("/run/crun/wheels/*.whl")]
    if len(names) < len(content["packages"]):
        raise Failure("wheels are missing: build again with --no-cache")
    pinned = ["==".join(os.path.basename(path).split("-")[:2]) for path in names]
    result = uvtool.run_uv("pip", "install", "--python", python, "--no-deps", "--no-index", "--find-links", "/run/crun/wheels", *pinned)
    print(sources.public(result.stderr).strip(), flush=True)
    if result.returncode:
        raise Failure("installing the compiled pip packages failed; uv's message is above")
    directurl.publish(content["prefix"])
    layer.finish(content["prefix"])
