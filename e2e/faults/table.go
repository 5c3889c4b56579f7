package main

// fault is a run that dies, or looks like it.
type fault struct {
	name    string
	flags   []string // of crun run
	script  string   // fault.py; or
	command []string
	fails   bool   // crun run -d itself says so
	during  string // a command of the shell, once the script has printed "ready"

	want string // the code
	sure string // "" for any
	also string // what happened besides
}

func flags(words ...string) []string { return words }

var lowMemory = flags("--memory", "512m", "--shm-size", "64m", "--tmpdir", "64m")

// eat takes memory until there is none, page by page.
const eat = "def eat():\n    kept = []\n    while True:\n        kept.append(bytearray(8 << 20))\n"

const loader = `
import os, sys, time, mmap, torch
from torch.utils.data import DataLoader, Dataset
class D(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return item(i)
`

var faultTable = []fault{
	// Memory.
	{name: "memory, the whole run", flags: lowMemory, script: eat + "eat()\n", want: "memory", sure: "certain"},
	{name: "memory, tensors", flags: lowMemory, script: "import torch\nkept = []\nwhile True: kept.append(torch.ones(1 << 21))\n", want: "memory", sure: "certain"},
	{name: "memory, a shell before it", flags: lowMemory, script: eat + "eat()\n", command: []string{"sh", "-c", "python fault.py; code=$?; echo $code; exit $code"}, want: "memory", sure: "certain"},
	{name: "memory, a child alone", flags: lowMemory, script: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', " + `"kept = []\nwhile True: kept.append(bytearray(8 << 20))"` + "], check=True)\n", want: "memory-child", sure: "certain"},
	{name: "memory, a pool of processes", flags: lowMemory, script: "from concurrent.futures import ProcessPoolExecutor\n" + eat + "if __name__ == '__main__':\n    with ProcessPoolExecutor(1) as pool:\n        pool.submit(eat).result()\n", want: "memory-child", sure: "certain"},
	{name: "memory, a DataLoader worker", flags: lowMemory, script: loader + eat + "def item(i): eat()\nfor x in DataLoader(D(), num_workers=1): pass\n", want: "memory-worker", sure: "certain"},
	{name: "memory, files in tmp", flags: flags("--memory", "512m", "--shm-size", "16m", "--tmpdir", "400m"), script: eat + "open('/tmp/x', 'wb').write(bytes(300 << 20))\neat()\n", want: "memory-tmpfs", sure: "certain"},
	{name: "memory, files in shm", flags: flags("--memory", "512m", "--shm-size", "400m", "--tmpdir", "16m"), script: eat + "f = open('/dev/shm/x', 'wb')\nfor i in range(38): f.write(bytes(8 << 20))\nf.flush()\neat()\n", want: "memory-tmpfs", sure: "certain"},
	{name: "memory, a success all the same", flags: lowMemory, script: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', " + `"kept = []\nwhile True: kept.append(bytearray(8 << 20))"` + "])\n", want: "memory-survived", sure: "certain"},
	{name: "memory, a process of exec", flags: lowMemory, script: "import time, os\nprint('ready', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)\nos.remove('go')\n", during: `$CRUN exec $RUN python -c 'kept = []
while True: kept.append(bytearray(8 << 20))'; touch go`, want: "memory-survived", sure: "certain"},
	{name: "one array far too large", flags: lowMemory, script: "import numpy\nnumpy.ones((1 << 20, 1 << 24))\n", want: "memory-error", sure: "likely"},
	{name: "address space", flags: flags("--address-space", "3g"), script: "kept = []\nwhile True: kept.append(bytearray(256 << 20))\n", want: "address-space", sure: "likely"},
	{name: "locked memory", flags: flags("--memlock", "64k"), script: "import ctypes, os\nb = ctypes.create_string_buffer(1 << 20)\nlibc = ctypes.CDLL(None, use_errno=True)\nif libc.mlock(b, len(b)): raise OSError(ctypes.get_errno(), 'mlock: ' + os.strerror(ctypes.get_errno()))\n", want: "memlock", sure: "likely"},

	// Places.
	{name: "shm, DataLoader workers", flags: flags("--shm-size", "16m"), script: loader + "def item(i): return torch.ones(1 << 20)\nfor x in DataLoader(D(), num_workers=2, batch_size=8): pass\n", want: "shm-full"},
	{name: "shm, a mapped file", flags: flags("--shm-size", "16m"), script: "import mmap, os\nfd = os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT)\nos.ftruncate(fd, 64 << 20)\nm = mmap.mmap(fd, 64 << 20)\nfor i in range(0, 64 << 20, 4096): m[i] = 1\n", want: "shm-full", sure: "certain"},
	{name: "shm, written to", flags: flags("--shm-size", "16m"), script: "open('/dev/shm/x', 'wb').write(bytes(64 << 20))\n", want: "shm-full", sure: "certain"},
	{name: "tmp, written to", flags: flags("--tmpdir", "16m"), script: "import tempfile\ntempfile.NamedTemporaryFile().write(bytes(64 << 20))\n", want: "tmp-full", sure: "likely"},
	{name: "tmp, torch.save", flags: flags("--tmpdir", "16m"), script: "import torch\ntorch.save(torch.ones(16 << 20), '/tmp/model.pt')\n", want: "tmp-full", sure: "certain"},
	{name: "tmp on disk", flags: flags("--tmpdir", "16m,disk"), script: "import time\nopen('/tmp/x', 'wb').write(bytes(64 << 20))\ntime.sleep(120)\n", want: "tmpdir-disk", sure: "certain"},

	// Counts.
	{name: "descriptors", flags: flags("--nofile", "200"), script: "import time\nkept = []\ntry:\n    while True: kept.append(open('/dev/null'))\nexcept OSError:\n    time.sleep(2.5)\n    raise\n", want: "nofile", sure: "certain"},
	{name: "descriptors, tensors of workers", flags: flags("--nofile", "160"), script: loader + "def item(i): return [torch.ones(1) for _ in range(60)]\nkept = [x for x in DataLoader(D(), num_workers=2, batch_size=None)]\n", want: "nofile"},
	{name: "threads", flags: flags("--pids", "40"), script: "import threading, time\nfor i in range(100): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n", want: "pids", sure: "certain"},
	{name: "processes", flags: flags("--pids", "40"), script: "import subprocess\nkept = [subprocess.Popen(['sleep', '60']) for i in range(100)]\n", want: "pids", sure: "certain"},
	{name: "processes, workers", flags: flags("--pids", "40"), script: loader + "def item(i): return torch.ones(1)\nfor x in DataLoader(D(), num_workers=60): pass\n", want: "pids", sure: "certain"},

	// Somebody's will.
	{name: "time limit", flags: flags("--time-limit", "2s"), script: "import time\ntime.sleep(120)\n", want: "time-limit", sure: "certain"},
	{name: "crun stop", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "$CRUN stop $RUN", want: "stopped", sure: "certain"},
	{name: "crun kill", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "$CRUN kill $RUN", want: "stopped", sure: "certain"},
	{name: "docker stop", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "docker stop -t 1 $(docker ps -q --filter label=dev.crun.name=$RUN)", want: "engine-stopped", sure: "certain"},
	{name: "docker kill", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "docker kill $(docker ps -q --filter label=dev.crun.name=$RUN)", want: "engine-stopped", sure: "certain"},
	{name: "docker rm", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "docker rm -f $(docker ps -q --filter label=dev.crun.name=$RUN)", want: "engine-stopped"},
	{name: "SIGKILL by a user of the host", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "kill -9 $(docker top $(docker ps -q --filter label=dev.crun.name=$RUN) -eo pid,args | awk '/fault.py/ && !/crun/ {print $1}')", want: "killed", sure: "unknown"},
	{name: "SIGTERM by a user of the host", script: "import time\nprint('ready', flush=True)\ntime.sleep(120)\n", during: "kill -15 $(docker top $(docker ps -q --filter label=dev.crun.name=$RUN) -eo pid,args | awk '/fault.py/ && !/crun/ {print $1}')", want: "terminated", sure: "unknown"},
	{name: "SIGHUP", script: "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\n", want: "hangup", sure: "certain"},

	// The program's own.
	{name: "a segmentation fault", script: "import ctypes\nctypes.string_at(0)\n", want: "segfault", sure: "certain"},
	{name: "a segmentation fault in a worker", script: loader + "import ctypes\ndef item(i): ctypes.string_at(0)\nfor x in DataLoader(D(), num_workers=1): pass\n", want: "segfault", sure: "likely"},
	{name: "an abort", script: "import os\nos.abort()\n", want: "aborted", sure: "certain"},
	{name: "an illegal instruction", script: "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(b'\\x0f\\x0b')\nctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\n", want: "illegal-instruction", sure: "certain"},
	{name: "a mapped file that shrank", script: "import mmap, os\nfd = os.open('/tmp/x', os.O_RDWR | os.O_CREAT)\nos.ftruncate(fd, 1 << 20)\nm = mmap.mmap(fd, 1 << 20)\nos.ftruncate(fd, 0)\nm[4096]\n", want: "bus-error", sure: "unknown"},
	{name: "an exception", script: "{}['lr']\n", want: "traceback", sure: "certain"},
	{name: "an exit code", script: "import sys\nsys.exit(3)\n", want: "exited", sure: "certain"},
	{name: "exit 137 by itself", script: "import sys\nsys.exit(137)\n", want: "exited"},
	{name: "a worker killed on purpose", script: loader + "import signal\ndef item(i): os.kill(os.getpid(), signal.SIGKILL)\nfor x in DataLoader(D(), num_workers=1): pass\n", want: "traceback"},
	{name: "a worker that takes too long", script: loader + "def item(i): time.sleep(30)\nfor x in DataLoader(D(), num_workers=1, timeout=1): pass\n", want: "timeout", sure: "likely"},
	{name: "a module that is not there", script: "import no_such_module_at_all\n", want: "module-missing", sure: "likely"},
	{name: "no such command", command: []string{"no-such-command"}, fails: true, want: "command-missing", sure: "certain"},
	{name: "not executable", command: []string{"/etc/passwd"}, fails: true, want: "command-missing", sure: "certain"},
	{name: "a GPU that was not asked for", script: "import torch\ntorch.ones(1).cuda()\n", want: "gpu-not-asked"},
	{name: "libGL", script: "import ctypes\nctypes.CDLL('libGL.so.1')\n", want: "libgl", sure: "likely"},
	{name: "a cache that cannot be written", script: "import os\nos.makedirs('/.cache/huggingface')\n", flags: flags("--read-only"), want: "cache-not-writable", sure: "likely"},
	{name: "a uid without a name", script: "import pwd\npwd.getpwuid(76543)\n", want: "no-passwd", sure: "likely"},
	{name: "an exception an hour of output after a full tmp", flags: flags("--tmpdir", "16m"), script: "import os\ntry: open('/tmp/x', 'wb').write(bytes(64 << 20))\nexcept OSError as e: print(e)\nos.remove('/tmp/x')\nfor i in range(2000): print('epoch', i)\n{}['lr']\n", want: "traceback", sure: "certain"},

	// What only looks like it.
	{name: "harmless: page cache at the limit", flags: lowMemory, script: "f = open('big', 'wb')\nfor i in range(100): f.write(bytes(8 << 20))\nf.close()\nwith open('big', 'rb') as f:\n    while f.read(8 << 20): pass\nimport os\nos.remove('big')\n", want: "clean"},
	{name: "harmless: words of death", script: "print('Killed'); print('Bus error (core dumped)'); print('RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB')\n", want: "clean"},
	{name: "harmless: 99 % of tmp and back", flags: flags("--tmpdir", "64m"), script: "import os, time\nopen('/tmp/x', 'wb').write(bytes(63 << 20))\ntime.sleep(0.5)\nos.remove('/tmp/x')\n", want: "clean"},
	{name: "harmless: tmp full at the end", flags: flags("--tmpdir", "16m"), script: "try: open('/tmp/x', 'wb').write(bytes(64 << 20))\nexcept OSError as e: print(e)\n", want: "clean"},
	{name: "harmless: a child killed on purpose", script: "import subprocess\np = subprocess.Popen(['sleep', '60'])\np.kill()\np.wait()\n", want: "clean"},
	{name: "harmless: a child's Bus error", script: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os, signal; os.kill(os.getpid(), signal.SIGBUS)'])\n", want: "clean"},
	{name: "harmless: a MemoryError that was caught", script: "try: bytearray(1 << 60)\nexcept MemoryError: print('smaller batch')\n", want: "clean"},
	{name: "harmless: descriptors, caught", flags: flags("--nofile", "200"), script: "kept = []\ntry:\n    while True: kept.append(open('/dev/null'))\nexcept OSError as e: print(e)\n", want: "clean"},
	{name: "harmless: threads, caught", flags: flags("--pids", "40"), script: "import threading, time\ntry:\n    for i in range(100): threading.Thread(target=time.sleep, args=(1,)).start()\nexcept RuntimeError as e: print(e)\n", want: "clean"},
	{name: "harmless: a traceback that was logged", script: "import traceback\ntry: {}['lr']\nexcept KeyError: traceback.print_exc()\n", want: "clean"},
	{name: "harmless: another run's verdict in the log", script: "print('  why       the run reached its memory limit of 2 GiB and the kernel killed it (certain)')\n", want: "clean"},
	{name: "harmless: binary output", script: "import os, sys\nsys.stdout.buffer.write(os.urandom(1 << 20))\n", want: "clean"},
	{name: "harmless: a shell's exit after a signal that it caught", command: []string{"sh", "-c", "trap 'exit 0' TERM; kill -TERM $$; sleep 5"}, want: "clean"},
	{name: "harmless: many workers", script: loader + "def item(i): return torch.ones(1)\nfor x in DataLoader(D(), num_workers=4): pass\n", want: "clean"},
	{name: "harmless: a progress bar", script: "import sys\nfor i in range(3000): sys.stderr.write('\\rKilled %d %%' % (i // 30))\n", want: "clean"},
	{name: "harmless: shm full and back", flags: flags("--shm-size", "16m"), script: "import os\ntry: open('/dev/shm/x', 'wb').write(bytes(64 << 20))\nexcept OSError: os.remove('/dev/shm/x')\n", want: "clean"},
}
