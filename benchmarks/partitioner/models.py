"""Typical models, their parameters and data sharded over the axes (a, b) of a mesh at random or as usual."""

import re

import programs

MESHES = [{"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 2}]

# In a template `#NAME` is the place of a dimension's annotation: of the batch (rows), the model's width, hidden
# features, heads, words.
ATTENTION = """struct Block { norm: f32[D#width], q: f32[D#width, H#heads, K], k: f32[D#width, H#heads, K], v: f32[D#width, H#heads, K],
  o: f32[H#heads, K, D#width], up: f32[D#width, F#hidden], down: f32[F#hidden, D#width] }
fn net(p, x) {
  let n = rms_norm(x, p.norm);
  let q = einsum("bsd,dhk->bhsk", n, p.q);
  let k = einsum("bsd,dhk->bhsk", n, p.k);
  let v = einsum("bsd,dhk->bhsk", n, p.v);
  let y = x + einsum("bhsk,hkd->bsd", attention(q, k, v, causal=true), p.o);
  return y + gelu(y @ p.up) @ p.down;
}
fn loss(p, x, y) { return mean((net(p, x) - y) ** 2); }
fn main(p: Block, x: f32[B#rows, S, D], y: f32[B#rows, S, D]) { return grad(loss)(p, x, y); }
"""
SCANNED = """struct Layers { up: f32[L, D#width, F#hidden], down: f32[L, F#hidden, D#width], shift: f32[L, D#shift] }
fn net(p, x) {
  return for i in 0..L carry (h = x) { yield h + tanh(h @ p.up[i]) @ p.down[i] + p.shift[i]; };
}
fn loss(p, x, y) { return mean((net(p, x) - y) ** 2); }
fn main(p: Layers, x: f32[B#rows, D], y: f32[B#rows, D]) { return value_and_grad(loss)(p, x, y); }
"""
ACCUMULATED = """struct Model { up: f32[D#width, F#hidden], down: f32[F#hidden, D#width] }
fn loss(p, x, y) { return mean((relu(x @ p.up) @ p.down - y) ** 2); }
fn main(p: Model, x: f32[4, B#rows, D], y: f32[4, B#rows, D]) -> Model {
  return for i in 0..4 carry (g = Model { up: zeros([D, F]), down: zeros([F, D]) }) {
    yield g + grad(loss)(p, x[i], y[i]) / 4.0;
  };
}
"""
LANGUAGE = """struct Model { words: f32[V#words, D#width], up: f32[D#width, F#hidden], down: f32[F#hidden, D#width] }
fn net(p, t) {
  let x = take(p.words, t, axis=0);
  let h = x + silu(x @ p.up) @ p.down;
  return h @ p.words.T;
}
fn loss(p, t, n) { return mean(cross_entropy(net(p, t), n)); }
fn main(p: Model, t: i32[B#rows, S], n: i32[B#rows, S]) { return grad(loss)(p, t, n); }
"""
OPTIMIZER = """struct Model { up: f32[D#width, F#hidden], down: f32[F#hidden, D#width] }
struct State { up: f32[D#state, F#hidden], down: f32[F#hidden, D#state] }
fn loss(p, x, y) { return mean((relu(x @ p.up) @ p.down - y) ** 2); }
fn main(p: Model, m: State, v: State, x: f32[B#rows, D], y: f32[B#rows, D]) -> (Model, State, State) {
  let g = grad(loss)(p, x, y);
  let (up, mu, vu) = adam(p.up, m.up, v.up, g.up, 1);
  let (down, md, vd) = adam(p.down, m.down, v.down, g.down, 1);
  return (Model { up: up, down: down }, State { up: mu, down: md }, State { up: vu, down: vd });
}
"""
EXPERTS = """struct Model { gate: f32[D, E], up: f32[E#heads, D#width, F#hidden], down: f32[E#heads, F#hidden, D#width] }
fn net(p, x) {
  let chosen = softmax(x @ p.gate);
  let h = relu(einsum("bd,edf->ebf", x, p.up));
  return einsum("ebf,efd,be->bd", h, p.down, chosen);
}
fn loss(p, x, y) { return mean((net(p, x) - y) ** 2); }
fn main(p: Model, x: f32[B#rows, D], y: f32[B#rows, D]) { return grad(loss)(p, x, y); }
"""
IMAGES = """struct Model { first: f32[3, 3, C, C2#hidden], second: f32[3, 3, C2#hidden, C], out: f32[C#width, 16] }
fn net(p, x) {
  let h = conv2d(relu(conv2d(x, p.first, padding="SAME")), p.second, padding="SAME");
  return mean(relu(x + h), axis=[1, 2]) @ p.out;
}
fn loss(p, x, n) { return mean(cross_entropy(net(p, x), n)); }
fn main(p: Model, x: f32[B#rows, 32#heads, 32, C], n: i32[B#rows]) { return grad(loss)(p, x, n); }
"""
TEMPLATES = {"attention": ATTENTION, "scanned layers": SCANNED, "accumulated gradients": ACCUMULATED, "language model": LANGUAGE,
             "optimizer": OPTIMIZER, "experts": EXPERTS, "images": IMAGES}

# The usual strategies, by the names of places; other dimensions are replicated.
STRATEGIES = [
    {"rows": "@(a, b)"},
    {"rows": "@a", "hidden": "@b", "heads": "@b", "words": "@b"},
    {"rows": "@a", "width": "@a", "state": "@a", "hidden": "@b", "heads": "@b"},
    {"rows": "@(a, b)", "width": "@(a, b)", "state": "@(a, b)"},
    {"rows": "@a", "state": "@a"},
    {"rows": "@a", "heads": "@b"},
]
ANYHOW = ["", "@_", "@a", "@b", "@(a, b)"]


def write(template, places, mesh, width, rows):
    """The text of a program with a model of this kind. `places`: the annotation at each place; others get none."""
    # No axis twice in one array.
    def cut(match):
        used, dims = set(), []
        for dim in match.group(2).split(", "):
            name = re.search(r"#(\w+)", dim)
            place = places.get(name.group(1), "") if name else ""
            axes = set(re.findall(r"\b[ab]\b", place))
            if axes & used:
                place = "@_"
            used |= axes
            dims.append(re.sub(r"#\w+", place, dim))
        return f"{match.group(1)}[{', '.join(dims)}]"
    text = re.sub(r"\b([fi]32)\[([^\]]*)\]", cut, template)
    sizes = {"B": rows, "S": 64, "D": width, "F": 4 * width, "H": 8, "K": width // 8, "L": 4, "E": 8, "V": 4096, "C": 32,
             "C2": 64}
    return programs.mesh(mesh) + "".join(f"const {name} = {size};\n" for name, size in sizes.items()) + text


def marks(template):
    return re.findall(r"#(\w+)", template)


def model(choose, template):
    """Such a program, small or large, with usual or random annotations."""
    if choose.random() < 0.5:
        strategy = choose.choice(STRATEGIES)
        places = {mark: strategy.get(mark, "@_") for mark in marks(template)}
    else:
        places = {mark: choose.choice(ANYHOW) for mark in marks(template)}
    width, rows = choose.choice([128, 512]), choose.choice([16, 64, 256])
    return write(template, places, choose.choice(MESHES), width, rows)
