"""Runs a command as the two tasks of a Slurm step on this machine: with the variables that srun sets, and a job number
whose port is free. Lines of task 0 are printed with `0: ` in front, then both exit statuses.

    slurm_step.py -- COMMAND...
"""

import os
import socket
import subprocess
import sys


def free_job():
    for job in range(os.getpid(), os.getpid() + 4096):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", 61440 + job % 4096))
                return job
            except OSError:
                pass
    raise SystemExit("no port is free")


command = sys.argv[sys.argv.index("--") + 1:]
step = {"SLURM_JOB_ID": str(free_job()), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2",
        "SPMD_DEVICES_PER_PROCESS": "4"}
tasks = [subprocess.Popen(command, env={**os.environ, **step, "SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)},
                          stdout=subprocess.PIPE, text=True) for i in range(2)]
outputs = [task.communicate(timeout=60)[0] for task in tasks]
for line in outputs[0].splitlines():
    print("0: " + line)
print("exit", *[task.returncode for task in tasks])
