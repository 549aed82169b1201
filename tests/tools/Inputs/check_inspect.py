"""Reads `inspect --json` of examples/psum.spmd and compares it with values worked out by hand."""

import json
import sys

report = json.load(sys.stdin)
assert report["mesh"] == [{"axis": "a", "size": 4}, {"axis": "b", "size": 2}], report["mesh"]
(main,) = report["functions"]
assert main["name"] == "main"
assert main["params"][0] == {"name": "x", "dtype": "f32", "shape": [4096, 2048], "sharding": [["a"], ["b"]],
                             "local_shape": [1024, 1024]}, main["params"][0]
assert main["results"] == [{"name": "0", "dtype": "f32", "shape": [4096, 4096], "sharding": [["a"], []],
                            "local_shape": [1024, 4096]}], main["results"]
(collective,) = main["collectives"]
assert collective["loc"].endswith("psum.spmd:8:15"), collective["loc"]
assert collective["why"]
del collective["loc"], collective["why"]
assert collective == {"op": "all_reduce", "axes": ["b"], "reduction": "sum", "dtype": "f32",
                      "operand_shape": [1024, 4096], "result_shape": [1024, 4096], "group_size": 2, "groups": 4,
                      # A ring sends 2 (g - 1) / g of the operand: all of its 16 MiB.
                      "wire_bytes_per_device": 1024 * 4096 * 4, "trip_count": 1,
                      # Two waits of 10 us, and 16 MiB at 5e9 bytes a second.
                      "steps": 2, "predicted_us": 3375.443}, collective
# 2 m k n of the product on one device, and one maximum an element.
assert main["flops_per_device"] == 2 * 1024 * 1024 * 4096 + 1024 * 4096, main["flops_per_device"]
assert main["argument_bytes_per_device"] == 4 * (1024 * 1024 + 1024 * 4096)
assert main["wire_bytes_per_device"] == 1024 * 4096 * 4
assert main["peak_bytes_per_device"] >= main["argument_bytes_per_device"] + 4 * 1024 * 4096

# The product is bound by its operations, 1e11 a second; relu by memory: 16 MiB read and written at 1e10 a second.
product, relu = main["work"]
assert product["kind"] == "matmul" and product["flops"] == 2 * 1024 * 1024 * 4096, product
assert product["bytes"] == 4 * (1024 * 1024 + 1024 * 4096 + 1024 * 4096) and product["predicted_us"] == 85899.346
assert relu["kind"] == "kernel" and relu["bytes"] == 2 * 4 * 1024 * 4096 and relu["predicted_us"] == 3355.443, relu
assert main["predicted_communication_us"] == 3375.443 and main["predicted_compute_us"] == 89254.789
