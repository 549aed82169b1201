"""Compares docs/commands.md with the `--help` of every command: the same options, with the same names of their values.

    check_commands.py PAGE

A section `## spmdc NAME` has a table of options; links in its first line (`Options: [compiling](#compiling), ...`) add the
tables of these sections.
"""

import pathlib
import re
import subprocess
import sys

page_text = pathlib.Path(sys.argv[1]).read_text()
sections = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", page_text, re.M | re.S))
problems = []


def table_options(title):
    """`--option VALUE` of each row, by the name of the option."""
    options = {}
    for cell in re.findall(r"^\| (`-.*?`) \|", sections[title], re.M):
        words = cell.replace("`", "").replace("\\|", "|").split()
        names = [word.rstrip(",") for word in words if word.startswith("-")]
        options[names[-1]] = (set(names), " ".join(word for word in words if not word.startswith("-")))
    return options


def page_options(title):
    first = re.search(r"^Options: (.*?)\.(?:\s|$)", sections[title], re.M)
    shared = re.findall(r"\(#(\w+)\)", first[1]) if first else []
    options = {}
    for part in [name.capitalize() for name in shared] + [title]:
        options |= table_options(part)
    return options


def help_options(command):
    """The same of the help: `  -n,--num-processes N:INT in [1 - 4]   text`, but for --help itself."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    options = {}
    for names, value in re.findall(r"^  (-[\w,-]+)(?:\{[^}]*\})?((?: \S+)*)", text, re.M):
        value = re.split(r":(?:U?INT|FLOAT|\{)|=(?=[a-z0-9])| (?:Needs|Excludes|REQUIRED|x \d)", value)[0].strip()
        options[names.split(",")[-1]] = (set(names.split(",")), value)
    del options["--help"]
    return options


overview = subprocess.run(["spmdc", "--help"], capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  (\w+) ", overview.split("Subcommands:")[1], re.M)
titles = [f"spmdc {command}" for command in commands] + ["spmd-run"]
problems += [f"no section '## {title}'" for title in titles if title not in sections]
problems += [f"a section '## {title}' of no command" for title in sections if title.startswith("spmd") and title not in titles]
count = 0
for title in titles:
    page, real = page_options(title), help_options(title.split())
    count += len(real)
    for option in sorted(page.keys() | real.keys()):
        if page.get(option) != real.get(option):
            problems.append(f"{title} {option}: the page has {page.get(option)}, --help {real.get(option)}")
for problem in problems:
    print(problem)
print(f"{count} options of {len(titles)} commands, {len(problems)} differ")
sys.exit(1 if problems else 0)
