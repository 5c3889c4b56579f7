"""Package files that are asked for by their address: what is in them, without a solve."""
import hashlib
import os
import tempfile
import time

import rattler
from rattler.exceptions import FetchRepoDataError, GatewayError

import conda
import waiting
from common import request_for, sources

CHUNK = 1 << 16  # bytes


class Fault(Exception):
    """A file that cannot be taken; the text goes on after the line that asks for it."""


def find(request):
    """The record of each file by the text that asks for it, and the faults: {"spec": ..., "text": ...} each."""
    files, found, faults = request.get("files") or [], {}, []
    locked = {place(entry): entry for entry in request["locked"]}
    listed = lists(request, [file for file in files if known(file, locked.get(place(file))) is None])
    for file in files:
        try:
            entry = known(file, locked.get(place(file)))
            if entry:
                found[file["spec"]] = conda.from_entry(entry, {file["channel"]: file["address"]})
            else:
                found[file["spec"]] = checked(file, listed.get(file["url"]) or fetched(file), request["platform"])
        except Fault as fault:
            faults.append({"spec": file["spec"], "text": str(fault)})
    return found, faults


def place(entry):
    """Where an entry of crun.lock, or a file, lies."""
    return entry.get("channel") or "", entry["subdir"] if entry.get("channel") else entry.get("url"), entry["file"]


def known(file, entry):
    """entry, where it is about file."""
    if entry and all(entry.get(kind, file[kind]) == file[kind] for kind in ("md5", "sha256") if file.get(kind)):
        return entry
    return None


def lists(request, files):
    """The records that channels list for files, by address. A channel without a list has none."""
    found, folders = {}, {}
    for file in files:
        if file["channel"]:
            folders.setdefault((file["channel"], file["address"], file["subdir"]), []).append(file)
    for (channel, address, subdir), some in folders.items():
        question = conda.Question({**request, "channels": {channel: address}})
        question.platforms = [subdir]
        by_url = {file["url"]: file for file in some}
        try:
            for records in question.records_of(sorted({file["name"] for file in some})):
                found.update({record.url: record for record in records if record.url in by_url})
        except (GatewayError, FetchRepoDataError):
            pass  # the files may be there all the same
    return found


def checked(file, record, platform):
    """record, where it is what was asked for."""
    for kind in ("md5", "sha256"):
        asked, has = file.get(kind), getattr(record, kind)
        if asked and has and has.hex() != asked:
            raise Fault(f"its {kind} is {has.hex()}, and the line says {asked}: it is another file than the one that was meant")
        if asked and not has:
            setattr(record, kind, bytes.fromhex(asked))
    if record.name.normalized != file["name"]:
        raise Fault(f"it holds the package {record.name.normalized}")
    if str(record.subdir) not in (platform, "noarch"):
        raise Fault(f"it is a package for {record.subdir}, and the image is {platform}")
    return record


def real(url):
    """The address that serves url here."""
    for public, places in sources.channels.items():
        if url.startswith(public.rstrip("/") + "/"):
            return places[0].rstrip("/") + url[len(public.rstrip("/")):]
    return url


def fetched(file):
    """The record of a file that no list has: from the file itself."""
    with tempfile.TemporaryDirectory(dir=os.environ["TMPDIR"]) as folder:
        path = os.path.join(folder, file["file"])
        sums, size = fetch(real(file["url"]), file, path)
        for kind, value in sums.items():
            if file.get(kind) and file[kind] != value:
                raise Fault(f"its {kind} is {value}, and the line says {file[kind]}: it is damaged, or another file than the one that was meant")
        try:
            index = rattler.IndexJson.from_package_archive(path)
        except Exception as error:
            raise Fault(f"it is no conda package: {conda.explain(error)}") from None
    return conda.from_entry({**entry_of(index), **sums, "size": size, **location(file)}, {file["channel"]: file["address"]})


def location(file):
    """Where file lies, as an entry of crun.lock has it."""
    where = {"file": file["file"]}
    if file["channel"]:
        where.update(channel=file["channel"], subdir=file["subdir"])
    else:
        where["url"] = file["url"]
    return where


def entry_of(index):
    """What info/index.json of a package says, as an entry of crun.lock."""
    entry = {
        "name": index.name.normalized, "version": str(index.version), "build": str(index.build), "build_number": index.build_number,
        "subdir": index.subdir or "noarch", "depends": index.depends, "constrains": index.constrains, "license": index.license,
        "track_features": index.track_features, "python_site_packages_path": index.python_site_packages_path,
    }
    if not index.noarch.none:
        entry["noarch"] = "python" if index.noarch.python else "generic"
    if index.timestamp:
        entry["timestamp"] = int(index.timestamp.timestamp() * 1000)
    return {key: value for key, value in entry.items() if value}


def fetch(address, file, path):
    """Writes what address serves to path; its hashes and its size."""
    import urllib.error
    import urllib.request

    sums, size = {"md5": hashlib.md5(usedforsecurity=False), "sha256": hashlib.sha256()}, 0
    try:
        with urllib.request.urlopen(request_for(address), timeout=sources.patience) as response, open(path, "wb") as out:
            length = int(response.headers.get("Content-Length") or 0)
            print(f"fetching {file['name']} ({length >> 20} MiB), which no list of its server has", flush=True)
            mark, at = time.monotonic(), 0
            while chunk := response.read1(CHUNK):
                out.write(chunk)
                size += len(chunk)
                for one in sums.values():
                    one.update(chunk)
                if size - at >= conda.LEAST * sources.patience:
                    mark, at = time.monotonic(), size
                elif time.monotonic() - mark > sources.patience:
                    raise TimeoutError
            if length > size:
                raise waiting.Silent(f"{file['url']}: the connection broke after {size} of {length} bytes")
    except urllib.error.HTTPError as error:
        said = f"the server says {error.code} {error.reason}"
        if 400 <= error.code < 500 and error.code not in (408, 429):
            raise Fault(said) from None
        # It has the file perhaps, and does not give it now.
        raise waiting.Silent(f"{file['url']}: {said}") from None
    except TimeoutError:
        raise waiting.Silent(
            f"{file['url']}: the download timed out, less than {conda.LEAST >> 10} KiB a second came for {sources.patience} s (patience in config.yaml)") from None
    except (OSError, ValueError) as error:
        if file["url"].startswith("file:"):
            raise Fault(f"the base image has no such file: {getattr(error, 'reason', error)}") from None
        raise waiting.Silent(f"{file['url']}: {getattr(error, 'reason', error)}") from None
    return {kind: one.hexdigest() for kind, one in sums.items()}, size
