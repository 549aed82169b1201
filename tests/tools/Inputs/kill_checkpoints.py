"""Kills a job that saves checkpoints all the time, or asks it to end, at random moments, and lets the next one go on,
again and again.

    kill_checkpoints.py ARTIFACT FOLDER ROUNDS SEED

A checkpoint whose saving was announced must be there afterwards, on any number of processes; at the end the state must
be what the steps make of it, number by number (arithmetic modulo 2^32 has no rounding).
"""

import array
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

artifact, folder, rounds, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
choose = random.Random(seed)
print("seed", seed)
checkpoints = folder / "checkpoints"
saved = 0


def command(processes, steps, *more):
    return ["spmd-run", artifact, "--num-processes", str(processes), "--input", "x=iota", "--input", "n=zeros",
            "--input", "w=iota", "--carry", "x,n", "--steps", str(steps), "--checkpoint-dir", str(checkpoints),
            "--checkpoint-keep", "3", "--resume", *more]


def is_alive(pid):
    """Whether the process is running; a zombie is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_gone(pids):
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "processes are left over"
        time.sleep(0.01)


for number in range(rounds):
    processes = choose.choice([1, 2, 4])
    job = subprocess.Popen(command(processes, 10**9, "--checkpoint-every", "1", "--verbose"), stderr=subprocess.PIPE,
                           stdout=subprocess.DEVNULL, text=True, start_new_session=True)
    pids, newest, enough = [job.pid], saved, saved + choose.randint(1, 12)
    text = ""
    for line in job.stderr:
        text += line
        if match := re.search(r"has pid (\d+)", line):
            pids.append(int(match[1]))
        if match := re.search(r"checkpoint: resumed from step (\d+)", line):
            assert int(match[1]) >= saved, f"step {saved} was saved, and the job went on from {match[1]}"
        if match := re.search(r"checkpoint: step (\d+) saved", line):
            newest = int(match[1])
            if newest >= enough:
                break
    else:
        sys.exit(f"round {number}: the job ended by itself:\n{text}")
    time.sleep(choose.random() * 0.02)
    how = choose.choice(["kill one", "kill all", "end one", "end the job"])
    if how == "kill all" or (how == "kill one" and processes == 1):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    else:
        one = pids[0] if processes == 1 or how == "end the job" else choose.choice(pids[1:])
        os.kill(one, signal.SIGKILL if how == "kill one" else signal.SIGTERM)
    rest = job.stderr.read()
    for match in re.findall(r"checkpoint: step (\d+) saved", rest):
        newest = int(match)
    status = job.wait()
    if how.startswith("end"):
        told = re.search(r"was asked to end \(SIGTERM\): step (\d+) of 1000000000 is saved", rest)
        assert status == 128 + signal.SIGTERM and told and int(told[1]) == newest, (status, newest, rest)
    wait_gone(pids)
    saved = newest

last = saved + 3
for processes in (4, 1):
    subprocess.run(command(processes, last, "--output", f"x={folder}/x.npy", "--output", f"n={folder}/n.npy"),
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    values = array.array("I", (folder / "x.npy").read_bytes()[-40:])
    expected = list(range(10))
    for _ in range(last):
        expected = [(3 * x + i) % 2**32 for i, x in enumerate(expected)]
    assert list(values) == expected, (list(values), expected)
    assert array.array("i", (folder / "n.npy").read_bytes()[-4:])[0] == last
left = sorted(path.name for path in checkpoints.iterdir())
assert len([name for name in left if name.startswith("step-")]) <= 3, left
assert not [name for name in left if name.startswith((".step", "superseded"))], left
print("went through", rounds, "ends; the last step is", last)
