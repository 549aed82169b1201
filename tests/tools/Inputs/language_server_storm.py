"""Edits faster than they can be analysed.

    python3 language_server_storm.py FILE TIME_SCALE
"""

import sys
import time

from language_server import Server

URI = "file:///nowhere/storm.spmd"
text = open(sys.argv[1]).read()
limit = 5 * float(sys.argv[2])  # Seconds. Analyses of all versions one after another, with costs, would take a minute.


def timed(what, function):
    begin = time.monotonic()
    result = function()
    seconds = time.monotonic() - begin
    print(what, "in time" if seconds < limit else f"after {seconds:.1f} s", result)


def storm(server):
    """The answer is about the text behind the last edit."""
    for version in range(2, 52):
        name = "x" * version
        server.change(URI, version, f"fn main({name}: f32[{version}]) {{ return {name}; }}\n" + text.replace("fn main", "fn other"))
    return server.ask("hover", URI, 0, 10)["contents"]["value"].splitlines()[1]


server = Server()
server.open(URI, text)
timed("50 edits:", lambda: storm(server))
server.change(URI, 52, text)
line = text[:text.index("let window")].count("\n")
timed("hover:", lambda: server.ask("hover", URI, line, 7)["contents"]["value"].splitlines()[1])
newest = 0
while newest < 52:
    version = server.diagnostics(URI)["version"]
    if version < newest:
        print("old messages behind new ones")
    newest = version
print("messages of version", newest)
time.sleep(0.5)  # Costs are being looked for, or have been found: either is good.
server.change(URI, 53, "fn main(x: f32[3]) { return x; }")
timed("while costs are looked for:", lambda: server.ask("hover", URI, 0, 8)["contents"]["value"].splitlines()[1])
server.change(URI, 54, text)
server.notify("textDocument/didClose", textDocument={"uri": URI})
timed("closed:", lambda: server.ask("hover", URI, line, 7))
server.open(URI, text)
time.sleep(0.5)
timed("end:", server.end)
