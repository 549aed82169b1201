"""Detects intervals in which the machine itself stalled. The bystander is a process with a priority above all others. It only
sleeps and ends copies of itself, and measures how late that is.

The time bounds of the suite hold for processes that run, and that end when they are killed. On a machine that does not run for a
while (a virtual one whose host is busy), or on which no process ends, a failed try proves nothing about the runtime; the suite
repeats it and prints that. The second case was seen beside compilers at nice 10: killed processes waited in the kernel for
seconds (/proc/PID/stack: unlink_file_vma) for the lock of a library's mappings, whose holder got no processor. The suite's own
work cannot delay the bystander. If the kernel does not grant that priority, no try is repeated.
"""

import os
import select
import subprocess
import sys
import threading
import time

NAP, LATE = 0.05, 0.25  # Seconds.


class Bystander:
    def __init__(self):
        self.pauses = []  # (begin, end) of the intervals in which it did not run; monotonic.
        self.popen = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.popen.stdout:
            self.pauses.append(tuple(map(float, line.split())))

    def seconds_lost(self, since):
        """Returns how long the machine stalled since then; waits for a stall that has not ended yet."""
        time.sleep(2 * NAP)
        return sum(end - max(begin, since) for begin, end in self.pauses if end > since)

    def close(self):
        self.popen.stdin.close()
        self.popen.wait()


def watch():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        sys.stdin.read()  # Until the suite ends.
        return
    before = time.monotonic()
    while not select.select([sys.stdin], [], [], NAP)[0]:
        copy = os.fork()
        if copy == 0:
            os._exit(0)
        os.waitpid(copy, 0)
        now = time.monotonic()
        if now - before > LATE:
            print(before, now, flush=True)
        before = now


if __name__ == "__main__":
    watch()
