"""Gives every option of the given tools, and of their commands, an empty value in each of the ways in which a shell
does for a variable that is not set. Each is to be refused with exit status 2 and a message that names the option.

    empty_values.py TOOL...
"""

import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def commands(tool):
    """The tool's own command line, or one for each of its commands."""
    text = run(tool, "--help").stdout
    names = re.findall(r"^  ([a-z]+) ", text.split("Subcommands:")[1], re.M) if "Subcommands:" in text else []
    return [(tool, name) for name in names] or [(tool,)]


def options(command):
    """(names of one option, whether it takes a value), as the help lists them."""
    result = []
    for line in run(*command, "--help").stdout.splitlines():
        match = re.match(r"  (-[-\w]+(?:\{-?\d+\})?(?:,-[-\w]+)*)( \S+)?", line)
        if match:
            names = [re.sub(r"\{.*", "", name) for name in match[1].split(",")]
            # Behind two spaces stands the text.
            takes_value = (bool(match[2]) and not line[match.end(1):].startswith("  ") and
                           match[2].strip() not in ("Excludes:", "Needs:"))
            result.append((names, takes_value))
    return result


def main():
    mistakes = []
    for tool in sys.argv[1:]:
        for command in commands(tool):
            checked = 0
            for names, takes_value in options(command):
                for name in names:
                    if not takes_value:
                        continue
                    checked += 1
                    # The name that a message uses is the long one.
                    shown = next((other for other in names if other.startswith("--")), name)
                    long = name.startswith("--")
                    attempts = [[name, "--help"], [name, ""]] + ([[name + "="], [name + "=", "--help"]] if long else [])
                    for attempt in attempts:
                        ended = run(*command, *attempt)
                        text = ended.stdout + ended.stderr
                        if not (ended.returncode and "is a variable not set?" in text and
                                (name in text or shown in text)):
                            mistakes.append(f"{' '.join(command + tuple(attempt))!r}: {ended.returncode} {text[:200]!r}")
            print(f"{' '.join(command)}: {checked} options checked")
    print("\n".join(mistakes))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
