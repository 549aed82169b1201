"""peak_memory.py MEGABYTES COMMAND...: runs the command, and fails if it fails or holds more memory at once."""
import resource
import subprocess
import sys

limit, command = int(sys.argv[1]), sys.argv[2:]
status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
if status != 0 or peak > limit:
    sys.exit(f"exit status {status}; {peak:.0f} MB of memory, the limit is {limit} MB")
print(f"{peak:.0f} MB")
