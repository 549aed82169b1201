"""Runs a command as the processes of a cluster on this machine, which differ in some arguments, and prints the last line
that each has said, and how it ended.

    cluster.py [--signal NAME I TEXT] [--folder I FOLDER] [--limit I BYTES] COMMAND... -- ARGUMENTS OF PROCESS 0... -- ...

--signal: process I gets the signal once process 0 has said TEXT on stderr; --folder: process I is started there;
--limit: process I can write no file of more than so many bytes.
"""

import resource
import signal
import socket
import subprocess
import sys
import threading


def split(arguments, mark):
    parts = [[]]
    for argument in arguments:
        if argument == mark:
            parts.append([])
        else:
            parts[-1].append(argument)
    return parts


def limit_files(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def main():
    arguments = sys.argv[1:]
    signals, folders, limits = [], {}, {}
    while arguments[0].startswith("--"):
        if arguments[0] == "--signal":
            signals.append((signal.Signals["SIG" + arguments[1]], int(arguments[2]), arguments[3]))
            arguments = arguments[4:]
        else:
            {"--folder": folders, "--limit": limits}[arguments[0]][int(arguments[1])] = arguments[2]
            arguments = arguments[3:]
    command, *own = split(arguments, "--")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def prepare(i):
        for number in signal.SIGINT, signal.SIGTERM:  # A test may run in the background, where SIGINT is ignored.
            signal.signal(number, signal.SIG_DFL)
        if i in limits:
            limit_files(int(limits[i]))

    processes = [subprocess.Popen([*command, *its, "--coordinator-address", f"127.0.0.1:{port}", "--num-processes",
                                   str(len(own)), "--process-id", str(i)], cwd=folders.get(i), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, preexec_fn=lambda i=i: prepare(i))
                 for i, its in enumerate(own)]
    lines = [[] for _ in own]

    def read(i):
        for line in processes[i].stdout:
            lines[i].append(line.rstrip())
            if i == 0 and signals and signals[0][2] in line:
                number, whom, _ = signals.pop(0)
                processes[whom].send_signal(number)

    threads = [threading.Thread(target=read, args=(i,), daemon=True) for i in range(len(own))]
    for thread in threads:
        thread.start()
    try:
        for process in processes:
            process.wait(timeout=60)
    finally:
        for process in processes:
            process.kill()
    for thread in threads:
        thread.join()
    for said in lines:
        print(said[-1] if said else "")
    print("exit", *[process.returncode for process in processes])


main()
