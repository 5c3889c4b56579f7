"""Choosing the exact packages of an environment."""
import asyncio
import glob
import os
import re
import shutil

from rattler.exceptions import FetchRepoDataError, GatewayError, SolverError

import conda
import pypi
from common import Failure, sources


def solve(request):
    """The solution, or {"failure": ...} where the request has none.

    That an environment has no solution is an answer and no fault of the step,
    so the step succeeds.
    """
    notes = []
    request["virtual"] = [*request["virtual"], *glibc()]
    answer = {"virtual": request["virtual"], "notes": notes}
    prefix = request["prefix"]
    has_conda = os.path.isdir("/opt/conda/conda-meta")
    if has_conda and prefix == "/opt/conda":
        return {"failure": {"kind": "base", "text": (
            "the base image has conda in /opt/conda already, and the environment is called base: "
            "give it another name (name: train)")}}
    try:
        records = asyncio.run(conda.solve(request, request["specs"]))
        answer["conda"] = [conda.to_entry(record, request["channels"]) for record in records]
        if request["miniconda"] and has_conda:
            notes.append("the base image has conda in /opt/conda: it is taken as it is")
        elif request["miniconda"]:
            answer["miniconda"] = miniconda(request, notes)
    except SolverError as error:
        return {"failure": {"kind": "conda", "text": conda.explain(error)}}
    except (GatewayError, FetchRepoDataError) as error:
        return {"failure": {"kind": "channel", "text": conda.explain(error)}}
    if request["pip"]:
        # pip packages are chosen around what conda brings, so that has to be
        # there. The cache makes the image's own installation cheap.
        try:
            conda.install(records, prefix, request["platform"])
            answer["pip"] = pypi.compile_requirements(request, prefix, notes)
            answer["indexes"] = [sources.index_name(url) for url in request["indexes"]]
        except pypi.Unreachable as error:
            return {"failure": {"kind": "index", "text": str(error)}}
        except pypi.NoSolution as error:
            return {"failure": {"kind": "pip", "text": str(error)}}
        finally:
            shutil.rmtree(prefix, ignore_errors=True)
    return answer


def miniconda(request, notes):
    """The packages of /opt/conda; none where no channel serves conda."""
    try:
        records = asyncio.run(conda.solve(request, request["miniconda"]))
    except SolverError as error:
        if "conda" not in str(error):
            raise
        notes.append(
            "no channel of the environment serves a conda that fits: the image has the environment alone, which is all a run needs, "
            "without the conda command")
        return []
    return [conda.to_entry(record, request["channels"]) for record in records]


def glibc():
    """The virtual package __glibc, from the C library of the base image.

    The library's text is read: the base may be unable to run anything, and
    this program runs on the toolbox's library.
    """
    pattern = re.compile(rb"GNU C Library[^\n]*? version (\d+\.\d+)")
    for path in ("/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/lib/libc.so.6", "/usr/lib/libc.so.6"):
        for library in glob.glob(path):
            with open(library, "rb") as file:
                found = pattern.search(file.read())
            if found:
                return ["__glibc=" + found.group(1).decode()]
    raise Failure("the base image has no GNU C library, which conda packages need: name another base image (--base debian:bookworm-slim)")
