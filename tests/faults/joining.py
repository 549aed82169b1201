"""Processes that come too late, twice, never, or to the wrong place."""

import re
import socket
import subprocess
import time

from jobs import STEPS, Job, free_port, inputs, named
from sandbox import expect


def start(box, name, *options, program="sum", steps=STEPS, port, processes, process, token="only for this job"):
    """Starts one process by itself; its stderr goes to a file of that name."""
    (box.folder / f"{name}.token").write_text(token)
    (box.folder / f"{name}.token").chmod(0o600)
    with open(box.folder / f"{name}.err", "wb") as err:
        return subprocess.Popen([box.tool("spmd-run"), str(box.shared / f"{program}.spmdx"), *inputs(program, steps),
                                 "--coordinator-address", f"127.0.0.1:{port}", "--num-processes", str(processes),
                                 "--process-id", str(process), "--token-file", str(box.folder / f"{name}.token"),
                                 *options], stdout=err, stderr=err, stdin=subprocess.DEVNULL)


def said(box, name):
    return (box.folder / f"{name}.err").read_text()


def listed(processes):
    """As messages list them: `process 2`, `processes 0, 2 and 3`."""
    texts = [str(process) for process in processes]
    if len(texts) == 1:
        return f"process {texts[0]}"
    return f"processes {', '.join(texts[:-1])} and {texts[-1]}"


def never_comes(box, choose):
    limit, port, began = 1.5, free_port(), time.monotonic()
    missing = sorted(choose.sample(range(1, 4), choose.randint(1, 2)))
    popens = {process: start(box, str(process), "--initialization-timeout", str(limit), port=port, processes=4,
                             process=process) for process in range(4) if process not in missing}
    for process, popen in popens.items():
        expect(popen.wait(timeout=10) == 1, said(box, process))
    last = time.monotonic()
    for process in popens:
        expect(f"{listed(missing)} of 4 did not join within 1.5 s" in said(box, process), missing, said(box, process))
    return last - began - limit


def twin(box, choose):
    """A second process with an id of a running job, or one after the start: refused, the job goes on."""
    job = Job(box, processes=2, launcher=False, steps=STEPS)
    job.wait_joined()
    process = choose.randint(0, 1)
    holder = next(pid for pid, its in job.ids.items() if its == process)
    began = time.monotonic()
    if choose.random() < 0.3:
        process, told = 2, "has already started with 2 processes"
    else:
        told = named(process, holder) + " is already in the job"
    late = start(box, "late", port=job.port, processes=4 if process == 2 else 2, process=process)
    status = late.wait(timeout=10)
    seconds = time.monotonic() - began
    expect(status == 1 and told in said(box, "late"), status, said(box, "late"))
    (box.folder / "late.err").unlink()
    job.watch(30)
    job.check_result()
    return seconds


def port_taken(box, choose):
    """By a stranger, or by another job."""
    port = free_port()
    if choose.random() < 0.5:
        with socket.socket() as stranger:
            stranger.bind(("127.0.0.1", port))
            stranger.listen()
            began = time.monotonic()
            status = start(box, "0", port=port, processes=2, process=0).wait(timeout=10)
            seconds = time.monotonic() - began
        expect(status == 1 and "the port is taken by another program" in said(box, "0"), status, said(box, "0"))
        return seconds
    first = start(box, "first", "--job-id", "first", port=port, processes=2, process=0)
    while not (box.folder / "first.err").exists() or first.poll() is None and not listens(port):
        time.sleep(0.005)
    began = time.monotonic()
    status = start(box, "second", "--job-id", "second", port=port, processes=2, process=0).wait(timeout=10)
    seconds = time.monotonic() - began
    expect(status == 1 and "the port is taken: another job is served at this address: the job `first`" in
           said(box, "second"), status, said(box, "second"))
    last = start(box, "last", "--job-id", "first", port=port, processes=2, process=1)
    expect(first.wait(timeout=30) == 0 and last.wait(timeout=30) == 0, said(box, "first"), said(box, "last"))
    return seconds


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wrong_token(box, choose):
    job = Job(box, processes=2, launcher=False, steps=STEPS)
    job.wait_joined()
    began = time.monotonic()
    status = start(box, "thief", port=job.port, processes=2, process=1, token="a guess").wait(timeout=10)
    seconds = time.monotonic() - began
    expect(status == 1 and "token" in said(box, "thief"), said(box, "thief"))
    (box.folder / "thief.err").unlink()
    job.watch(30)
    job.check_result()
    return seconds


def out_of_range(box, choose):
    process, processes = choose.choice([(2, 2), (7, 4), (100, 1), (4, 4)])
    began = time.monotonic()
    status = start(box, "0", port=free_port(), processes=processes, process=process).wait(timeout=10)
    seconds = time.monotonic() - began
    expect(status == 2 and re.search("process.id", said(box, "0")) and str(process) in said(box, "0"),
           status, said(box, "0"))
    return seconds

