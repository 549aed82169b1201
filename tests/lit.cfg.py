# Configuration of lit for the whole tree: .mlir and .spmd files with RUN lines, and .test files that drive the tools.

import os
import shutil
import subprocess

import lit.formats

config.name = "spmdc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".spmd", ".test"]
config.excludes = ["Inputs", "data"]
config.test_source_root = os.path.join(config.source_dir, "tests")
config.test_exec_root = os.path.join(config.binary_dir, "tests")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.binary_dir, "bin"), config.llvm_tools_dir, config.environment["PATH"]]
)
# A variable of one CHECK-LABEL block must not leak into the next.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=all"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# The token and the compile cache of the tests are their own, and what they compile is compiled there.
config.environment["XDG_CONFIG_HOME"] = os.path.join(config.test_exec_root, "config")
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
config.environment["SPMD_NO_CACHE"] = "1"
config.substitutions.append(("%source", config.source_dir))
config.substitutions.append(("%binary", config.binary_dir))
config.substitutions.append(("%examples", os.path.join(config.source_dir, "examples")))
# Limits of time are longer under sanitizers.
config.substitutions.append(("%time_scale", config.time_scale))

if config.build_type == "Release":
    config.available_features.add("release")
if config.ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", config.ptxas))

# Every test of spmd-opt becomes a round-trip test of what it prints.
if os.environ.get("SPMD_CHECK_ROUNDTRIP") == "1":
    config.substitutions.append((r"\bspmd-opt\b", "spmd-opt --verify-roundtrip"))

# tools/dev installs these; other machines may lack them.
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
if os.geteuid() == 0 and all(map(shutil.which, ["slurmctld", "slurmd", "srun", "munged"])):
    config.available_features.add("slurm")
if subprocess.run(["python3", "-c", "import jsonschema, yaml"], stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("jsonschema")

# Network namespaces of our own, to be hosts.
if subprocess.run(["unshare", "-rn", "sh", "-c",
                   "ip link add end0 type veth peer name end1 && ip link add bridge0 type bridge"],
                  stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("hosts")

# A file system of our own, to be filled.
if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("mount")
