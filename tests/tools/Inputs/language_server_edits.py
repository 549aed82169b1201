"""Texts that change, and positions that are nowhere: what the editor has counts, not the file."""

from language_server import Server, print_diagnostics, place

URI = "file:///nowhere/edited.spmd"
GOOD = "mesh m(a=2)\nfn main(x: f32[8@a]) {\n  print(\"é😀\", x); let y = x * 2;\n  return y;\n}\n"


def hover(server, line, character):
    answer = server.ask("hover", URI, line, character)
    return f"{place(answer['range'])} {answer['contents']['value'].splitlines()[1]}" if answer else "nothing"


def newest(server, version):
    while (found := server.diagnostics(URI))["version"] != version:
        pass
    return found["diagnostics"]


def edit(line, begin, end, text, last_line=None):
    last = line if last_line is None else last_line
    return {"range": {"start": {"line": line, "character": begin}, "end": {"line": last, "character": end}}, "text": text}


server = Server("--wait")
server.open(URI, GOOD)
print("opened", server.diagnostics(URI))
# `é` is one unit and two bytes, the face two units and four bytes.
print("behind wide characters:", hover(server, 2, 23), "|", hover(server, 2, 27))
print("in the middle of one:", hover(server, 2, 11))
for line, character in [(2, 4000), (400, 0), (-1, 0), (0, -1), (2**31 - 1, 2**31 - 1), (5, 0)]:
    print("at", line, character, hover(server, line, character))

server.change(URI, 2, edit(2, 27, 28, "z"))
print("an unknown name:", *[d["message"] for d in newest(server, 2)])
server.change(URI, 3, edit(2, 27, 28, "x"), edit(3, 9, 10, "y + y"))
print("mended:", newest(server, 3))
print("two edits:", hover(server, 3, 13))
server.change(URI, 4, edit(1, 0, 0, "fn f(", last_line=400))
print_diagnostics(newest(server, 4))
server.change(URI, 5, edit(1, 0, 90, "fn main() { return ones([3]); }\r\nfn f(x: f32[2]) {\rreturn x; }"))
print("all kinds of ends of lines:", hover(server, 2, 5), "|", hover(server, 3, 7))
# An end before its beginning is that beginning.
server.change(URI, 6, edit(1, 5, 3, "q"))
print("backwards:", server.ask("documentSymbol", URI, 0, 0)[1]["name"])
server.change(URI, 7, "fn main() { return 1 +; }")
print("the whole text:", place(newest(server, 7)[0]["range"]))
server.notify("textDocument/didClose", textDocument={"uri": URI})
server.notes.clear()
print("closed:", hover(server, 0, 0), server.diagnostics(URI))
server.change(URI, 8, GOOD)
print("not open:", hover(server, 2, 27), server.ask("completion", URI, 0, 0)["items"])
other = "file:///nowhere/module.mlir"
server.open(other, "module {}")
print_diagnostics(server.diagnostics(other)["diagnostics"])
server.open("file:///nowhere/large.spmd", "// " + "x" * (5 << 20))
print_diagnostics(server.diagnostics("file:///nowhere/large.spmd")["diagnostics"])
server.open("file:///nowhere/bytes.spmd", "fn main() { return \0 + \x1b; }")
print_diagnostics(server.diagnostics("file:///nowhere/bytes.spmd")["diagnostics"])
print("exit", server.end())
