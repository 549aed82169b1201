"""Runs a command, sends a signal when a line of its stderr matches, and says how it ended.

    break_run.py SIGNAL WHO REGEX [SECONDS] -- COMMAND...

Of lines that match, those in the first SECONDS after the first one do not count: heartbeats, which tell where a process
is, come each half second. WHO is the number of a process, whose pid `--verbose` has told, or `launcher` for the command
itself. The command's output goes to stdout; the last line is `exit STATUS`.
"""

import os
import re
import signal
import subprocess
import sys
import time


def main():
    name, who, pattern = sys.argv[1:4]
    seconds = float(sys.argv[4]) if sys.argv[4] != "--" else 0
    first = None
    number = getattr(signal, "SIG" + name)
    command = sys.argv[sys.argv.index("--") + 1:]
    # Shells start what runs beside them with Ctrl-C ignored, and that is inherited.
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    pids, sent = {"launcher": child.pid}, False
    for line in child.stderr:
        print(line, end="")
        if match := re.search(r"process (\d+) has pid (\d+)", line):
            pids[match[1]] = int(match[2])
        if sent or not re.search(pattern, line):
            continue
        first = first or time.monotonic()
        if time.monotonic() >= first + seconds:
            os.kill(pids[who], number)
            sent = True
    print("exit", child.wait(timeout=60))


main()
