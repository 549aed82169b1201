"""A thousand processes (Crowd.cpp)."""

import re
import subprocess

from sandbox import expect


def crowd(field):
    def run(box, choose):
        ran = subprocess.run([box.tool("crowd"), "1000", str(choose.randrange(2**32))], capture_output=True, text=True,
                             timeout=200)
        expect(ran.returncode == 0, ran.stdout, ran.stderr)
        return float(re.search(rf" {field} (\S+)", ran.stdout)[1])
    return run
