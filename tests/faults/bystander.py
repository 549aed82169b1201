"""Whether the machine itself stood still: a process that only sleeps, with a priority above all others, and wakes late.

Bounds of a second are kept by processes that run. Where a machine of others' does not run at all for a while (a virtual one
whose host is busy), a try says nothing about the runtime and is made again, which is printed. Work of the suite itself cannot
keep the bystander from waking; where the kernel grants no such priority nothing is made again.
"""

import os
import subprocess
import sys
import threading
import time

NAP, LATE = 0.02, 0.25  # Seconds.


class Bystander:
    def __init__(self):
        self.pauses = []  # From when to when it did not wake; monotonic.
        self.popen = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.popen.stdout:
            self.pauses.append(tuple(map(float, line.split())))

    def seconds_lost(self, since):
        """For how long the machine stood still since then; an end of it that is not told yet is waited for."""
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
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    before = time.monotonic()
    while True:
        time.sleep(NAP)
        now = time.monotonic()
        if now - before > LATE:
            print(before, now, flush=True)
        before = now


if __name__ == "__main__":
    watch()
