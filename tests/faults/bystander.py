"""Whether the machine itself stood still: a process with a priority above all others, which only sleeps and has copies of itself
end, and is late.

Bounds of a second are kept by processes that run, and that end when they are killed. Where a machine of others' does not run at
all for a while (a virtual one whose host is busy), or nothing ends there, a try says nothing about the runtime and is made again,
which is printed. The second was seen beside compilers at nice 10: processes that had been killed waited in the kernel for
seconds (/proc/PID/stack: unlink_file_vma) for the lock of a library's mappings, whose holder got no processor. Work of the suite
itself cannot hold up the bystander; where the kernel grants no such priority nothing is made again.
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
        self.pauses = []  # From when to when it did not get on; monotonic.
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
