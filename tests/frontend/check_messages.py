"""Checks that every message of the front end is in a test.

Takes the string literals of frontend/ that are sentences or parts of them (with a blank, or in calls that report:
`fail(...)`, `report(...)`, `.error(...)`, `.note(...)` ...), and looks for each in tests/frontend/ (the sources,
data/messages.txt and lit's .test files), where full messages are compared with their places. A literal of fewer than
four letters is too short to search for: it is part of a sentence.
Usage: check_messages.py SOURCE_ROOT
"""

import pathlib
import re
import sys

CALLS = re.compile(r"(?:\b(?:fail|failAbout|failExpected|failUnsupported|report|mismatch|expect|expectIdentifier|"
                   r"commaList|coerce|declaredAs|coerceTree|sizeOf|setError)\b|\.(?:error|note)|->note|\berror = )")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


# Literals that are not messages: the parameters in the tables of operations, and unreachable code.
NO_MESSAGE = re.compile(r'(?:\{"\w+", |\w+[pP]arameters = |llvm_unreachable\(|assert\(.*|#include |^\s*//.*)$')

# Messages that no test program can cause.
EXCEPTIONS = {
    "expected an array or a number, got ": "operations look at their arguments before they take them as arrays",
    " takes numbers, not random keys": "no array is of dtype key: keys are values of another kind",
    " is written here": "the reason of a collective, which tests/tools/explain.test has",
    "out_specs name its axes in 'unreduced'": "as above, in tests/tools/exported-collectives.test",
    "the sharding of ": "the name of an annotation, which tests/tools/explain-layers.test has",
    "internal error: the program became invalid IR": "a mistake of the compiler, not of the program",
    "StableHLO has no operation for '": "every operation of the stage has a rule, by RoundTripTest.cpp",
    **dict.fromkeys((", precision = [", "padding = dense<", "padding = array<i64: ", 'lhs_layout = "', '", rhs_layout = "', '", result_layout = "'),
                    "attributes of operations, which frontend/stablehlo/TextForm.cpp rewrites"),
}


def arguments(text, begin):
    """The text of the call whose parenthesis opens at or after `begin`, or up to the `;` if there is none."""
    open_at = text.find("(", begin)
    end_of_statement = text.find(";", begin)
    if open_at < 0 or open_at > begin + 2:
        return text[begin:end_of_statement]
    depth, i, quoted = 0, open_at, False
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return text[open_at:i + 1]
        i += 1
    return text[open_at:]


def joined(text):
    """The text with adjacent literals merged, as the compiler does, and without comments."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    raw = re.compile(r'R"\((.*?)\)"', re.S)
    text = raw.sub(lambda m: '"' + m[1].replace("\\", "\\\\").replace('"', '\\"') + '"', text)
    return re.sub(r'"\s*\n\s*"', "", text)


def plain(literal):
    return re.sub(r'\\(["n\\])', lambda escape: {"n": "\n"}.get(escape[1], escape[1]), literal)


def messages(path):
    text = joined(path.read_text())
    for call in CALLS.finditer(text):
        if re.search(r"#include[^\n]*$", text[:call.start()].rsplit("\n", 1)[-1]):
            continue
        for literal in LITERAL.finditer(arguments(text, call.end())):
            yield plain(literal.group(1))
    for literal in LITERAL.finditer(text):
        if " " in literal.group(1).strip() and not NO_MESSAGE.search(text[:literal.start()].rsplit("\n", 1)[-1]):
            yield plain(literal.group(1))


def main():
    root = pathlib.Path(sys.argv[1])
    tests = root / "tests/frontend"
    tested = "".join(plain(joined(path.read_text())) for path in sorted(tests.rglob("*.cpp")))
    tested += "".join(path.read_text() for path in [tests / "data/messages.txt", *sorted(tests.rglob("*.test"))])
    untested = []
    for path in sorted((root / "frontend").rglob("*.cpp")) + sorted((root / "frontend").rglob("*.h")):
        for message in messages(path):
            if len(re.findall("[A-Za-z]", message)) >= 4 and message not in tested + str(EXCEPTIONS):
                untested.append(f"{path.relative_to(root)}: {message!r}")
    for message in dict.fromkeys(untested):
        print(message)
    if untested:
        print(f"{len(dict.fromkeys(untested))} messages of the front end are in no test under tests/frontend")
    return 1 if untested else 0


if __name__ == "__main__":
    sys.exit(main())
