"""What an environment notes of where packages came from (PEP 610): public addresses alone.

uv leaves a password out there, and nothing else: not the token in a query or a
path, and not the machine's mirror in the place of the address that was asked for.
"""
import base64
import csv
import glob
import hashlib
import os

from common import sources


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
