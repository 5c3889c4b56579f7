"""Compiles the Python files that a file lists, one a line: compile.py LIST

It runs on any Python that an environment may have, 2.7 to the newest.
"""
import sys

sys.path.pop(0)  # this folder: its modules are none of the environment's

import io  # noqa: E402
import py_compile  # noqa: E402

options = {}
if hasattr(py_compile, "PycInvalidationMode"):
    # The other modes would hide an edit of the source, or read each source at each import.
    options["invalidation_mode"] = py_compile.PycInvalidationMode.TIMESTAMP
with io.open(sys.argv[1], encoding="utf-8", **({"errors": "surrogateescape"} if sys.version_info > (3,) else {})) as file:
    paths = file.read().split("\n")
for path in paths:
    try:
        py_compile.compile(path, doraise=True, **options)
    except Exception:
        pass
