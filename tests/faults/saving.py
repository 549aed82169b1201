"""Checkpoints, and the faults that affect them."""

import pathlib
import re
import subprocess
import sys

from jobs import inputs
from sandbox import expect, sh

KILLER = pathlib.Path(__file__).resolve().parent.parent / "tools" / "Inputs" / "kill_checkpoints.py"
KILLS = 10  # Kills of one try: each job continues from the previous one's checkpoints.


def kills(box, choose):
    ran = subprocess.run([sys.executable, str(KILLER), str(box.shared / "saved.spmdx"), str(box.folder), str(KILLS),
                          str(choose.randrange(2**32))], capture_output=True, text=True, timeout=300)
    expect(ran.returncode == 0, ran.stdout, ran.stderr)
    return None, KILLS


def run(box, checkpoints, program, steps, *options, processes=4):
    ran = subprocess.run([box.tool("spmd-run"), str(box.shared / f"{program}.spmdx"), *inputs(program, steps),
                          "--num-processes", str(processes), "--checkpoint-dir", str(checkpoints), *options],
                         capture_output=True, text=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def same_as_undisturbed(box, checkpoints, program, steps, processes):
    """Checks that a job that resumes from the folder gives the same result as one from the beginning."""
    status, text = run(box, checkpoints, program, steps, "--resume", "--output", f"x={box.folder}/resumed.npy",
                       processes=processes)
    expect(status == 0, text)
    status, whole = run(box, box.folder / "other", program, steps, "--output", f"x={box.folder}/whole.npy")
    expect(status == 0, whole)
    expect((box.folder / "resumed.npy").read_bytes() == (box.folder / "whole.npy").read_bytes(),
           "other bits than the undisturbed run's", text)
    return text


def full_disk(box, choose):
    disk = box.folder / "disk"
    disk.mkdir()
    sh(f"mount -t tmpfs -o size={choose.randint(700, 1500)}k none {disk}")
    try:
        status, text = run(box, disk / "c", "large", 500, "--checkpoint-every", "1")
        expect(status == 1, status, text)
        errors = re.findall(r"process (\d): error: (.*)", text)
        expect(len(errors) == 4 and len({error for _, error in errors}) == 1 and
               "No space left on device" in errors[0][1], text)
        saved = [int(step) for step in re.findall(r"checkpoint: step (\d+) saved", text)]
        left = sorted(int(path.name[5:]) for path in (disk / "c").glob("step-*"))
        expect(saved and left == saved, saved, left)
        for path in (disk / "c" / f"step-{saved[0]:010}").iterdir():
            path.unlink()
        (disk / "c" / f"step-{saved[0]:010}").rmdir()
        if len(saved) > 1:
            same_as_undisturbed(box, disk / "c", "large", saved[-1], choose.choice([1, 2, 4]))
    finally:
        sh(f"umount {disk}")


def flipped_byte(box, choose):
    checkpoints = box.folder / "c"
    status, text = run(box, checkpoints, "saved", 6, "--checkpoint-every", "2")
    expect(status == 0, text)
    newest = checkpoints / "step-0000000006"
    victim = choose.choice(sorted(newest.iterdir()))
    data = bytearray(victim.read_bytes())
    at = choose.randrange(len(data))
    data[at] ^= 1 << choose.randrange(8)
    victim.write_bytes(data)
    text = same_as_undisturbed(box, checkpoints, "saved", 9, choose.choice([1, 2, 4]))
    what = f"bit of byte {at} of {victim.name}"
    expect("checkpoint: resumed from step 4" in text, what, text)
    expect("the checkpoint of step 6 cannot be restored: " in text and victim.name in text, what, text)
    return None


def two_jobs(box, choose):
    """The second job on a folder gets an error that names the first."""
    checkpoints = box.folder / "c"
    first = subprocess.Popen([box.tool("spmd-run"), str(box.shared / "saved.spmdx"), *inputs("saved", 10**9),
                              "--num-processes", "2", "--checkpoint-dir", str(checkpoints), "--checkpoint-every", "10",
                              "--checkpoint-keep", "3"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    expect("saved" in first.stderr.readline())
    status, text = run(box, checkpoints, "saved", 5, processes=choose.choice([1, 2]))
    first.terminate()
    rest = first.stderr.read()
    expect(first.wait(timeout=20) == 143, rest)
    expect(status == 1 and "its process 0 has pid" in text, status, text)
    return None

