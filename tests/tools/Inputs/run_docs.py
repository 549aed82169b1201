"""Runs every command of the README and of docs/, and compares what it prints with what the page shows.

    run_docs.py SOURCE_DIR BINARY_DIR FOLDER [PAGE...]

Each page has a folder of its own that looks like the root of the source tree. Its fenced blocks, by their language:

    console             lines `$ COMMAND` (continued behind a `\\`), each followed by all that it prints, stderr too; it succeeds
    spmd                a first line `// NAME.spmd` writes the block to that file (run_guide.py runs those of language.md)
    cpp                 compiles, if it includes spmd/spmd.h; others are excerpts of the sources
    json, toml          can be read
    sh not run: REASON  commands that a test cannot run; they are counted and listed

The expressions in the second column of a table `| JAX, PyTorch | here |` compile, as operands of JAX_CONTEXT's names.
In expected output `...` stands for any text of a line, and alone on a line for any lines; results in f32 may differ by 1e-4.
A block without a language shows no commands. An option of a command that the text mentions (`spmdc run --print`) is in the `--help` of that command.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

# The tree that this script is in; a page under test may be elsewhere.
TREE = pathlib.Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
LOOKS_LIKE_COMMAND = re.compile(
    r"^\s*(\$ |[A-Z_]+=\S+ \S|build/\S+|tools/|spmdc |spmd-\w+ -|cmake |ninja |python3 |ctest |openssl |mpirun )", re.M)
TOOLS = ("spmdc", "spmd-run", "spmd-fuzz", "spmd-lsp-server")
KNOWN = ("console", "spmd", "text", "error", "warning", "cpp", "tablegen", "mlir", "cmake", "python", "json", "toml", "js", "lua",
         "elisp", "")

JAX_CONTEXT = """mesh m(a=2, b=2)
{declarations}
fn f(v) {{ return sum(tanh(v)); }}
fn main(x: f32[4, 8], y: f32[4, 8], v: f32[8], i: i32[4], p: f32[8], m: f32[8], g: f32[8], step: i32,
        images: f32[8, 16, 16, 3], kernel: f32[3, 3, 3, 4], planes: f32[8, 3, 16, 16], filters: f32[4, 3, 3, 3]) {{
  {statement}
  return step;
}}
"""

# A number with so many digits is a result in f32; its last digits depend on the vector width of the processor.
RESULT = re.compile(r"-?\d+\.\d{4,}")


def line_pattern(line):
    parts = [".*?".join(re.escape(part) for part in text.split("...")) for text in RESULT.split(line)]
    return r"(-?[\d.]+)".join(parts) + r"[ ]*\n"


def is_expected(output, expected):
    lines = expected.splitlines()
    match = re.fullmatch("".join(r"(?:.*\n)*?" if line.strip() == "..." else line_pattern(line) for line in lines), output)
    return match and all(abs(float(x) - float(y)) <= 1e-4 * abs(float(y)) for x, y in
                         zip(match.groups(), RESULT.findall(expected)))


def commands(block):
    """Pairs of a command and what it is to print."""
    lines, result = block.splitlines(keepends=True), []
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            raise ValueError(f"{line!r} is neither a command nor behind one")
        command, output = line[2:], ""
        while command.endswith("\\\n"):
            command += lines.pop(0)
        while lines and not lines[0].startswith("$ "):
            output += lines.pop(0)
        result.append((command, output))
    return result


class Docs:
    def __init__(self, source, binary, scratch):
        self.source, self.binary, self.scratch = source, binary, scratch
        self.problems, self.not_run, self.run_count, self.helps = [], [], 0, {}
        self.environment = {**os.environ, "PATH": f"{binary / 'bin'}:{os.environ['PATH']}"}

    def make_folder(self, page):
        folder = self.scratch / page.stem
        (folder / "build").mkdir(parents=True)
        for name in ("examples", "tests", "benchmarks", "tools", "docs"):
            (folder / name).symlink_to(self.source / name)
        (folder / "build/release").symlink_to(self.binary)
        return folder

    def shell(self, command, folder):
        return subprocess.run(["bash", "-c", command], cwd=folder, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)

    def run_console(self, block, folder):
        for command, expected in commands(block):
            self.run_count += 1
            done = self.shell(command, folder)
            if done.returncode or not is_expected(done.stdout, expected):
                yield f"$ {command}exit status {done.returncode}\n{done.stdout}instead of\n{expected}"

    def check_block(self, language, block, folder):
        if language == "console":
            yield from self.run_console(block, folder)
        elif language == "spmd" and (name := re.match(r"// (\w+\.spmd)\b", block)):
            (folder / name[1]).write_text(block)
        elif language == "cpp" and '#include "spmd/spmd.h"' in block:
            (folder / "snippet.cpp").write_text(block)
            done = self.shell(f"clang++-19 -std=c++20 -fsyntax-only -Werror -I{TREE}/runtime/api/include "
                              f"-I{TREE} snippet.cpp", folder)
            if done.returncode:
                yield done.stdout
        elif language == "json":
            json.loads(block)
        elif language == "toml":
            tomllib.loads(block)
        elif language not in KNOWN:
            yield f"a block of the unknown language '{language}'"
        elif language == "" and LOOKS_LIKE_COMMAND.search(block):
            yield f"commands in a block without a language; write ```console, or ```sh not run: REASON\n{block}"

    def help_of(self, command):
        if command not in self.helps:
            self.helps[command] = self.shell(f"{command} --help", self.scratch).stdout
        return self.helps[command]

    def check_options(self, text):
        """Of commands in the text, blocks that are not run included."""
        for line in re.findall(r"`(spmd[^`\n]*)`", text) + re.findall(r"^(?:\$ )?(spmd.*)$", text, re.M):
            words = re.split(r"\s-- ", line)[0].split()
            if words[0] not in TOOLS:
                continue
            command = " ".join(words[:2]) if words[0] == "spmdc" and len(words) > 1 and words[1].isalpha() else words[0]
            for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", " ".join(words)):
                if not re.search(rf"(?<![\w-]){option}(?![\w-])", self.help_of(command)) and not re.match(r"-O\d", option):
                    yield f"`{line}`: `{command} --help` does not name {option}"

    def check_idioms(self, text, folder):
        table = re.search(r"^\| JAX, PyTorch \| here \|\n(.*?)\n\n", text, re.M | re.S)
        for row in table[1].splitlines()[1:] if table else []:
            spans = [span for span in re.findall(r"`([^`]*)`", row.split(" | ")[1]) if "(" in span]
            declarations = "\n".join(span for span in spans if span.startswith("fn "))
            for span in spans:
                if span.startswith("fn "):
                    continue
                self.run_count += 1
                statement = f"{span};" if span.startswith("print(") else f"let _ = {span};"
                (folder / "idiom.spmd").write_text(JAX_CONTEXT.format(declarations=declarations, statement=statement))
                done = self.shell("spmdc inspect idiom.spmd", folder)
                if done.returncode:
                    yield f"`{span}`: {done.stdout}"

    def check_page(self, page):
        folder, text = self.make_folder(page), page.read_text()
        problems = [*self.check_options(text), *self.check_idioms(text, folder)]
        for label, block in FENCE.findall(text):
            if label.startswith("sh not run: "):
                self.not_run.append(f"{page.name}: {label.removeprefix('sh not run: ')}")
                continue
            try:
                problems += self.check_block(label, block, folder)
            except (ValueError, subprocess.TimeoutExpired) as error:
                problems.append(f"{error} in\n{block}")
        self.problems += [f"{page.name}: {problem}" for problem in problems]


def main():
    source, binary, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    docs = Docs(source, binary, scratch)
    pages = [source / page for page in sys.argv[4:]] or [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    for page in pages:
        docs.check_page(page)
    for problem in docs.problems:
        print(problem)
    print(f"{docs.run_count} commands of {len(pages)} pages run, {len(docs.problems)} problems")
    print(f"{len(docs.not_run)} blocks are not run:", *docs.not_run, sep="\n  ")
    return 1 if docs.problems or not docs.run_count else 0


if __name__ == "__main__":
    sys.exit(main())
