"""Jobs of real processes: starts them, finds their process ids, breaks them, and reads their output."""

import os
import pathlib
import re
import socket
import subprocess
import sys
import time

from sandbox import expect

PROGRAMS = {
    # Every step needs all processes.
    "sum": """mesh m(a=4)
fn main(x: u32[1000@a], n: i32[]) {
  let s = sum(x);
  let x = x * 3 + s;
  let n = n + 1;
  return (x, n);
}
""",
    # No step needs another process.
    "local": """mesh m(a=4)
fn main(x: u32[1000@a], n: i32[]) {
  let x = x * 3 + 1;
  let n = n + 1;
  return (x, n);
}
""",
    # The saved values depend on the number of steps only.
    "saved": """mesh m(a=4)
fn main(x: u32[10@a], n: i32[], w: u32[10]) -> (u32[10@a], i32[], u32[10]) {
  let x = x * 3 + w;
  let n = n + 1;
  return (x, n, w);
}
""",
    # The same with enough numbers to fill a small disk.
    "large": """mesh m(a=4)
fn main(x: u32[30000@a], n: i32[], w: u32[30000]) -> (u32[30000@a], i32[], u32[30000]) {
  let x = x * 3 + w;
  let n = n + 1;
  return (x, n, w);
}
""",
}
# For divergent-calls, over as many devices as there are processes.
CALLS = {
    "sum": "fn main(x: f32[24@a]) {\n  return sum(x); }\n",
    "max": "fn main(x: f32[24@a]) {\n  return max(x); }\n",
    "wide": "fn main(x: f32[48@a]) {\n  return sum(x); }\n",
    "twice": "fn main(x: f32[24@a]) {\n  return sum(x) * 2.0; }\n",
    "loop": "fn main(x: f32[24@a]) {\n  let x = x + sum(x);\n  return (x); }\n",
    "loop-other": "fn main(x: f32[24@a]) {\n  let x = x - sum(x);\n  return (x); }\n",
    "loop-mesh": "fn main(x: f32[24@b]) {\n  let x = x + sum(x);\n  return (x); }\n",
}
FOREVER = 10**9
ON_GPUS = "--gpus" in sys.argv  # A step on emulated GPUs takes some milliseconds.
STEPS = 400 if ON_GPUS else 4000  # Steps of jobs that end by themselves.
NETWORK_STEPS = 150 if ON_GPUS else 1500  # Steps of jobs over several hosts.


def compile_program(binaries, source, target):
    subprocess.run([binaries / "spmdc", "compile", source, "--target", target, "-o", source.with_suffix(".spmdx")],
                   check=True)


def prepare(binaries, shared, with_calls):
    """Compiles the programs, and runs them without faults: runs with faults must give the same bits."""
    for name, text in PROGRAMS.items():
        (shared / f"{name}.spmd").write_text(text)
        compile_program(binaries, shared / f"{name}.spmd", "cpu")
    for count in (2, 3, 4) if with_calls else ():
        for name, text in CALLS.items():
            source = shared / f"{name}{count}.spmd"
            source.write_text(f"mesh m({'b' if 'mesh' in name else 'a'}={count}) {text}")
            compile_program(binaries, source, "cpu")
    for name, steps, result in (("sum", STEPS, "sum"), ("local", STEPS, "local"), ("sum", NETWORK_STEPS, "cut")):
        subprocess.run([binaries / "spmd-run", shared / f"{name}.spmdx", *inputs(name, steps),
                        "--output", f"x={shared}/{result}.npy"], check=True)


def use_gpus(binaries, shared):
    """From now on jobs run on GPUs, which doubles of NVIDIA's libraries emulate, and must give the bits of CPUs."""
    for source in shared.glob("*.spmd"):
        compile_program(binaries, source, "cuda:sm_90")
    os.environ |= {"LD_LIBRARY_PATH": str(binaries.parent / "tests/libcuda"), "SPMD_TEST_GPUS": "90,90,90,90",
                   "SPMD_PLATFORM": "cuda"}


def inputs(program, steps):
    words = ["--input", "x=iota", "--input", "n=zeros", "--carry", "x,n", "--steps", str(steps)]
    return words + (["--input", "w=iota"] if program in ("saved", "large") else [])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def variable(pid, name):
    try:
        for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(name + b"="):
                return entry.split(b"=", 1)[1].decode()
    except OSError:
        pass
    return None


def has_joined(pid):
    """Whether the process has allocated its devices' memory."""
    try:
        return "memfd:spmd" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


class Job:
    """A job of `processes` processes of one machine: started by a launcher, or each by itself, as in a cluster."""

    def __init__(self, box, program="sum", processes=4, launcher=True, steps=FOREVER, options=(), own_options=None,
                 tool="spmd-run"):
        self.box, self.program, self.count, self.has_launcher = box, program, processes, launcher
        self.popens, self.started, self.ids = [], time.monotonic(), {}
        self.ended = {}
        artifact = box.shared / f"{program}.spmdx"
        base = [box.tool(tool), str(artifact), *inputs(program, steps), "--output", f"x={box.folder}/x.npy",
                "--num-processes", str(processes), *options]
        if launcher:
            self._start([*base, "--verbose"], "job")
            return
        self.port = free_port()
        token = box.folder / "token"
        token.write_text("only for this job")
        token.chmod(0o600)
        for process in range(processes):
            own = (own_options or {}).get(process, [])
            self._start([*base, "--coordinator-address", f"127.0.0.1:{self.port}", "--process-id", str(process),
                         "--token-file", str(token), *own], str(process), process)

    def _start(self, command, name, process=None):
        with open(self.box.folder / f"{name}.err", "wb") as err:
            popen = subprocess.Popen(command, stdout=err, stderr=err, stdin=subprocess.DEVNULL)
        self.popens.append(popen)
        if process is not None:
            self.ids[popen.pid] = process

    @property
    def launcher(self):
        return self.popens[0].pid if self.has_launcher else None

    def output(self):
        return "".join(path.read_text(errors="replace") for path in sorted(self.box.folder.glob("*.err")))

    def members(self):
        """The living processes of the job: {pid: process id}."""
        living = self.box.processes()
        if self.has_launcher:
            for pid in living:
                if pid not in self.ids and (found := variable(pid, b"SPMD_PROCESS_ID")) is not None:
                    self.ids[pid] = int(found)
        return {pid: process for pid, process in self.ids.items() if pid in living}

    def at(self, moment):
        """Waits until so many seconds have passed since the start."""
        time.sleep(max(0.0, self.started + moment - time.monotonic()))

    def wait_members(self, number=1):
        deadline = time.monotonic() + 20
        while len(members := self.members()) < number:
            expect(time.monotonic() < deadline, "the job does not start", self.output())
            time.sleep(0.001)
        return members

    def wait_joined(self):
        deadline = time.monotonic() + 30
        while not all(has_joined(pid) for pid in self.wait_members(self.count)):
            expect(time.monotonic() < deadline, "the processes do not join", self.output())
            time.sleep(0.002)

    def watch(self, limit, spared=()):
        """Waits until all processes but those in `spared` have ended; returns the time of each end."""
        deadline = time.monotonic() + limit
        known = set(self.box.processes())
        while True:
            self.members()
            living = self.box.processes()
            now = time.monotonic()
            known |= set(living)
            for pid in known:
                if pid not in living:
                    self.ended.setdefault(pid, now)
            if not set(living) - set(spared):
                break
            expect(now < deadline, f"not all have ended after {limit} s:",
                   {pid: self.ids.get(pid, "launcher or guard") for pid in living}, self.output())
            time.sleep(0.002)
        return max((at for pid, at in self.ended.items() if pid not in spared), default=deadline - limit)

    def has_ended(self):
        return all(popen.poll() is not None for popen in self.popens)

    def statuses(self):
        return [popen.wait() for popen in self.popens]

    def errors(self):
        """The errors that processes printed: {process id: error}."""
        found = {}
        for line in self.output().splitlines():
            if match := re.match(r"[\w-]+: process (\d+): error: (.*)", line):
                found.setdefault(int(match[1]), match[2])
        return found

    def check_named(self, survivors, *parts):
        """Checks that all survivors print the same cause, and that it contains the given texts."""
        errors = self.errors()
        for process in survivors:
            expect(process in errors, f"process {process} does not say why it ends", self.output())
        texts = {errors[process] for process in survivors}
        expect(len(texts) <= 1, "two verdicts", self.output())
        for text in texts:
            for part in parts:
                expect(part in text, f"not named: {part}", self.output())

    def check_result(self):
        """Checks that the job ended as without faults."""
        statuses = self.statuses()
        expect(all(status == 0 for status in statuses), f"exit {statuses}", self.output())
        expect((self.box.folder / "x.npy").read_bytes() == (self.box.shared / f"{self.program}.npy").read_bytes(),
               "other bits than the undisturbed run's", self.output())


def send(pid, number):
    os.kill(pid, number)
    return time.monotonic()


def send_if_there(pid, number):
    """Returns whether the process existed; it may have ended before."""
    try:
        send(pid, number)
    except ProcessLookupError:
        return False
    return True


def named(process, pid):
    return f"process {process} ({socket.gethostname()}, pid {pid})"

