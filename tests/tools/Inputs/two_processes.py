"""Runs a command as the two processes of a job, which differ in some arguments, and prints the last line of each.

    two_processes.py COMMAND... -- ARGUMENTS OF PROCESS 0... -- ARGUMENTS OF PROCESS 1...
"""

import socket
import subprocess
import sys


def split(arguments, mark):
    parts = [[]]
    for argument in arguments:
        if argument == mark:
            parts.append([])
        else:
            parts[-1].append(argument)
    return parts


command, *own = split(sys.argv[1:], "--")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
processes = [subprocess.Popen([*command, *arguments, "--coordinator-address", f"127.0.0.1:{port}", "--num-processes", "2",
                               "--process-id", str(i)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for i, arguments in enumerate(own)]
lines = [process.communicate(timeout=120)[0].splitlines() for process in processes]
for line in lines:
    print(line[-1] if line else "")
print("exit", *[process.returncode for process in processes])
