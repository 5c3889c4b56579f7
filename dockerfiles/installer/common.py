"""What all parts of the installer share."""
import functools
import json
import os
import subprocess


TOOLS_UV = "/run/crun/toolbox/opt/crun/site-packages/bin/uv"


# What an index of the machine's own goes by where people read.
EXTRA_INDEX = "an-index-of-config.yaml"


class Failure(Exception):
    """Something that a person can understand and act on."""


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

    def use_certificates(self):
        """Lets every program trust the certificates of the machine that asked."""
        if os.path.exists(self.certificates) and os.path.getsize(self.certificates):
            for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
                os.environ[name] = self.certificates

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
        return self.indexes.get(name, self.pypi if name == "pypi" else url)

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
        pairs += [(EXTRA_INDEX, real) for real in self.extra_indexes]
        # uv writes an address without its password, or with stars for it.
        pairs = [(public, form) for public, real in pairs for form in forms(real)]
        for public, real in sorted(pairs, key=lambda pair: -len(pair[1])):
            text = text.replace(real.rstrip("/"), public.rstrip("/"))
        return text


def forms(url):
    """url as programs write it: whole, with a hidden password, without any."""
    scheme, separator, rest = url.partition("://")
    account, at, place = rest.rpartition("@")
    if not at or "/" in account:
        return [url]
    user, colon, _ = account.partition(":")
    return [url, f"{scheme}{separator}{user if colon else ''}{colon}****@{place}", scheme + separator + place]


sources = Sources()


def python_of(prefix):
    return os.path.join(prefix, "bin", "python")


def compile_bytecode(prefix):
    """Compiles what has been installed, in the layer that installs it.

    Otherwise each container would compile it again, or, for a user who may not
    write there, each start of Python would.
    """
    python = python_of(prefix)
    if not os.path.exists(python):
        return
    libraries = [
        os.path.join(prefix, "lib", name)
        for name in sorted(os.listdir(os.path.join(prefix, "lib")))
        if name.startswith("python") and os.path.isdir(os.path.join(prefix, "lib", name))
        and not os.path.islink(os.path.join(prefix, "lib", name))
    ]
    # Files that are no valid Python (templates, tests for Python 2) are common
    # and harmless, so neither their messages nor the exit code matter.
    subprocess.run(
        [python, "-E", "-s", "-m", "compileall", "-q", "-j", "0", *libraries],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )
