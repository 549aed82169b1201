"""Network cables that are pulled out: hosts are network namespaces, connected by a bridge."""

import pathlib
import subprocess
import sys
import time

from jobs import NETWORK_STEPS, FOREVER, Job, inputs, named
from sandbox import expect, sh

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "Inputs"))
from hosts import make_hosts  # noqa: E402

HEARTBEAT = 3


class HostsJob(Job):
    """Four processes on two or four hosts; process 0 is on the first."""

    def __init__(self, box, count, steps, *options):
        self.box, self.program, self.count, self.has_launcher = box, "sum", 4, False
        self.popens, self.started, self.ids, self.ended = [], time.monotonic(), {}, {}
        self.hosts = make_hosts(count)
        self.host_of = [process * count // 4 for process in range(4)]
        token = box.folder / "token"
        token.write_text("only for this job")
        token.chmod(0o600)
        for process in range(4):
            with open(box.folder / f"{process}.err", "wb") as err:
                popen = subprocess.Popen(
                    ["nsenter", "--target", str(self.hosts[self.host_of[process]].pid), "--net",
                     box.tool("spmd-run"), str(box.shared / "sum.spmdx"), *inputs("sum", steps),
                     "--output", f"x={box.folder}/x.npy", "--num-processes", "4", "--process-id", str(process),
                     "--coordinator-address", "10.77.0.1:7777", "--token-file", str(token), *options],
                    stdout=err, stderr=err, stdin=subprocess.DEVNULL)
            self.popens.append(popen)
            self.ids[popen.pid] = process

    def close(self):
        for holder in self.hosts:
            holder.kill()
            holder.wait()
        sh("ip link del bridge0")
        for i in range(len(self.hosts)):
            subprocess.run(["ip", "link", "del", f"cable{i}"], stderr=subprocess.DEVNULL)

    def wait_gone(self, limit):
        deadline = time.monotonic() + limit
        while any(popen.poll() is None for popen in self.popens):
            expect(time.monotonic() < deadline, f"not all have ended after {limit} s", self.output())
            time.sleep(0.002)
            for popen in self.popens:
                if popen.poll() is not None:
                    self.ended.setdefault(popen.pid, time.monotonic())
        return time.monotonic()


def short_outage(box, choose):
    count = choose.choice([2, 4])
    job = HostsJob(box, count, NETWORK_STEPS)
    try:
        job.wait_joined()
        time.sleep(choose.uniform(0, 0.2))
        cable = f"cable{choose.randrange(1, count)}"
        sh(f"ip link set {cable} down")
        time.sleep(choose.uniform(0.1, 4.5))
        sh(f"ip link set {cable} up")
        job.wait_gone(60)
        statuses = job.statuses()
        expect(all(status == 0 for status in statuses), statuses, job.output())
        expect((box.folder / "x.npy").read_bytes() == (box.shared / "cut.npy").read_bytes(), "other bits")
    finally:
        job.close()
    return None


def long_outage(box, choose):
    """Each side names a lost process of the other side."""
    job = HostsJob(box, 2, FOREVER, "--heartbeat-timeout", str(HEARTBEAT))
    try:
        job.wait_joined()
        time.sleep(choose.uniform(0, 0.5))
        cut = time.monotonic()
        sh("ip link set cable1 down")
        last = job.wait_gone(HEARTBEAT + 5)
        expect(all(status == 1 for status in job.statuses()), job.output())
        errors = job.errors()
        pids = {process: pid for pid, process in job.ids.items()}
        for process in range(4):
            lost = (2, 3) if process < 2 else (0,)
            expect(any(named(other, pids[other]) + " hangs: no heartbeat" in errors.get(process, "")
                       for other in lost), process, job.output())
        expect(errors[0] == errors[1] and errors[2] == errors[3], "two verdicts on one side", job.output())
    finally:
        job.close()
    return last - cut

