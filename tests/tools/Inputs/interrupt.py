"""Starts a command that never ends, lets it run longer than its heartbeats may take, and interrupts it.

It must still be running then, and end within a second of SIGINT (as Ctrl-C sends it) with a status that is not 0.
"""
import os
import signal
import subprocess
import sys
import time


def from_a_terminal():
    # A test may run in the background, where SIGINT is ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


process = subprocess.Popen(sys.argv[1:], start_new_session=True, preexec_fn=from_a_terminal)
try:
    process.wait(timeout=6)
    sys.exit("the program ended by itself with status %d" % process.returncode)
except subprocess.TimeoutExpired:
    pass
os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to the whole group.
began = time.monotonic()
try:
    status = process.wait(timeout=10)
except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    sys.exit("still running 10 s after SIGINT")
elapsed = time.monotonic() - began
if status == 0 or elapsed > 1:
    sys.exit("ended with status %d after %.2f s" % (status, elapsed))
