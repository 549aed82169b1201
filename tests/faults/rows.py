"""Every promise that is broken on purpose here: how often, how many tries at a time, and what must not take longer."""

import signal
from dataclasses import dataclass
from typing import Callable, Optional

import deaths
import divergence


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
                         deaths.end_launcher(signal.SIGKILL), 2, 40, 2.0),
    "interrupt": Row("Ctrl-C: the processes are gone", deaths.end_launcher(signal.SIGINT), 2, 40, 2.0),
    "stop": Row("processes are stopped for less than the limit: the same bits", deaths.stop_shortly, 4, 150, None, 4),
    "stop-long": Row("a process is stopped for longer than the limit (3 s): named", deaths.stop_for_long, 2, 50,
                     deaths.HEARTBEAT + 1.0, 6),
    "stop-default": Row("the same with the default limit (10 s)", deaths.stop_with_defaults, 0, 6, 11.0, 6),
    "divergence": Row("another program, mesh, constant, flag, number of processes; another order or shape, a call skipped, "
                      "a loop left early, a call too many: named, and no result is seen",
                      divergence.divergence, 1, 100, 1.0, 1),
}
