"""A client of spmd-lsp-server, for tests.

    python3 language_server.py FILE [OPTIONS OF THE SERVER]

opens FILE, prints its diagnostics and then the answer to each question in it. A question is a comment under what it is
about: `//    ^ hover` asks about the character above the caret; `definition`, `references` and `completion` are the others,
`symbols` is about the file. Lines count from 1, columns (UTF-16) too.
"""

import json
import os
import re
import subprocess
import sys
import threading


class Server:
    """Requests are answered before the next one is sent; notifications from the server are kept in `notes`."""

    def __init__(self, *options, initialize=True):
        self.process = subprocess.Popen(["spmd-lsp-server", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # A server that does not answer ends, and with it the test.
        self.watchdog = threading.Timer(300, self.process.kill)
        self.watchdog.daemon = True
        self.watchdog.start()
        self.last_id = 0
        self.notes = []
        if initialize:
            hierarchical = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
            self.initialized = self.call("initialize", capabilities={"textDocument": hierarchical})
            self.notify("initialized")

    def write(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            raise EOFError("the server has ended")
        return json.loads(self.process.stdout.read(length))

    def answer(self, id):
        while True:
            message = self.read()
            if "id" in message and message["id"] == id:
                return message
            self.notes.append(message)

    def call(self, method, **params):
        self.last_id += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}).encode())
        message = self.answer(self.last_id)
        return message["result"] if "result" in message else message["error"]

    def notify(self, method, **params):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen",
                    textDocument={"uri": uri, "languageId": "spmd", "version": version, "text": text})

    def change(self, uri, version, *changes):
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": version},
                    contentChanges=[{"text": c} if isinstance(c, str) else c for c in changes])

    def ask(self, what, uri, line, character, **more):
        return self.call("textDocument/" + what, textDocument={"uri": uri},
                         position={"line": line, "character": character}, **more)

    def diagnostics(self, uri):
        """The next ones of the document."""
        while True:
            for note in self.notes:
                if note.get("method") == "textDocument/publishDiagnostics" and note["params"]["uri"] == uri:
                    self.notes.remove(note)
                    return note["params"]
            self.notes.append(self.read())

    def end(self):
        """The exit status."""
        self.call("shutdown")
        self.notify("exit")
        return self.process.wait(timeout=60)


def place(range):
    return "-".join(f"{range[end]['line'] + 1}:{range[end]['character'] + 1}" for end in ("start", "end"))


SEVERITIES = {1: "error", 2: "warning", 3: "information"}


def print_diagnostics(diagnostics):
    for diagnostic in diagnostics:
        print(f"{place(diagnostic['range'])}: {SEVERITIES[diagnostic['severity']]}: {diagnostic['message']}")
        for related in diagnostic.get("relatedInformation", []):
            print(f"  {place(related['location']['range'])}: note: {related['message']}")


def print_symbols(symbols, indent=""):
    for symbol in symbols:
        detail = f": {symbol['detail']}" if symbol.get("detail") else ""
        print(f"{indent}{symbol['name']} ({symbol['kind']}) {place(symbol['selectionRange'])} of {place(symbol['range'])}{detail}")
        print_symbols(symbol.get("children", []), indent + "  ")


def questions(text):
    """(line, column, what), the line being the last one that is no question."""
    above = 0
    for number, line in enumerate(text.split("\n")):
        match = re.match(r"\s*//\s*(\^)\s*(hover|definition|references|completion|symbols)\b", line)
        if not match:
            above = number
            continue
        # Characters before the caret are those of the line above.
        begin = text.split("\n")[above][:match.start(1)]
        yield above, len(begin.encode("utf-16-le")) // 2, match[2]


def main(file, *options):
    text = open(file, encoding="utf-8").read()
    uri = "file://" + os.path.abspath(file)
    server = Server("--wait", *options)
    server.open(uri, text)
    print_diagnostics(server.diagnostics(uri)["diagnostics"])
    for line, column, what in questions(text):
        print(f"{what} at {line + 1}:{column + 1}")
        if what == "symbols":
            print_symbols(server.call("textDocument/documentSymbol", textDocument={"uri": uri}))
        elif what == "hover":
            hover = server.ask("hover", uri, line, column)
            print(place(hover["range"]) + "\n" + hover["contents"]["value"] if hover else "nothing")
        elif what == "completion":
            for item in server.ask("completion", uri, line, column)["items"]:
                print("  " + item["label"] + (": " + item["detail"] if item.get("detail") else ""))
        else:
            more = {"context": {"includeDeclaration": True}} if what == "references" else {}
            for location in server.ask(what, uri, line, column, **more):
                print("  " + place(location["range"]))
    status = server.end()
    # The messages of the partitioner.
    for note in server.notes:
        if note.get("method") == "textDocument/publishDiagnostics":
            print("later:")
            print_diagnostics(note["params"]["diagnostics"])
    print(f"exit {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
