"""What keeps requests from a solution, and the smallest change that gives them one.

A solver says where it got stuck. A person wants to know which of the lines disagree, and what to write. So the solver is
asked again, with lines left out or without their versions, for a bounded time.
"""
import re
import time

# Seconds for all further questions. An answer that is not found by then is left out; the solver's own text is there anyway.
LIMIT = 60
NEAR = 4  # versions to name
CHANGES = 4  # changes to name


class Clock:
    """The time that is left of LIMIT."""

    def __init__(self):
        self.end = time.monotonic() + LIMIT

    def left(self):
        return max(self.end - time.monotonic(), 0)


def core(requests, text, fits, clock):
    """The fewest of requests that have no solution together.

    fits(requests) tells whether some have one: a true value, or None where it was not found out. text is the solver's: what
    it names is tried first.
    """
    words = set(re.findall(r"[a-z0-9_][a-z0-9_.-]*", text.lower()))
    named = [request for request in requests if name_of(request) in words]
    found = named if named and fits(named) is False else list(requests)
    for request in list(found):
        if not clock.left() or len(found) == 1:
            break
        rest = [other for other in found if other is not request]
        if fits(rest) is False:
            found = rest
    return found


def changes(requests, found, fits, clock):
    """Changes of one of found, each enough by itself; or several that are enough together.

    A change is {"spec": request, "version": the one that would be chosen, or none where the request has to go}.
    """
    single = []
    for request in found:
        change = loosen(requests, request, fits, clock)
        if change:
            single.append(change)
    if single:
        # To change a version is less than to go without the package.
        single.sort(key=lambda change: "version" not in change)
        return {"changes": single[:CHANGES]}
    return several(requests, found, fits, clock)


def several(requests, found, fits, clock):
    """Changes that are enough together, where none is by itself."""
    now, made = list(requests), {}
    while found and clock.left() and len(made) < len(requests):
        # Of python alone everything else hangs.
        request = ([one for one in found if name_of(one) != "python"] or found)[-1]
        bare = without_version(request)
        made[name_of(request)] = made.get(name_of(request), request)
        now = [line for line in now if line is not request] + ([bare] if bare != request else [])
        versions = fits(now)
        if versions:
            return {"together": [
                {"spec": spec, **({"version": versions[name]} if name in versions else {})} for name, spec in made.items()]}
        if versions is None:
            break
        found = core(now, "", fits, clock)
    return {}


def loosen(requests, request, fits, clock):
    bare = without_version(request)
    for other in ([bare] if bare != request else []), []:
        if not clock.left():
            return None
        # Compared by identity: one line may be there twice.
        versions = fits([line for one in requests for line in (other if one is request else [one])])
        if versions:
            change = {"spec": request}
            if other:
                change["version"] = versions.get(name_of(request), "")
            return change
    return None


def file_name(request):
    """The package's name in a request for one conda file by its address, or ""."""
    match = re.match(r"[a-z]+://[^#\s]*/([^/#]+)-[^-/]+-[^-/]+\.(?:conda|tar\.bz2)(?:#|$)", request)
    return match.group(1).lower() if match else ""


def name_of(request):
    """The package's name in a conda or pip request."""
    if file_name(request):
        return file_name(request)
    match = re.match(r"(?:[^\s:=<>!~\[]+::)?([A-Za-z0-9_][A-Za-z0-9_.-]*)", request)
    return match.group(1).lower() if match else ""


def without_version(request):
    """request for any version: its channel, name and extras."""
    if file_name(request):
        return file_name(request)
    match = re.match(r"(?:[^\s:=<>!~\[]+::)?[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\[[^\]=]*\])?", request)
    return match.group() if match else request


def near(version, versions):
    """Of sorted versions those around the place where version would be, in order; texts."""
    place = sum(1 for other in versions if other < version)
    first = max(min(place - NEAR // 2, len(versions) - NEAR), 0)
    return [str(other) for other in versions[first:first + NEAR]]
