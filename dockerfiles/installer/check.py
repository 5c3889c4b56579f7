"""Imports modules with the environment's own python, without a network.

check.py MODULE...: what cannot be imported is shown with its real traceback.
It runs on any Python that an environment may have, 2.7 to the newest.
"""
import sys
import traceback

failed = []
for name in sys.argv[1:]:
    try:
        module = __import__(name)
    except BaseException:
        traceback.print_exc(file=sys.stdout)  # one stream keeps its order
        failed.append(name)
    else:
        print("%s %s" % (name, getattr(module, "__version__", "")))
        sys.stdout.flush()
if failed:
    sys.stdout.write("crun: the environment cannot import %s\n" % ", ".join(failed))
    sys.exit(1)
