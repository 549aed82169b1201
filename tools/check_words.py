"""The words of the house: which ones comments, messages and documents must not use (tools/banned-words.txt), and sentences
that begin with a stand-in for a noun."""

import pathlib
import re

LIST = pathlib.Path(__file__).resolve().parent / "banned-words.txt"
SOURCES = (".cpp", ".h", ".cu", ".td", ".def")
SCRIPTS = (".py", ".cmake", "CMakeLists.txt")
# A sentence of a comment that begins with one of these names no subject.
STAND_IN = re.compile(r"(?:^|[.;:] )(What(?! (?:is|are|do|does|did|if)\b[^.]*\?)|Whatever|Who|Whoever|Of which|Of what)\b")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def banned():
    patterns, exceptions = [], []
    for line in LIST.read_text().splitlines():
        if line.startswith("except "):
            exceptions.append(line.removeprefix("except "))
        elif line and not line.startswith("#"):
            pattern, instead = line.split(" -> ")
            patterns.append((re.compile(rf"(?<![\w./`-])(?:{pattern})(?![\w/-])", re.I), instead))
    return patterns, re.compile("|".join(exceptions), re.I)


def comment_of(line, marker):
    """The comment of a line, and what is before it; a marker inside of a string is none."""
    bare = STRING.sub(lambda m: '"' + "x" * (len(m[0]) - 2) + '"', line)
    at = bare.find(marker)
    return (line, "") if at < 0 else (line[:at], line[at:].lstrip("/!<# "))


def texts(file):
    """(line number, text, whether it is a comment) of what people read in a file."""
    lines = file.read_text(errors="replace").splitlines()
    if file.name.endswith(".md"):
        fenced = False
        for number, line in enumerate(lines, 1):
            fenced ^= line.startswith("```")
            if not fenced:
                yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "``", line), False
    elif file.name.endswith(SOURCES):
        described = False
        for number, line in enumerate(lines, 1):
            code, comment = comment_of(line, "//")
            if comment:
                yield number, re.sub(r"`[^`]*`", "``", comment), True
            if code.lstrip().startswith("#"):
                continue
            if file.name.endswith(".td"):
                described = described or "description = [{" in code
                if described:
                    yield number, re.sub(r"`[^`]*`", "``", code), False
                described = described and "}]" not in code
            for match in STRING.finditer(code):
                if " " in match[1]:
                    yield number, match[1], False
    elif file.name.endswith(SCRIPTS):
        for number, line in enumerate(lines, 1):
            if comment := comment_of(line, "#")[1]:
                yield number, comment, True


def check_words(files, root):
    patterns, exceptions = banned()
    problems = []
    for file in files:
        path = file.relative_to(root).as_posix()
        for number, text, is_comment in texts(file):
            plain = exceptions.sub("", text)
            for pattern, instead in patterns:
                if match := pattern.search(plain):
                    problems.append(f"{path}:{number}: '{match[0]}' (say {instead}): {text.strip()[:100]}")
            if is_comment and (match := STAND_IN.search(text)):
                problems.append(f"{path}:{number}: a sentence begins with '{match[1]}': {text.strip()[:100]}")
    return problems


def count_words(files):
    return sum(len(re.findall(r"[A-Za-z]+", text)) for file in files for _, text, _ in texts(file))
