"""Processes that are killed, stopped, or interrupted."""

import signal
import time

from jobs import STEPS, Job, has_joined, named, send, send_if_there
from sandbox import expect

HEARTBEAT = 3  # Seconds, where a test waits for it.


def any_job(box, choose, **options):
    return Job(box, program=choose.choice(["sum", "sum", "local"]), processes=choose.choice([2, 4]),
               launcher=choose.random() < 0.6, **options)


def any_moment(choose):
    """Returns a moment while processes start and join, or while they work."""
    return choose.uniform(0, 0.15) if choose.random() < 0.35 else choose.uniform(0.15, 1.0)


def kill(box, choose):
    join_limit = 4
    job = any_job(box, choose, options=["--initialization-timeout", str(join_limit)])
    job.at(any_moment(choose))
    victim, process = choose.choice(sorted(job.wait_members().items()))
    had_joined = has_joined(victim)
    killed = send(victim, signal.SIGKILL)
    survivors = [other for pid, other in job.members().items() if pid != victim]
    last = job.watch(join_limit + 5)
    statuses = job.statuses()
    expect(all(status != 0 for status in statuses), f"exit {statuses}", job.output())
    errors = job.errors()
    if not job.has_launcher and not had_joined and not any("was lost" in text for text in errors.values()):
        # It never sent its id to a process, so the others cannot name it before the time to join is over.
        told = "no coordinator was found" if process == 0 else f"process {process} of {job.count} did not join"
        job.check_named(survivors, told)
        expect(last - job.started < join_limit + 1, f"ended after {last - job.started:.2f} s", job.output())
        return None
    # A process that had not reached process 0 when that died only knows that there is no coordinator.
    strangers = [other for other in survivors if process == 0 and not job.has_launcher and
                 "no coordinator was found" in errors.get(other, "")]
    survivors = [other for other in survivors if other not in strangers]
    if strangers:
        expect(last - job.started < join_limit + 1, f"ended after {last - job.started:.2f} s", job.output())
        last = None
    how = "was killed by signal 9 (SIGKILL)" if job.has_launcher else "was lost without goodbye"
    job.check_named(survivors, named(process, victim), how, "last seen")
    return None if last is None else last - killed


def kill_all(box, choose):
    job = any_job(box, choose)
    job.at(any_moment(choose))
    job.wait_members()
    pids = list(box.processes())
    for pid in pids:
        try:
            killed = send(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    last = job.watch(5)
    job.statuses()
    return last - killed


def end_launcher(number):
    def run(box, choose):
        job = Job(box, processes=choose.choice([2, 4]), program=choose.choice(["sum", "local"]))
        job.at(any_moment(choose))
        job.wait_members()
        told = send(job.launcher, number)
        last = job.watch(6)
        status = job.statuses()[0]
        expect(status == (-9 if number == signal.SIGKILL else 128 + number), f"exit {status}", job.output())
        return last - told
    return run


def stop_shortly(box, choose):
    """A job that ends before the moment of the fault proves nothing, and starts again with an earlier moment."""
    moment = choose.uniform(0, 0.15) if choose.random() < 0.35 else choose.uniform(0.15, 0.8)
    everybody = choose.random() < 0.25
    pause = choose.uniform(0.01, HEARTBEAT * 0.6)
    was_stopped = False
    while not was_stopped:
        job = any_job(box, choose, steps=STEPS, options=["--heartbeat-timeout", str(HEARTBEAT)])
        job.at(moment)
        while not (members := job.members()) and not job.has_ended():
            time.sleep(0.001)
        victims = list(members) if everybody or not members else [choose.choice(sorted(members))]
        was_stopped = all([send_if_there(victim, signal.SIGSTOP) for victim in victims] or [False])
        time.sleep(pause if was_stopped else 0)
        for victim in victims:
            send_if_there(victim, signal.SIGCONT)
        job.watch(40)
        job.check_result()
        moment /= 2


def stop_for_long(box, choose):
    job = any_job(box, choose, options=["--heartbeat-timeout", str(HEARTBEAT)])
    job.wait_joined()
    time.sleep(choose.uniform(0, 0.8))
    members = job.members()
    victim, process = choose.choice(sorted(members.items()))
    stopped = send(victim, signal.SIGSTOP)
    last = job.watch(HEARTBEAT + 5, spared=[victim] if not job.has_launcher else [])
    others = [other for pid, other in members.items() if pid != victim]
    job.check_named(others, named(process, victim), "hangs: no heartbeat for ")
    if not job.has_launcher:  # The stopped process learns of it when it continues.
        woken = send(victim, signal.SIGCONT)
        expect(job.watch(5) - woken < 3, "it goes on for long", job.output())
    expect(all(status != 0 for status in job.statuses()), job.output())
    # The launcher gives the stopped process a second to end by itself, and one after SIGTERM.
    ends = [at for pid, at in job.ended.items() if pid in members and pid != victim]
    return max(ends) - stopped


def stop_with_defaults(box, choose):
    job = any_job(box, choose)
    job.wait_joined()
    time.sleep(choose.uniform(0, 0.8))
    members = job.members()
    victim, process = choose.choice(sorted(members.items()))
    stopped = send(victim, signal.SIGSTOP)
    job.watch(16, spared=[victim] if not job.has_launcher else [])
    job.check_named([other for pid, other in members.items() if pid != victim], named(process, victim), "hangs")
    if not job.has_launcher:
        send(victim, signal.SIGCONT)
        job.watch(5)
    expect(all(status != 0 for status in job.statuses()), job.output())
    return max(at for pid, at in job.ended.items() if pid in members and pid != victim) - stopped

