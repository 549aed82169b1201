"""Watches a job while it runs, pesters its ports, and asks it to end.

    observe.py STEPS WIRE_BYTES_PER_STEP FILE COMMAND...

COMMAND gets `--steps STEPS --verbose --metrics-port 0`: more steps than it will ever do, on two processes of two devices.
Prints what was seen; the step that was saved at the end goes to FILE.
"""

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def metrics(url):
    text = urllib.request.urlopen(url, timeout=10).read().decode()
    values, described = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            described.add(line.split()[2])
        elif not line.startswith("#"):
            match = re.fullmatch(r'(\w+)(?:\{process="(\d+)",host="[^"]+"\})? (\S+)', line)
            assert match and match[1] in described, line
            values[match[1], match[2]] = float(match[3])
    return values


def status(address, *options, token=None):
    environment = dict(os.environ)
    if token:
        environment["SPMD_TOKEN"] = token
    return subprocess.run(["spmdc", "status", address, *options], capture_output=True, text=True, timeout=30,
                          env=environment)


def pester(address, metrics_address):
    """Garbage, silence, half a request, too long a request."""
    keep = []
    for host in (address, metrics_address):
        place = (host.rsplit(":", 1)[0], int(host.rsplit(":", 1)[1]))
        for data in (b"", b"\0" * 100_000, b"GET /metrics HTTP/1.1\r\n", b"SPMD\x01\0\x01\0" + b"x" * 56, b"GET " + b"a" * 20_000):
            s = socket.create_connection(place, timeout=5)
            try:
                s.sendall(data)
            except OSError:
                pass
            keep.append(s)
    return keep


def is_in_a_step(process):
    """Between two steps it may wait for the others, who are told to go on."""
    at_line = re.fullmatch(r"\S*step\.spmd:[34]:\d+", process["location"] or "")
    return process["steps_done"] and process["steps_per_second"] > 0 and at_line


def main():
    steps, wire, file, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    job = subprocess.Popen([*command, "--steps", str(steps), "--verbose", "--metrics-port", "0"], stderr=subprocess.PIPE, text=True)
    atexit.register(lambda: job.poll() is None and job.terminate())
    address = url = None
    while not (address and url):
        line = job.stderr.readline()
        assert line, "it ended early"
        address = address or (m := re.search(r"coordinator is at (\S+)", line)) and m[1]
        url = url or (m := re.search(r"metrics at (\S+)", line)) and m[1]
    sockets = pester(address, url.split("/")[2])
    # Heartbeats tell of the first steps.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        seen = json.loads(status(address, "--json").stdout)
        text = status(address).stdout
        if len(seen["processes"]) == 2 and all(map(is_in_a_step, seen["processes"])) and text.count(" running ") == 2 and \
                len(re.findall(r"step\.spmd:[34]:", text)) == 2:
            break
    for process in seen["processes"]:
        assert process["steps"] == steps and 0 < process["steps_done"] < steps, process
        assert process["memory_bytes"] > 1 << 20 and process["heartbeat_age_seconds"] < 10
        assert is_in_a_step(process), process
        # A sample at one moment: at most the current step is missing.
        assert 0 <= process["wire_bytes"] - wire * process["launches"] <= wire, (process, wire)
    print("status", seen["stage"], len(seen["processes"]))
    print(text)
    values = metrics(url)
    later = metrics(url)
    for who in ("0", "1"):
        assert 0 < values["spmd_steps_total", who] <= later["spmd_steps_total", who] <= steps
        assert values["spmd_launch_seconds_total", who] > 0 and values["spmd_steps_per_second", who] > 0
        assert 0 <= values["spmd_wire_bytes_total", who] - wire * values["spmd_launches_total", who] <= wire
        assert values["spmd_resident_memory_bytes", who] > 1 << 20
        assert 0 <= values["spmd_heartbeat_age_seconds", who] < 10
    assert values["spmd_processes", None] == values["spmd_processes_joined", None] == 2
    print("metrics", len(values))
    for path, method in (("/", "GET"), ("/metrics", "POST")):
        try:
            urllib.request.urlopen(urllib.request.Request(url.replace("/metrics", path), method=method), timeout=10)
        except urllib.error.HTTPError as error:
            print(method, path, error.code)
    print("wrong token:", status(address, token="wrong").stderr, end="")
    print("wrong job:", status(address, "--job-id", "other").stderr, end="")
    print("not a coordinator:", status(url.split("/")[2]).stderr, end="")
    assert job.poll() is None
    job.send_signal(signal.SIGTERM)
    rest = job.communicate(timeout=120)[1]
    saved = re.search(rf"was asked to end \(SIGTERM\): step (\d+) of {steps} is saved", rest)
    assert saved, rest
    with open(file, "w") as out:
        out.write(saved[1])
    print("exit", job.returncode)
    del sockets


main()
