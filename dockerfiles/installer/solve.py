"""Choosing the exact conda packages of an environment."""
import glob
import os
import re

from rattler.exceptions import FetchRepoDataError, GatewayError, SolverError

import conda
import waiting
from common import Failure, failure, sources


def solve(request):
    """The conda packages, or {"failure": ...} where the request has no solution.

    That an environment has no solution is an answer and no fault of the step,
    so the step succeeds.
    """
    notes = []
    request["channels"] = sources.expand(request["channels"])
    request["virtual"] = [*request["virtual"], *glibc()]
    answer = {"virtual": request["virtual"], "notes": notes}
    has_conda = os.path.isdir("/opt/conda/conda-meta")
    if has_conda and request["prefix"] == "/opt/conda":
        return failure("base", (
            "the base image has conda in /opt/conda already, and the environment is called base: "
            "give it another name (name: train)"))
    question = conda.Question(request)
    files = request.get("files") or []
    try:
        if files:
            import condafile

            question.given, faults = condafile.find(request)
            if faults:
                return failure("file", "", files=faults)
        try:
            if request.get("exact"):
                records = [question.given[file["spec"]] for file in files]
            else:
                records = question.solve(request["specs"], request["locked"])
        except SolverError as error:
            text = conda.explain(error)
            return failure("conda", **{"text": text, **question.conflict(request["specs"], text)})
        answer["conda"] = [conda.to_entry(record, request["channels"], files) for record in records]
        if request["miniconda"] and has_conda:
            notes.append("the base image has conda in /opt/conda: it is taken as it is")
        elif request["miniconda"]:
            answer["miniconda"] = miniconda(request, question, notes)
    except SolverError as error:
        return failure("conda", conda.explain(error))
    except waiting.Silent as error:
        return failure("channel", str(error), late=True)
    except (GatewayError, FetchRepoDataError) as error:
        text = conda.explain(error)
        return failure("channel", text, late="timed out" in text)
    return answer


def miniconda(request, question, notes):
    """The packages of /opt/conda; none where no channel serves conda."""
    try:
        records = question.solve(request["miniconda"], request["locked_miniconda"])
    except (SolverError, GatewayError, FetchRepoDataError) as error:
        # An explicit list needs no list of a channel.
        if "conda" not in str(error) if isinstance(error, SolverError) else not request.get("exact"):
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
