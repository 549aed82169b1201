"""Checks a manifest against schemas.json, then runs a command once in each of its pods, or in one: with the environment
that the pod would have, on this machine.

    run_manifest.py MANIFEST [--pod INDEX] [--only-check] -- COMMAND...

Pods find the coordinator on this machine instead of by the Service's name, and get a token of their own. Lines of pod 0
are printed, then the exit statuses.
"""

import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

import jsonschema
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("manifest")
parser.add_argument("--pod", type=int)
parser.add_argument("--only-check", action="store_true")
split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
args, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]

schemas = json.loads((pathlib.Path(__file__).parent / "schemas.json").read_text())
documents = list(yaml.safe_load_all(open(args.manifest)))
for document in documents:
    schema = {**schemas["kinds"][document["kind"]], "definitions": schemas["definitions"]}
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
              for error in jsonschema.Draft7Validator(schema).iter_errors(document)]
    if errors:
        sys.exit("\n".join(errors))

# Checks beyond the schema: names that must agree, and the options of the command.
kinds = {document["kind"]: document for document in documents}
if "JobSet" in kinds:
    replicated = kinds["JobSet"]["spec"]["replicatedJobs"][0]
    job = replicated["template"]["spec"]
    first = f"{kinds['JobSet']['metadata']['name']}-{replicated['name']}-0-0.{kinds['JobSet']['metadata']['name']}"
else:
    job = kinds["Job"]["spec"]
    service, name = kinds["Service"], kinds["Job"]["metadata"]["name"]
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": name}
    assert job["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    first = f"{name}-0.{service['metadata']['name']}"
pod = job["template"]["spec"]
container = pod["containers"][0]
environment = {entry["name"]: entry["value"] for entry in container["env"]}
assert environment["SPMD_COORDINATOR_ADDRESS"].split(":")[0] == first
assert job["completions"] == job["parallelism"] == int(environment["SPMD_NUM_PROCESSES"])
secrets = {volume["name"]: volume["secret"] for volume in pod["volumes"] if "secret" in volume}
mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
assert secrets[mounts[os.path.dirname(environment["SPMD_TOKEN_FILE"])]]["defaultMode"] == 0o400
help_text = subprocess.run([*container["command"][:2], "--help"], capture_output=True, text=True, check=True).stdout
for option in container["command"]:
    if option.startswith("--"):
        assert re.search(option.split("=")[0] + r"\b", help_text), option
if args.only_check:
    sys.exit()


def run(index, changes):
    variables = {**environment, **changes, "KUBERNETES_SERVICE_HOST": "10.96.0.1", "JOB_COMPLETION_INDEX": str(index),
                 "PATH": os.environ["PATH"], "HOME": "/nowhere"}
    return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)


if args.pod is not None:
    sys.stdout.write(run(args.pod, {}).communicate(timeout=60)[0])
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    token = os.path.join(folder, "token")
    with open(token, "w", opener=lambda path, flags: os.open(path, flags, secrets[mounts["/etc/spmd"]]["defaultMode"])) as file:
        file.write("a token that only this test knows\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pods = [run(i, {"SPMD_TOKEN_FILE": token, "SPMD_COORDINATOR_ADDRESS": f"127.0.0.1:{port}"})
            for i in range(job["completions"])]
    outputs = [each.communicate(timeout=60)[0] for each in pods]
print(outputs[0], end="")
print("exit", *[each.returncode for each in pods])
