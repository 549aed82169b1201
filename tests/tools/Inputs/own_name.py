"""Process 0 on a host whose own /etc/hosts gives its name a loopback address, as Debian's does, process 1 on another.

    own_name.py CASE -- COMMAND...

Both get COMMAND. CASE is one of

    options   the coordinator's address by options
    slurm     by Slurm's variables
    no-token  by options, and there is no place for a token
    copied    by options, and the second host has the first one's /etc/hosts

For each process there is a line with its exit status, and its warnings and errors.
"""

import os
import subprocess
import sys
import tempfile

import hosts

NAMES = {"first": "127.0.0.1 localhost\n127.0.1.1 node0\n", "second": "127.0.0.1 localhost\n10.77.0.1 node0\n"}


def main():
    case, command = sys.argv[1], sys.argv[3:]
    if "SPMD_TEST_HOSTS" not in os.environ:
        os.environ["SPMD_TEST_HOSTS"] = "1"
        os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", sys.executable, *sys.argv])
    machines = hosts.make_hosts(2)
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in NAMES.items():
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        with open(f"{folder}/token", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("a token that only this test knows\n")
        for i, machine in enumerate(machines):
            environment = dict(os.environ)
            options = ["--initialization-timeout", "4" if case in ("no-token", "copied") else "60"]
            if case == "slurm":
                environment |= {"SLURM_JOB_ID": "4711", "SLURM_STEP_NODELIST": "node[0-1]", "SLURM_NTASKS": "2",
                                "SLURM_PROCID": str(i), "SLURM_LOCALID": "0"}
            else:
                options += ["--coordinator-address", "node0:7777", "--num-processes", "2", "--process-id", str(i)]
            if case == "no-token":
                environment |= {"HOME": "/dev/null"}
                environment.pop("XDG_CONFIG_HOME", None)
            else:
                environment |= {"SPMD_TOKEN_FILE": f"{folder}/token"}
            names = "first" if i == 0 or case == "copied" else "second"
            script = f'mount --bind {folder}/{names} /etc/hosts && exec "$@"'
            processes.append(subprocess.Popen(
                ["nsenter", "--target", str(machine.pid), "--net", "unshare", "--mount", "sh", "-c", script, "sh", *command,
                 *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment))
        for i, process in enumerate(processes):
            said = process.communicate()[1]
            print(f"process {i} exit {process.returncode}")
            print("".join(line + "\n" for line in said.splitlines() if "warning: " in line or "error: " in line), end="")
    for machine in machines:
        machine.kill()


main()
