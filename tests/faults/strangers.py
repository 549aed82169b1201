"""Connections to the coordinator's port from outside the job."""

import os
import re
import resource
import select
import socket
import threading
import time

from jobs import STEPS, Job, free_port
from joining import said, start
from sandbox import expect

HANDSHAKE = 5  # Seconds after which an unauthenticated connection is closed.
MEMORY = 256 << 20


def running_job(box, steps=STEPS, **options):
    job = Job(box, processes=2, launcher=False, steps=steps, **options)
    job.wait_joined()
    host = next(pid for pid, process in job.ids.items() if process == 0)
    return job, host


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) << 10


def closed_by_other_side(sockets, limit):
    """Returns the time until all are closed, or None."""
    began = time.monotonic()
    poll = select.poll()
    by_fd = {}
    for one in sockets:
        one.setblocking(False)
        by_fd[one.fileno()] = one
        poll.register(one, select.POLLIN | select.POLLHUP | select.POLLERR)
    while by_fd:
        if time.monotonic() - began > limit:
            return None
        for fd, _ in poll.poll(50):
            try:
                if by_fd[fd].recv(65536):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            poll.unregister(fd)
            del by_fd[fd]
    return time.monotonic() - began


def garbage(box, choose):
    """Random bytes, half an opening, openings of other versions, frames of any length."""
    job, host = running_job(box, steps=30 * STEPS)
    sockets = []
    for _ in range(60):
        one = socket.create_connection(("127.0.0.1", job.port))
        opening = b"SPMD" + choose.randbytes(28)
        data = choose.choice([b"", b"\0" * 100_000, choose.randbytes(choose.randint(1, 5000)), opening[:10], opening,
                              opening + choose.randbytes(32), opening + choose.randbytes(32) + b"\xff" * 64,
                              b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\x7f" * 100])
        try:
            one.sendall(data)
            if choose.random() < 0.2:
                one.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        sockets.append(one)
    seconds = closed_by_other_side(sockets, HANDSHAKE + 5)
    expect(seconds is not None, "strangers are kept", job.output())
    expect(job.members(), "the job ended", job.output())
    expect(resident(host) < MEMORY, f"{resident(host)} bytes")
    end(job)
    return seconds


def flood(box, choose):
    """10,000 silent connections."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    job, host = running_job(box, steps=60 * STEPS)
    before = resident(host)
    sockets = []
    for _ in range(10_000):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", job.port))
        sockets.append(one)
    # A late process with an id that is taken: it gets its answer during the flood.
    status = start(box, "late", port=job.port, processes=2, process=1).wait(timeout=30)
    expect(status == 1 and "is already in the job" in said(box, "late"), said(box, "late"))
    seconds = closed_by_other_side(sockets, 60)
    expect(seconds is not None, "strangers are kept", job.output())
    expect(job.members(), "the job ended", job.output())
    expect(resident(host) < before + MEMORY, f"{resident(host) - before} bytes more")
    end(job)
    return None


def end(job):
    """Checks that the job, whose work is endless, has made progress."""
    for pid in job.members():
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    job.watch(10)
    job.statuses()


class Recorder:
    """A proxy to the port `target` that records the bytes of each accepted connection in `sent`."""

    def __init__(self, target):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target, self.sent = self.listener.getsockname()[1], target, []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:  # The listener is closed.
                return
            try:
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                here.close()
                continue
            record = bytearray()
            self.sent.append(record)
            threading.Thread(target=self.copy, args=(here, there, record), daemon=True).start()
            threading.Thread(target=self.copy, args=(there, here, bytearray()), daemon=True).start()

    @staticmethod
    def copy(source, target, record):
        try:
            while data := source.recv(65536):
                record += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def replay(box, choose):
    """Replays the recorded bytes of a process of the job."""
    port = free_port()
    recorder = Recorder(port)
    first = start(box, "0", port=port, processes=2, process=0, steps=STEPS)
    second = start(box, "1", port=recorder.port, processes=2, process=1, steps=STEPS)
    deadline = time.monotonic() + 20
    while not any(len(record) > 200 for record in recorder.sent) and time.monotonic() < deadline:
        time.sleep(0.005)
    recorded = bytes(max(recorder.sent, key=len))
    expect(len(recorded) > 200, "nothing was recorded")
    sockets = []
    for _ in range(20):
        try:
            one = socket.create_connection(("127.0.0.1", port))
        except OSError:
            break
        try:
            one.sendall(recorded[:choose.choice([len(recorded), 32, 64, 96, choose.randint(1, len(recorded))])])
        except OSError:
            pass
        sockets.append(one)
    expect(sockets, "the job was over too soon")
    expect(first.wait(timeout=30) == 0 and second.wait(timeout=30) == 0, said(box, "0"), said(box, "1"))
    expect(closed_by_other_side(sockets, 10) is not None, "a replay is kept")
    recorder.listener.close()
    return None
