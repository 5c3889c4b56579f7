"""Conda packages: rattler solves, fetches and links them."""
import asyncio
import datetime
import difflib
import json
import os
import re
import tempfile
import time

import rattler
from rattler.exceptions import SolverError
from rattler.networking import Client
from rattler.networking.middleware import MirrorMiddleware, RetryMiddleware
from rattler.package.build_string import BuildString

import conflict
import layer
import waiting
from common import Failure, sources
from progress import LARGE, Bar, Timer

FIELDS = (
    "name", "version", "build", "build_number", "subdir", "md5", "sha256", "size", "noarch", "depends",
    "constrains", "license", "timestamp", "python_site_packages_path",
)


LEAST = 1 << 10  # bytes a second of all downloads, below which they stand still
ATTEMPTS = 3  # to fetch packages; what came whole is kept between them
# What a connection that broke is told by, in rattler's causes.
BROKEN = (
    "error reading a body", "end of file", "connection closed", "connection reset", "error sending request", "timed out",
    "incompletemessage", "broken pipe", "server error (5",
)


def client(timeout):
    """timeout is for a whole request, in seconds: rattler knows no other."""
    middlewares = [RetryMiddleware(3)]
    if sources.channels:
        middlewares.insert(0, MirrorMiddleware(sources.channels))
    return Client(middlewares, timeout=timeout)


class Question:
    """What is asked of the channels: which packages fulfil some specs."""

    def __init__(self, request):
        self.channels = request["channels"]
        self.platforms = [request["platform"], "noarch"]
        self.gateway = rattler.Gateway(cache_dir="/run/crun/cache/rattler/repodata", client=client(5 * sources.patience))
        self.given = {}  # request to the record of the file that it asks for by address
        self.virtual = []
        for text in request["virtual"]:
            name, _, version = text.partition("=")
            version, _, build = version.partition("=")
            self.virtual.append(rattler.GenericVirtualPackage(
                rattler.PackageName(name), rattler.Version(version or "0"), BuildString(build or "0")))

    def solve(self, specs, locked=(), limit=None):
        """The records that fulfil specs; of several that do, those of the entries locked are taken.

        limit is a number of seconds.
        """
        given = [self.given[spec] for spec in specs if spec in self.given]
        return self.ask(lambda: rattler.solve(
            [*([Given(given)] if given else []), *self.channels.values()],
            [self.match(spec) for spec in specs],
            gateway=self.gateway,
            locked_packages=[from_entry(entry, self.channels) for entry in locked if entry.get("channel") in self.channels],
            pinned_packages=given,
            platforms=self.platforms,
            virtual_packages=self.virtual,
            channel_priority=rattler.ChannelPriority.Flexible,
            timeout=datetime.timedelta(seconds=limit) if limit else None,
        ))

    def match(self, spec):
        if spec in self.given:
            return rattler.MatchSpec(self.given[spec].name.normalized, strict=False)
        return rattler.MatchSpec(spec, strict=False)

    def ask(self, question):
        """The answer to question, for which the channels may be asked for their lists. Raises waiting.Silent."""
        lists = [
            [f"{url.rstrip('/')}/{self.platforms[0]}/repodata.json" for url in sources.channels.get(public) or [public]]
            for public in self.channels.values()]

        async def answer():
            task = asyncio.ensure_future(question())
            while not (await asyncio.wait([task], timeout=sources.patience))[0]:
                said = await asyncio.get_running_loop().run_in_executor(None, waiting.silent, lists)
                if said and not task.done():
                    task.cancel()
                    raise waiting.Silent(said)
            return task.result()

        return asyncio.run(answer())

    def records_of(self, names):
        """All records of packages' names, a list for each channel."""
        return self.ask(lambda: self.gateway.query(list(self.channels.values()), self.platforms, names, recursive=False))

    def records(self, name):
        """All records of a package's name."""
        return [record for records in self.records_of([name]) for record in records]

    def names(self):
        """The names of all packages."""
        return [name.normalized for name in self.ask(lambda: self.gateway.names(list(self.channels.values()), self.platforms))]

    def missing(self, specs):
        """Those of specs that no record fulfils, each with what there is near it."""
        found = []
        for spec in dict.fromkeys(specs):
            if spec in self.given:
                continue
            match = rattler.MatchSpec(spec, strict=False)
            if match.name is None:
                continue
            name = conflict.name_of(spec)
            records = self.records(name)
            if any(match.matches(record) for record in records):
                continue
            entry = {"spec": spec}
            if not records:
                entry["names"] = difflib.get_close_matches(name, self.names(), 3, 0.75)
            else:
                entry["near"] = self.near(match, records)
            found.append(entry)
        return found

    def near(self, match, records):
        """The versions of records around the one that match asks for; of the very version, its builds."""
        builds = [record for record in records if rattler.MatchSpec(
            f"{record.name.normalized} {match.version or '*'}", strict=False).matches(record)]
        if builds and match.build:
            texts = sorted({f"{record.version}={record.build}" for record in builds})
            return texts[-conflict.NEAR:]
        asked = re.search(r"[0-9][0-9A-Za-z._]*", str(match.version or ""))
        versions = sorted({rattler.Version(str(record.version)) for record in records})
        return conflict.near(rattler.Version(asked.group().rstrip("._") if asked else "0"), versions)

    def conflict(self, specs, text):
        """What a failed solve of specs is about, as build/conflict.go reads it."""
        missing = self.missing(specs)
        if missing:
            return {"missing": missing}
        clock = conflict.Clock()

        def fits(some):
            """Name to version of a solution; False where there is none, None where it was not found out in time."""
            if not clock.left():
                return None
            try:
                return {record.name.normalized: str(record.version) for record in self.solve(some, limit=clock.left())}
            except SolverError:
                return False if clock.left() else None

        core = conflict.core(specs, text, fits, clock)
        found = {"core": core, **conflict.changes(specs, core, fits, clock)}
        if core != specs:
            try:
                self.solve(core, limit=clock.left() or 1)
            except SolverError as error:
                found["text"] = explain(error)  # shorter, and about these alone
        return found


class Given(rattler.RepoDataSource):
    """Serves the records of files that are asked for by address, so that what they need is looked for."""

    def __init__(self, records):
        self.given = records

    async def fetch_package_records(self, platform, name):
        return [record for record in self.given if record.name.normalized == name.normalized and str(record.subdir) == str(platform)]

    def package_names(self, platform):
        return [record.name.normalized for record in self.given if str(record.subdir) == str(platform)]


def to_entry(record, channels, files=()):
    """record as crun.lock has it: its channel by name, its file by its name. files are those that are asked for by address."""
    data = json.loads(record.to_json())
    entry = {field: data[field] for field in FIELDS if data.get(field)}
    entry["file"] = record.file_name
    by_url = {file["url"]: file for file in files}
    if record.url in by_url and not by_url[record.url]["channel"]:
        entry["url"] = record.url
    elif record.url in by_url:
        entry["channel"] = by_url[record.url]["channel"]
    else:
        entry["channel"] = channel_of(record, channels)
    features = data.get("track_features")
    if features:
        entry["track_features"] = features.split() if isinstance(features, str) else features
    return entry


def channel_of(record, channels):
    for name, url in channels.items():
        if record.url.startswith(url.rstrip("/") + "/"):
            return name
    raise Failure(f"{record.file_name} comes from {record.url}, which is no channel of the environment")


def from_entry(entry, channels):
    """The record of an entry of crun.lock."""
    index = {field: entry[field] for field in FIELDS if field in entry and field not in ("md5", "sha256", "size")}
    index.setdefault("build_number", 0)
    index.setdefault("depends", [])
    if "track_features" in entry:
        index["track_features"] = " ".join(entry["track_features"])
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir="/run/crun") as file:
        json.dump(index, file)
        file.flush()
        record = rattler.PackageRecord.from_index_json(file.name)
    if "sha256" in entry:
        record.sha256 = bytes.fromhex(entry["sha256"])
    if "md5" in entry:
        record.md5 = bytes.fromhex(entry["md5"])
    if "size" in entry:
        record.size = entry["size"]
    if entry.get("url"):  # a file that lies in no channel
        return rattler.RepoDataRecord(record, entry["file"], entry["url"], entry["url"].rpartition("/")[0])
    channel = channels[entry["channel"]].rstrip("/")
    url = f"{channel}/{entry['subdir']}/{entry['file']}"
    return rattler.RepoDataRecord(record, entry["file"], url, channel)


class Reporter:
    """Shows what is fetched and linked. rattler does several at once."""

    def __init__(self, records):
        self.sizes = {record.name.normalized: record.size or 0 for record in records}
        self.names = []
        self.got = {}  # bytes of each download
        self.linking = []
        self.fetch, self.link = Bar("fetch"), Bar("link")
        self.fetching, self.linked = Timer(), Timer()
        self.heard = {}  # when each download that is under way got something
        self.mark = (0, 0)  # a time, and the bytes of all downloads until then
        self.bytes = 0

    def silent(self):
        """A package whose download has stood still for too long, or None; all do where next to nothing comes."""
        late, heard = time.monotonic() - sources.patience, dict(self.heard)
        return next((self.names[index] for index, at in heard.items() if at < late or self.mark[0] < late), None)

    def on_populate_cache_start(self, operation, package_name):
        self.names.append(package_name)
        return len(self.names) - 1

    def on_download_start(self, cache_entry):
        name = self.names[cache_entry]
        if not self.heard:
            self.mark = (time.monotonic(), self.bytes)
        self.heard[cache_entry] = time.monotonic()
        size = self.sizes.get(name, 0)
        self.fetching.start()
        self.fetch.total += size
        if size >= LARGE and not self.fetch.terminal:
            print(f"fetching {name} ({size >> 20} MiB)", flush=True)
        return cache_entry

    def on_download_progress(self, download_idx, progress, total):
        self.fetch.done += progress - self.got.get(download_idx, 0)
        self.bytes += max(0, progress - self.got.get(download_idx, 0))
        if self.bytes - self.mark[1] >= LEAST * sources.patience:
            self.mark = (time.monotonic(), self.bytes)
        self.got[download_idx] = progress
        if total and progress >= total:
            self.heard.pop(download_idx, None)  # what follows is this machine's to do
        else:
            self.heard[download_idx] = time.monotonic()
        self.fetch.update(self.names[download_idx])

    def on_download_completed(self, download_idx):
        name = self.names[download_idx]
        self.heard.pop(download_idx, None)
        self.fetch.done += max(0, self.sizes.get(name, 0) - self.got.get(download_idx, 0))
        self.fetching.stop()
        self.fetch.update(name)

    def on_link_start(self, operation, package_name):
        self.linked.start()
        self.fetch.close()
        self.linking.append(package_name)
        self.link.total = sum(self.sizes.values())
        self.link.update(package_name)
        return len(self.linking) - 1

    def on_link_complete(self, index):
        self.linked.stop()
        self.link.done += self.sizes.get(self.linking[index], 0)
        self.link.update(self.linking[index])

    def close(self):
        self.fetch.close()
        self.link.close()

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *arguments: 0


def install(records, prefix, platform):
    """Links records into prefix, beside what is there."""
    start = time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        reporter = Reporter(records)
        try:
            asyncio.run(attend(records, prefix, platform, reporter))
            break
        except Exception as error:
            reporter.close()
            text = explain(error)
            if attempt == ATTEMPTS or not any(word in text.lower() for word in BROKEN):
                raise Failure("installing conda packages: " + text + advice(text)) from None
            print(f"trying once more, for the connection broke: {text.partition(chr(10))[0]}", flush=True)
    reporter.close()
    new = {record.name.normalized for record in records}
    forget_cache(os.path.join(prefix, "conda-meta"), new)
    size = sum(record.size or 0 for record in records) >> 20
    print(f"{len(records)} conda packages ({size} MiB packed) in {time.monotonic() - start:.1f} s: "
          f"download {reporter.fetching.seconds:.1f} s, link {reporter.linked.seconds:.1f} s", flush=True)


async def attend(records, prefix, platform, reporter):
    """Installs, and gives up where a download stands still."""
    meta = os.path.join(prefix, "conda-meta")
    installed = []
    if os.path.isdir(meta):
        installed = [
            rattler.PrefixRecord.from_path(os.path.join(meta, name))
            for name in sorted(os.listdir(meta)) if name.endswith(".json")
        ]
    new = {record.name.normalized for record in records}
    kept = [record for record in installed if record.name.normalized not in new]
    task = asyncio.ensure_future(rattler.install(
        [*kept, *records], prefix,
        cache_dir="/run/crun/cache/rattler/packages",
        installed_packages=installed,
        platform=rattler.Platform(platform) if hasattr(rattler, "Platform") else rattler.Subdir(platform),
        execute_link_scripts=True,
        show_progress=False,
        # No limit for a whole file, which may be gigabytes over a slow line.
        client=client(7 * 24 * 3600),
        reporter=reporter,
    ))
    while not (await asyncio.wait([task], timeout=1))[0]:
        if name := reporter.silent():
            task.cancel()
            raise Failure(f"failed to fetch {name}: the download timed out, less than {LEAST >> 10} KiB a second came for {sources.patience} s (patience in config.yaml)")
    task.result()


def advice(text):
    """What an error of a download means, where rattler's words do not say it."""
    text = text.lower()
    if "corruption" in text or "hash mismatch" in text or "hashmismatch" in text:
        return "\nwhat the channel sent is damaged, or is another file than the one in crun.lock: nothing of it is kept"
    if "404" in text:
        return "\nthe channel does not have this file any more, or its mirror does not have it yet: crun lock --update chooses anew"
    return ""


def forget_cache(meta, names):
    """Takes the place of the build's cache out of what conda knows of names."""
    for name in os.listdir(meta):
        path = os.path.join(meta, name)
        if not name.endswith(".json"):
            continue
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if record["name"] in names:
            for field in ("extracted_package_dir", "package_tarball_full_path", "link"):
                record.pop(field, None)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(record, file, indent=2)


def explain(error):
    """An error's text with its causes, without this machine's addresses."""
    text = str(error)
    cause = error.__cause__
    while cause is not None:
        if str(cause) not in text:
            text += f": {cause}"
        cause = cause.__cause__
    return sources.public(text)


def install_list(content):
    channels = content["channels"]
    records = [from_entry(entry, channels) for entry in content["packages"]]
    install(records, content["prefix"], content["platform"])
    layer.finish(content["prefix"])
