#!/usr/bin/env python3
"""Prints a long program, for figures of compile time: large.py STATEMENTS straight|mixed."""

import random
import sys

count, kind = int(sys.argv[1]), sys.argv[2]
random.seed(1)
lines = ["mesh m(a=4, b=2)", "fn main(x: f32[64@a, 48@b], w: f32[48@b, 48]) {"]
names = ["x"]
for i in range(count):
    last, other = names[-1], random.choice(names[-20:])
    chance = 1.0 if kind == "straight" else random.random()
    if chance < 0.05:
        text = f"{last} @ w"
    elif chance < 0.15:
        text = f"{last} - mean({other}, axis=1, keepdims=true)"
    elif chance < 0.2:
        text = f"{last} + transpose(transpose({other}))"
    elif chance < 0.25:
        text = f"roll({last}, 1, axis=0)"
    elif chance < 0.4:
        text = f"tanh({last})"
    else:
        text = random.choice(["{} + {}", "{} * {}", "maximum({}, {})", "{} - {}"]).format(last, other)
    lines.append(f"  let v{i} = {text};")
    names.append(f"v{i}")
lines.append(f"  return {names[-1]};\n}}")
print("\n".join(lines))
