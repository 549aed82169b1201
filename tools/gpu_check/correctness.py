"""Runs the programs, several at a time, and compares their results with the expected ones."""

import concurrent.futures
import json
import re
import subprocess
import time

from . import arrays

# The time limit of one program in seconds: with several processes at a time, one starts in one or two seconds. After a few
# hangs, which are rarely isolated, the limit is lower, so that hangs do not use up all the time.
TIMEOUT = 30
HANGS = 8
TIMEOUT_AFTER_HANGS = 10


def message_of(done):
    """One line about a run that failed."""
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line]
    line = (errors or lines or [f"exit status {done.returncode} without a message"])[-1]
    return line.split("error: ", 1)[-1].strip()


def kind_of(message):
    """The message without places, numbers and names: messages with equal results are of one kind."""
    message = re.sub(r"\S+\.spmd:\d+:\d+:? ?", "", message)
    message = re.sub(r"'[^']*'", "'...'", message)
    return re.sub(r"\d[\d.e+-]*", "#", message)


def compare(entry, folder):
    for index, result in enumerate(entry["results"]):
        shape, actual = arrays.read_npy(folder / f"actual{index}.npy", result["dtype"])
        _, expected = arrays.read_npy(folder / f"expected{index}.npy", result["dtype"])
        found = (f"shape {list(shape)}" if list(shape) != result["shape"] else
                 arrays.difference(result["dtype"], expected, actual, result["tolerance"]))
        if found:
            return f"{result['label']}, {result['dtype']}{result['shape']}: {found}"
    return ""


def run_program(entry, runtime, folder, environment, deadline, stuck):
    """A row of the results: `status` is ok, wrong, failed, stuck, or not run if there was no time. `stuck` counts hangs."""
    began = time.monotonic()
    row = {"name": entry["name"], "group": entry["group"]}
    if began > deadline:
        return {**row, "status": "not run"}
    command = [runtime, "program.spmdx", *(f"--input={given}" for given in entry["inputs"]), *entry["options"],
               *(f"--output={result['name']}=actual{index}.npy" for index, result in enumerate(entry["results"]))]
    try:
        limit = max(1.0, min(TIMEOUT if len(stuck) < HANGS else TIMEOUT_AFTER_HANGS, deadline + 5 - began))
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=limit,
                              env=environment, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        stuck.append(entry["name"])
        return {**row, "status": "stuck", "message": f"does not end within {limit:.0f} s"}
    if done.returncode:
        row.update(status="failed", message=message_of(done)[:400])
    else:
        row = compared(entry, folder, row)
    return {**row, "seconds": round(time.monotonic() - began, 2)}


def compared(entry, folder, row):
    try:
        difference = compare(entry, folder)
    except (OSError, ValueError) as error:
        difference = str(error)
    return {**row, **({"status": "wrong", "message": difference} if difference else {"status": "ok"})}


def run_batch(entries, many, scratch, environment, deadline):
    """Rows for programs without options, which one process runs one after the other. If one fails, another process continues
    with the next one."""
    rows = {}
    while len(rows) < len(entries):
        left = [entry for entry in entries if entry["name"] not in rows]
        if time.monotonic() > deadline:
            rows.update({entry["name"]: {"status": "not run"} for entry in left})
            break
        jobs = [{"program": str(scratch / entry["folder"] / "program.spmdx"),
                 "inputs": [absolute(given, scratch / entry["folder"]) for given in entry["inputs"]],
                 "outputs": [f"{result['name']}={scratch / entry['folder']}/actual{index}.npy"
                             for index, result in enumerate(entry["results"])]} for entry in left]
        limit = max(1.0, min(TIMEOUT + len(left), deadline + 5 - time.monotonic()))
        process = subprocess.Popen([many], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", env=environment)
        try:
            output, errors = process.communicate(json.dumps(jobs), timeout=limit)
            end = message_of(subprocess.CompletedProcess([], process.returncode, "", errors))
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            end = f"does not end within {limit:.0f} s"
        begun = None
        for line in output.splitlines():
            word, number, *rest = line.split(" ", 2)
            entry = left[int(number)]
            if word == "begin":
                begun = entry
                continue
            rows[entry["name"]] = (compared(entry, scratch / entry["folder"], {}) if word == "ok" else
                                   {"status": "failed", "message": rest[0][:400] if rest else ""})
            begun = None
        if begun:
            rows[begun["name"]] = {"status": "failed" if process.returncode != -9 else "stuck", "message": end}
        elif process.returncode and len(rows) < len(entries) and not output:
            rows.update({entry["name"]: {"status": "failed", "message": end} for entry in left})
    return [{"name": entry["name"], "group": entry["group"], **rows[entry["name"]]} for entry in entries]


def absolute(given, folder):
    """Adds the folder to `x=in0.npy`; returns `x=ones` unchanged."""
    name, value = given.split("=", 1)
    return f"{name}={folder / value}" if (folder / value).is_file() else given


# Programs of one process: enough that its start is negligible, few enough that all processes end at about the same time.
BATCH = 40


def run_all(entries, runtime, many, scratch, environment, jobs, deadline, add):
    """All programs in their order until the deadline; `add` is called with each row, from one thread."""
    stuck = []
    plain = [entry for entry in entries if not entry["options"]]
    batches = [plain[first:first + BATCH] for first in range(0, len(plain), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(lambda entry=entry: [run_program(entry, runtime, scratch / entry["folder"], environment,
                                                                deadline, stuck)])
                   for entry in entries if entry["options"]]
        futures += [pool.submit(run_batch, batch, many, scratch, environment, deadline) for batch in batches]
        for future in futures:
            for row in future.result():
                add(row)
