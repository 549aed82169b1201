"""A separate machine for one try at a time: namespaces of processes, network, mounts and users. So everything that a job
leaves behind is found, and activity on the real machine is not mistaken for it."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback


class Failure(Exception):
    """A promise was broken."""


def expect(condition, *evidence):
    if not condition:
        raise Failure("\n".join(str(part) for part in evidence))


def is_possible():
    probe = "mount -t tmpfs none /dev/shm && ip link set lo up && ip link add bridge0 type bridge"
    return subprocess.run([*namespaces(), "sh", "-c", probe], stderr=subprocess.DEVNULL).returncode == 0


def namespaces():
    return ["unshare", "--user", "--map-root-user", "--net", "--mount", "--ipc", "--pid", "--fork", "--mount-proc",
            "--kill-child"]


def sh(command):
    subprocess.run(command, shell=True, check=True)


class Box:
    """The machine of a try."""

    def __init__(self, binaries, shared, folder):
        self.binaries, self.shared, self.folder = binaries, shared, folder

    def tool(self, name):
        return str(self.binaries / name)

    def processes(self):
        """The living processes of this machine except this one: {pid: state}."""
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                try:
                    with open(f"/proc/{name}/stat") as file:
                        state = file.read().rsplit(")", 1)[1].split()[0]
                except OSError:
                    continue
                if state not in "ZX":
                    found[int(name)] = state
        return found

    def check_clean(self):
        """Checks that nothing is left of the job: no process, nothing in shared memory, no temporary file."""
        deadline = time.monotonic() + 2
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.005)
        left = {pid: pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in self.processes()}
        expect(not left, "processes are left over:", left)
        while True:  # Orphans became children of this process.
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        for place in ("/dev/shm", os.environ["TMPDIR"]):
            expect(not os.listdir(place), f"{place} holds", os.listdir(place))


def sweep(box):
    """Cleans up after a failure, so that the next try begins with an empty machine."""
    for pid in box.processes():
        try:
            os.kill(pid, 9)
        except OSError:
            pass
    deadline = time.monotonic() + 5
    while box.processes() and time.monotonic() < deadline:
        time.sleep(0.01)


def serve(rows, binaries, shared):
    """Runs in the namespaces: reads the names of tries, one per line, runs each, and answers."""
    own = pathlib.Path(tempfile.mkdtemp(prefix="spmd-faults-"))
    sh(f"mount -t tmpfs none /dev/shm && mount -t tmpfs none {own} && ip link set lo up")
    os.environ["TMPDIR"] = str(own / "tmp")
    (own / "tmp").mkdir()
    os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = str(own / "home")
    kept = ("SPMD_TEST_GPUS", "SPMD_PLATFORM")  # As jobs.use_gpus has set them.
    for name in [name for name in os.environ if name.startswith("SPMD_") and name not in kept]:
        del os.environ[name]
    os.environ["SPMD_NO_CACHE"] = "1"
    os.environ["PATH"] = f"{binaries}:{os.environ['PATH']}"
    for line in sys.stdin:
        name, seed, number = json.loads(line)
        box = Box(binaries, shared, own / "try")
        shutil.rmtree(box.folder, ignore_errors=True)
        box.folder.mkdir()
        began = time.monotonic()
        answer = {"name": name, "number": number, "seconds": None, "failure": None, "count": 1}
        try:
            result = rows[name].run(box, random.Random(f"{seed}/{name}/{number}"))
            if isinstance(result, tuple):
                answer["seconds"], answer["count"] = result
            else:
                answer["seconds"] = result
            box.check_clean()
        except Failure as failure:
            answer["failure"] = str(failure)
        except Exception:
            answer["failure"] = traceback.format_exc()
        if answer["failure"]:
            sweep(box)
        answer["took"] = time.monotonic() - began
        print(json.dumps(answer), flush=True)
    sh(f"umount {own}")
    own.rmdir()
