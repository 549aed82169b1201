"""Processes that start differently or do not make the same calls (DivergentCalls.cpp)."""

import re
import subprocess

from sandbox import expect

BLOCK = 100  # Jobs of one try; they run some at a time.


def divergence(box, choose):
    ran = subprocess.run([box.tool("divergent-calls"), str(box.shared), str(choose.randrange(2**32)), "0", str(BLOCK)],
                         capture_output=True, text=True, timeout=300)
    expect(ran.returncode == 0, ran.stdout, ran.stderr)
    result = re.search(r"tries (\d+) failed 0 worst (\S+)", ran.stdout)
    return float(result[2]), int(result[1])
