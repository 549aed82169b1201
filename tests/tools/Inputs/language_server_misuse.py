"""What no editor sends. Nothing of it ends the server, and each request has one answer."""

import json

from language_server import Server


def error(message):
    return f"{message['id']}: {message['error']['code']} {message['error']['message']}"


server = Server(initialize=False)
server.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "textDocument/hover", "params": {}}).encode())
print("before initialize", error(server.answer(0)))
server.notify("textDocument/didOpen", textDocument=3)
print("initialize", "capabilities" in server.call("initialize", capabilities={}))
server.write(json.dumps({"jsonrpc": "2.0", "id": 1000, "method": "initialize", "params": {}}).encode())
print("twice", error(server.answer(1000)))
for body in [b"", b"{", b"no json", b"[]", b"3", b"null", b"{}", b'{"id": 7}', b'{"id": [1, {}], "method": 3}',
             b"[" * 1_000_000, b'{"a":' * 100_000, b'{"id": 8, "method": "\xff\xfe"}', b'"' + b"\\" * 99]:
    server.write(body)
    print(body[:30], error(server.read()))
# No method, but the answer to a question that was not asked.
server.write(b'{"jsonrpc": "2.0", "id": 5, "result": null}')
# Neither a header nor a body.
server.process.stdin.write(b"hello\r\n\r\n\0\xff" + b"a" * 100_000 + b"\nContent-Length: nine\r\n\r\ncontent-LENGTH:  2 \r\nX: y\r\n\r\n{}")
server.process.stdin.flush()
print("after garbage", error(server.read()))
for method, params in [("no/such", {}), ("$/refuse", {"code": 1, "message": "a"}), ("textDocument/hover", {}),
                       ("textDocument/hover", []), ("textDocument/hover", None), ("textDocument/rename", {"x": 1}),
                       ("textDocument/hover", {"textDocument": {"uri": "untitled:1"}, "position": {"line": 0, "character": 0}}),
                       ("textDocument/hover", {"textDocument": {"uri": "file:///a"}, "position": {"line": "a", "character": 0}}),
                       ("textDocument/hover", {"textDocument": {"uri": "file:///a"}, "position": {"line": 1e300, "character": 0}}),
                       ("textDocument/definition", {"textDocument": {"uri": "file:///a"}, "position": {"line": 1, "character": 0}})]:
    server.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode())
    message = server.answer(method)
    print(method, message["result"] if "result" in message else message["error"]["code"])
for method in ["no/such", "textDocument/didOpen", "textDocument/didChange", "$/cancelRequest", "textDocument/didClose"]:
    server.notify(method, textDocument={"uri": 3})
server.change("file:///a", 1)
print("shutdown", server.call("shutdown"))
server.write(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "textDocument/hover", "params": {}}).encode())
print("after shutdown", error(server.answer(9)))
server.notify("exit")
print("exit", server.process.wait(timeout=60))

for ending in ["exit", "end of input", "in the middle of a message"]:
    server = Server()
    server.open("file:///a.spmd", "fn main() { return ones([3]); }")
    if ending == "exit":
        server.notify("exit")
    elif ending == "in the middle of a message":
        server.process.stdin.write(b"Content-Length: 100\r\n\r\n{")
    server.process.stdin.close()
    print(ending, server.process.wait(timeout=60))
