"""What all parts of the installer share."""
import functools
import json
import os
import re


TOOLS = "/run/crun/toolbox/opt/crun"
TOOLS_UV = TOOLS + "/site-packages/bin/uv"


# What an index of the machine's own goes by where people read.
EXTRA_INDEX = "an-index-of-config.yaml"


class Failure(Exception):
    """Something that a person can understand and act on."""


def failure(kind, text, **more):
    """The answer that there is no solution, as build/solve.go reads it."""
    return {"failure": {"kind": kind, "text": text, **more}}


class Sources:
    """Where channels and indexes are fetched from: a secret of the build.

    So neither a mirror's address nor a password decides whether a layer is
    cached, and none is in a layer.
    """

    path = "/run/crun/sources.json"
    certificates = "/run/crun/ca.pem"

    def __init__(self):
        content = {}
        if os.path.exists(self.path) and os.path.getsize(self.path):
            with open(self.path, encoding="utf-8") as file:
                content = json.load(file)
        # Public address, or name, to the addresses that serve it here.
        self.channels = content.get("channels") or {}
        self.indexes = content.get("indexes") or {}
        # Addresses of the machine's own, asked behind the environment's.
        self.extra_indexes = content.get("extra_indexes") or []
        # How long a server may send nothing, in seconds.
        self.patience = content.get("patience") or 60
        self.find_links = content.get("find_links") or []
        self.trusted_hosts = content.get("trusted_hosts") or []
        # Name to the names and addresses of the channels that it stands for.
        self.parts = content.get("expand") or {}
        self.logins = content.get("logins") or []
        self.git = content.get("git") or {}
        self.hidden = content.get("hidden") or []
        # How it is shown what is done: tty or plain.
        self.progress = content.get("progress") or "plain"

    def use_certificates(self):
        """Lets every program trust the certificates of the machine that asked."""
        if os.path.exists(self.certificates) and os.path.getsize(self.certificates):
            for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
                os.environ[name] = self.certificates

    def use_logins(self):
        """Lets every program know the logins, in files that are memory."""
        home = os.environ["HOME"]
        logins = os.path.join(home, ".netrc")
        with private_file(logins) as file:
            for login in self.logins:
                words = [f"machine {login['Machine']}"]
                words += [f"{word} {quoted(login[key])}" for word, key in (("login", "Login"), ("password", "Password")) if login[key]]
                file.write(" ".join(words) + "\n")
        if self.logins:
            os.environ["NETRC"] = logins
        with private_file(os.path.join(home, ".gitconfig")) as file:
            for address, header in self.git.items():
                file.write(f'[http "{address}"]\n\textraHeader = "{header}"\n')
        if self.trusted_hosts:
            os.environ["UV_INSECURE_HOST"] = os.environ["PIP_TRUSTED_HOST"] = " ".join(self.trusted_hosts)

    def expand(self, channels):
        """channels, name to address, with those that one name stands for here."""
        parts = {}
        for name, url in channels.items():
            parts.update(self.parts.get(name) or {name: url})
        return parts

    @functools.cached_property
    def pypi(self):
        """The address that pip uses by itself, from pip."""
        from pip._internal.models.index import PyPI

        return PyPI.simple_url.rstrip("/")

    def index_name(self, url):
        """url as a lock has it: pip's own index goes by its name."""
        return "pypi" if url.rstrip("/") == self.pypi else url

    def index(self, url):
        """The address that serves an index here, given by address or name."""
        name = self.index_name(url)
        if name in self.indexes:
            return self.indexes[name]
        return self.private(self.pypi if name == "pypi" else url)

    def private(self, text):
        """text with each public address replaced by the one to use here."""
        pairs = [(self.pypi if public == "pypi" else public, real) for public, real in self.indexes.items()]
        for public, real in sorted(pairs, key=lambda pair: -len(pair[0])):
            text = text.replace(public, real)
        return text

    def public(self, text):
        """text as it may be shown and kept: with public addresses alone."""
        pairs = [*self.indexes.items(), ("pypi", self.pypi)]
        pairs += [(public, real) for public, reals in self.channels.items() for real in reals]
        pairs += [(EXTRA_INDEX, real) for real in (*self.extra_indexes, *self.find_links)]
        # Programs write an address without its password, or with stars for it.
        pairs = [(public, form) for public, real in pairs for form in forms(real, text)]
        for public, real in sorted(pairs, key=lambda pair: -len(pair[1])):
            text = text.replace(real.rstrip("/"), public.rstrip("/"))
        for secret in self.hidden:
            text = text.replace(secret, "***")
        return text


def forms(url, text):
    """url as programs may write it in text: whole, without a password, or with stars for it."""
    scheme, separator, rest = url.partition("://")
    account, at, place = rest.rpartition("@")
    if not at or "/" in account:
        return [url]
    starred = re.findall(re.escape(scheme + separator) + r"[^/@\s]*@" + re.escape(place), text)
    return [url, *starred, scheme + separator + place]


def private_file(path):
    """Opens a file to write that nobody else may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")


def quoted(word):
    """word as a .netrc has it: quotes are for what would end a word, since not every reader knows them."""
    if not any(letter in ' \t"#\\' for letter in word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def to_environment(arguments, variables):
    """arguments without those options that may hold a password, and variables
    for them: the list of processes shows arguments to everybody."""
    kept, found, words = [], {}, iter(arguments)
    for word in words:
        if word in variables:
            name, separator = variables[word]
            value = next(words)
            found[name] = found[name] + separator + value if name in found else value
        else:
            kept.append(word)
    return kept, found


def request_for(url):
    """A request to url, with its login in the place where it belongs."""
    # Here, for they take long to load and hardly a step needs them.
    import base64
    import netrc
    import urllib.parse
    import urllib.request

    scheme, separator, rest = url.partition("://")
    account, _, place = rest.rpartition("@")
    request = urllib.request.Request(scheme + separator + place)
    if not account:
        try:
            login = netrc.netrc(os.environ["NETRC"]).authenticators(urllib.parse.urlsplit(url).hostname)
        except (KeyError, OSError, netrc.NetrcParseError):
            login = None
        account = f"{login[0]}:{login[2]}" if login else ""
    if account:
        code = base64.b64encode(urllib.parse.unquote(account).encode()).decode()
        request.add_header("Authorization", "Basic " + code)
    return request


def refusal(url):
    """What a server says to a request for url in the place of an answer, or ""."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(request_for(url), timeout=30):
            return ""
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}"
    except (OSError, ValueError):
        return ""


sources = Sources()


def python_of(prefix):
    return os.path.join(prefix, "bin", "python")
