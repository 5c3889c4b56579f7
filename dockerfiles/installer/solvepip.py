"""Choosing the exact pip packages of an environment: apart from conda's, for rattler takes long to load."""
import pypi
import uvtool
import waiting
from common import failure, sources


def solve(request):
    """The pip packages around what conda brings, which is installed; or a failure."""
    notes = []
    try:
        packages = pypi.compile_requirements(request, request["prefix"], notes)
    except waiting.Silent as error:
        return failure("index", str(error), late=True)
    except pypi.Unreachable as error:
        return failure("index", str(error), late="timed out" in str(error))
    except uvtool.NoSolution as error:
        return failure("pip", str(error), **error.more)
    return {"notes": notes, "pip": packages, "indexes": [sources.index_name(url) for url in request["indexes"]]}
