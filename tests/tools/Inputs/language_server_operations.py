"""Every operation that is offered has its parameters and something to read, which docs/language.md or the prelude says."""

from language_server import Server

server = Server()
server.open("file:///a.spmd", "fn main() { }")
functions = [item["label"] for item in server.ask("completion", "file:///a.spmd", 0, 11)["items"] if item["kind"] == 3]
names = [name for name in functions if name != "main"]
server.open("file:///b.spmd", "fn main() {\n" + "".join(f"{name}();\n" for name in names) + "}\n")
short = []
for line, name in enumerate(names, 1):
    text = server.ask("hover", "file:///b.spmd", line, 0)["contents"]["value"]
    if not text.startswith(f"```spmd\nfn {name}(") or f"`{name}(" not in text:
        short.append(name)
print(len(names) > 110, short)
for name in ["relu", "sum", "sort", "top_k", "matmul"]:
    print(server.ask("hover", "file:///b.spmd", names.index(name) + 1, 0)["contents"]["value"])
print("exit", server.end())
