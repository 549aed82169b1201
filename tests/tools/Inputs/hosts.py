"""Runs a job over several hosts: network namespaces of this machine, joined by a bridge, with several processes each.

    hosts.py [--hosts 3] [--processes 2] [--devices 1,1,1,2,1,2] [--rate 1gbit]
             [--tls [--odd WHAT=PROCESS]] [FAULT] -- COMMAND...

`{process}` in COMMAND becomes the number of the process. FAULT is one of

    --cut SECONDS          once process 0 prints a line with `loss`, the last host's cable is out for so long
    --kill PROCESS         then this process is killed with signal 9
    --sever                then nothing passes between the last two hosts any more, while both reach the others

With --rate no host sends faster than that. With --tls each process has a certificate for its host's address, but for one that is odd: WHAT is `none` (without TLS),
`stranger` (of another authority) or `name` (for another address).

What process 0 prints goes to stdout. For each other process, and for process 0 too after a fault, there is a line with
its exit status, how long after the fault (or, of a longer cut, its beginning) it ended, and its first error.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import certificates


def sh(command):
    subprocess.run(command, shell=True, check=True)


def make_hosts(count, rate=None):
    """One sleeping process per host: its network namespace is the host's."""
    sh("ip link set lo up && ip link add bridge0 type bridge && ip link set bridge0 up")
    here = os.readlink("/proc/self/ns/net")
    hosts = []
    for i in range(count):
        holder = subprocess.Popen(["unshare", "--net", "sleep", "3600"])
        while os.readlink(f"/proc/{holder.pid}/ns/net") == here:
            time.sleep(0.005)
        inside = f"nsenter --target {holder.pid} --net"
        sh(f"ip link add cable{i} type veth peer name eth0 netns {holder.pid}")
        sh(f"ip link set cable{i} master bridge0 && ip link set cable{i} up")
        sh(f"{inside} ip addr add 10.77.0.{i + 1}/24 dev eth0 && {inside} ip link set eth0 up && "
           f"{inside} ip link set lo up")
        if rate:
            sh(f"{inside} tc qdisc add dev eth0 root tbf rate {rate} burst 256k latency 100ms")
        hosts.append(holder)
    return hosts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices")
    parser.add_argument("--rate")
    parser.add_argument("--cut", type=float)
    parser.add_argument("--kill", type=int)
    parser.add_argument("--sever", action="store_true")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--odd", default="none=-1")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    if "SPMD_TEST_HOSTS" not in os.environ:
        os.environ["SPMD_TEST_HOSTS"] = "1"
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv])
    hosts = make_hosts(args.hosts, args.rate)
    count = args.hosts * args.processes
    devices = [int(d) for d in args.devices.split(",")] if args.devices else [1] * count
    folder = tempfile.mkdtemp()
    token = os.path.join(folder, "token")
    with open(token, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("a token that only this test knows\n")
    odd, odd_process = args.odd.split("=")
    if args.tls:
        authority = certificates.Authority(folder)
        identities = [authority.make(f"host{i}", f"IP:10.77.0.{i + 1}") for i in range(args.hosts)]
        odd_identity = {}
        if odd == "stranger":
            odd_identity = certificates.Authority(folder, "strangers").make("stranger", "IP:10.77.0.1")
        elif odd == "name":
            odd_identity = authority.make("name", "IP:10.99.0.1,DNS:elsewhere")
    processes = []
    for i in range(count):
        identity = {}
        if args.tls:
            identity = odd_identity if i == int(odd_process) else identities[i // args.processes]
        command = [part.replace("{process}", str(i)) for part in args.command]
        command += ["--coordinator-address", "10.77.0.1:7777", "--num-processes", str(count), "--process-id", str(i),
                    "--local-device-ids", ",".join(map(str, range(devices[i]))), "--token-file", token]
        processes.append(subprocess.Popen(
            ["nsenter", "--target", str(hosts[i // args.processes].pid), "--net", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **identity}))
    working = threading.Event()
    ended, outputs, errors = {}, [[] for _ in processes], [[] for _ in processes]

    def read(i, stream, lines):
        for line in stream:
            lines.append(line)
            if i == 0 and "loss" in line:
                working.set()

    def wait(i):
        readers = [threading.Thread(target=read, args=(i, processes[i].stdout, outputs[i])),
                   threading.Thread(target=read, args=(i, processes[i].stderr, errors[i]))]
        for reader in readers:
            reader.start()
        processes[i].wait()
        ended[i] = time.monotonic()
        for reader in readers:
            reader.join()
        working.set()  # Nothing more will come.

    waiters = [threading.Thread(target=wait, args=(i,)) for i in range(count)]
    for waiter in waiters:
        waiter.start()
    fault = None
    if args.cut is not None or args.kill is not None or args.sever:
        working.wait()
        fault = time.monotonic()
    if args.cut is not None:
        cable = f"cable{args.hosts - 1}"
        sh(f"ip link set {cable} down")
        while time.monotonic() < fault + args.cut and len(ended) < count:
            time.sleep(0.01)
        sh(f"ip link set {cable} up")
    if args.sever:
        for i, other in [(args.hosts - 2, args.hosts), (args.hosts - 1, args.hosts - 1)]:  # Frames have no receiver.
            sh(f"nsenter --target {hosts[i].pid} --net ip neigh replace 10.77.0.{other} lladdr 02:00:00:00:00:01 dev eth0 "
               "nud permanent")
    if args.kill is not None:
        processes[args.kill].send_signal(signal.SIGKILL)
    for waiter in waiters:
        waiter.join()
    for holder in hosts:
        holder.kill()
    sys.stdout.write("".join(outputs[0]))
    for i in range(count):
        error = next((line.strip() for line in errors[i] if "error: " in line), "")
        if i == 0 and not error and processes[i].returncode == 0:
            continue
        after = f" after {ended[i] - fault:.1f} s" if fault and processes[i].returncode else ""
        print(f"process {i} exit {processes[i].returncode}{after} {error}")


if __name__ == "__main__":
    main()
