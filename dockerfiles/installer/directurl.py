"""What an environment notes of where packages came from (PEP 610), and what they need: public addresses alone.

uv leaves a password out of the former, and nothing else: not the token in a query
or a path, and not the machine's mirror in the place of the address that was asked
for. What a package says that it needs is as its author wrote it, secrets and all.
"""
import base64
import csv
import glob
import hashlib
import os
import re

from common import sources

# The account of an address, but for ssh, where it is no secret; a parameter that carries a secret.
ACCOUNT = re.compile(r"(?<!ssh)://[^/@\s]+@")
PARAMETER = re.compile(r"[A-Za-z0-9_.-]*(?:token|secret|passw|api[_-]?key|access[_-]?key|signature|credential|sig|auth)[A-Za-z0-9_.-]*=[^&#\s;]*&?", re.IGNORECASE)


def publish(prefix):
    """Makes every note below prefix the one of all machines."""
    for path in glob.glob(f"{glob.escape(prefix)}/lib/python*/site-packages/*.dist-info/direct_url.json"):
        with open(path, encoding="utf-8") as file:
            noted = file.read()
        public = sources.public(noted)
        if public != noted:
            with open(path, "w", encoding="utf-8") as file:
                file.write(public)
            record(path, public.encode())
    for path in glob.glob(f"{glob.escape(prefix)}/lib/python*/site-packages/*.dist-info/METADATA"):
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read()
        if "://" not in text:
            continue
        header, separator, body = text.partition("\n\n")
        public = "\n".join(needed(line) for line in header.split("\n")) + separator + body
        if public != text:
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(public)
            record(path, public.encode(errors="surrogateescape"))


def needed(line):
    """A line of METADATA; where it gives an address of what the package needs, without secrets."""
    if not re.match(r"Requires-Dist:.*@.*://", line):
        return line
    line = ACCOUNT.sub("://", line)
    address, question, rest = line.partition("?")
    if not question:
        return line
    query = re.match(r"[^#\s;]*", rest).group()
    kept = PARAMETER.sub("", query).rstrip("&")
    return address + ("?" + kept if kept else "") + rest[len(query):]


def record(path, content):
    """Brings the line of path in its package's RECORD up to date."""
    folder = os.path.dirname(path)
    listed, name = os.path.join(folder, "RECORD"), f"{os.path.basename(folder)}/{os.path.basename(path)}"
    if not os.path.exists(listed):
        return
    with open(listed, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    rows = [[name, "sha256=" + digest, str(len(content))] if row and row[0] == name else row for row in rows]
    with open(listed, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
