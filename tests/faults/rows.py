"""The faults of the suite and the promises that they test: number of tries, concurrent tries, and time bounds."""

import signal
from dataclasses import dataclass
from typing import Callable, Optional

import crowds
import deaths
import divergence
import joining
import networks
import saving
import strangers


@dataclass
class Row:
    promise: str
    run: Callable  # (box, choose) -> seconds measured, or None; or (seconds, how many tries these were)
    short: int
    long: int
    bound: Optional[float] = None
    parallel: int = 2  # More where tries mostly wait.


ROWS = {
    "kill": Row("a process is killed (-9) at any moment: all others end and name it, its pid and signal",
                deaths.kill, 8, 200, 1.0),
    "kill-all": Row("all processes are killed (-9): nothing is left", deaths.kill_all, 2, 40, 1.0),
    "kill-launcher": Row("the launcher is killed (-9): the processes are gone",
                         deaths.end_launcher(signal.SIGKILL), 1, 40, 2.0),
    "interrupt": Row("Ctrl-C: the processes are gone", deaths.end_launcher(signal.SIGINT), 2, 40, 2.0),
    "stop": Row("processes are stopped for less than the limit: the same bits", deaths.stop_shortly, 4, 200, None, 6),
    "stop-long": Row("a process is stopped for longer than the limit (3 s): named", deaths.stop_for_long, 1, 50,
                     deaths.HEARTBEAT + 1.0, 6),
    "stop-default": Row("the same with the default limit (10 s)", deaths.stop_with_defaults, 0, 6, 11.0, 6),
    "divergence": Row("another program, mesh, constant, flag, number of processes; another order or shape, a call skipped, "
                      "a loop left early, a call too many: named, and no result is seen",
                      divergence.divergence, 1, 100, 1.0, 1),
    "never-comes": Row("a process never comes: exactly the missing ones are listed when the time is over",
                       joining.never_comes, 1, 30, 1.0, 6),
    "twin": Row("two processes with one id, or one more than there are: the newcomer is refused, the job goes on",
                joining.twin, 1, 30, 1.0),
    "port-taken": Row("the port is taken, by a stranger or another job: named", joining.port_taken, 2, 30, 1.0),
    "wrong-token": Row("another token: refused, the job goes on", joining.wrong_token, 1, 20, 1.0),
    "out-of-range": Row("an id that is out of range: an error before any socket is opened",
                        joining.out_of_range, 1, 20, 1.0),
    "garbage": Row("garbage and half-open connections: closed after 5 s, the job goes on",
                   strangers.garbage, 0, 20, 6.0, 4),
    "flood": Row("10,000 silent connections: less than 256 MB, a late process still gets its answer, the job goes on",
                 strangers.flood, 0, 3, None, 1),
    "replay": Row("a recorded handshake said again: closed, the job ends with the same bits",
                  strangers.replay, 1, 20),
    "cut": Row("a cable between hosts is out for up to 4.5 s: the same bits", networks.short_outage, 0, 30, None, 6),
    "partition": Row("a cable is out for longer than the limit (3 s): each side names one of the other",
                     networks.long_outage, 0, 20, networks.HEARTBEAT + 1.0, 6),
    "checkpoint": Row("a job that saves every step is killed, or asked to end: what was saved is there, the same bits",
                      saving.kills, 0, 20),
    "full-disk": Row("the disk is full: all say so, earlier checkpoints restore", saving.full_disk, 1, 20),
    "flipped-byte": Row("a bit of the newest checkpoint is flipped: named, the one before restores, the same bits",
                        saving.flipped_byte, 1, 100),
    "two-jobs": Row("two jobs on one folder of checkpoints: the second is told", saving.two_jobs, 1, 10),
    "crowd-join": Row("1,000 processes of one machine join one coordinator", crowds.crowd("joined"), 0, 10, 2.0, 1),
    "crowd-kill": Row("one of 1,000 processes is killed: all others name it", crowds.crowd("knew"), 0, 10, 1.0, 1),
}
