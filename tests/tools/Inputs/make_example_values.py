"""Writes example_values.json: what each example gives when it is run without options, from JAX, NumPy and scikit-learn.

Run with them in a virtual environment, in the root of the repository: python tests/tools/Inputs/make_example_values.py
`printed` are the numbers of the lines that the program itself prints, in their order; the other keys are results.
"""

import json
import pathlib

import jax.numpy as jnp
import make_examples
import numpy as np
from sklearn.neighbors import NearestCentroid

digits = np.load("examples/data/digits_images.npy").astype(np.float64)
labels = np.load("examples/data/digits_labels.npy")


def heat():
    n = 62
    i, j = np.mgrid[:n, :n] - n / 2
    u, printed = np.where(i * i + j * j < 100, 1.0, 0.0), []
    for step in range(1, 501):
        cold = np.pad(u, 1)
        u = u + 0.2 * (cold[:-2, 1:-1] + cold[2:, 1:-1] + cold[1:-1, :-2] + cold[1:-1, 2:] - 4 * u)
        if step % 100 == 0:
            printed += [step, u.sum()]
    return {"printed": printed, "hottest": u.max()}


def k_means():
    centres, previous, iterations = digits[:10], None, 0
    nearest = lambda centres: ((digits[:, None] - centres) ** 2).sum(2).argmin(1)
    assigned = nearest(centres)
    while previous is None or (assigned != previous).any():
        previous, iterations = assigned, iterations + 1
        centres = np.stack([digits[assigned == k].mean(0) for k in range(10)])
        assigned = nearest(centres)
    return {"iterations": iterations, "inertia": ((digits - centres[assigned]) ** 2).sum(),
            "sizes": np.bincount(assigned, minlength=10)}


def life():
    cells = np.zeros((30, 30), int)
    cells[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    start = cells
    for generation in range(120):
        if generation == 60:
            middle = cells
        n = sum(np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
        cells = ((n == 3) | ((n == 2) & (cells == 1))).astype(int)
    return {"alive": cells.sum(), "is_back": (cells == start).all(), "was_away": (middle != start).any()}


def linear_regression():
    x = np.sin(np.arange(64)[:, None] * (np.arange(3) + 1.0))
    y = x @ [2.0, -1.0, 0.5] + 3.0
    w, b = np.zeros(3), 0.0
    for _ in range(200):
        rest = x @ w + b - y
        error, w, b = (rest ** 2).mean(), w - 0.6 * x.T @ rest / 64, b - 0.6 * rest.mean()
    return {"w": w, "b": b}


def mandelbrot():
    x = np.arange(100, dtype=np.float32) * np.float32(3 / 100) - np.float32(2.25)
    y = np.arange(45, dtype=np.float32)[:, None] * np.float32(2.5 / 45) - np.float32(1.25)
    re = im = np.zeros((45, 100), np.float32)
    count = np.zeros((45, 100), int)
    for _ in range(60):
        inside = re * re + im * im < 4
        re, im = np.where(inside, re * re - im * im + x, re), np.where(inside, 2 * re * im + y, im)
        count = count + inside
    return {"total": count.sum(), "members": (count == 60).sum()}


def nearest_centroid():
    predictions = NearestCentroid().fit(digits, labels).predict(digits)
    return {"accuracy": (predictions == labels).mean()}


def power_iteration():
    i = np.arange(100)
    return {"eigenvalue": np.linalg.eigvalsh(1 / (i[:, None] + i + 1))[-1]}


def psum():
    # The corners that are printed of ones @ ones, whose contraction has 2048 terms.
    return {"0": np.full(36, 2048)}


def toy():
    return {"total": jnp.sin(jnp.arange(32.0)).sum()}



def char_transformer():
    return {"printed": make_examples.char_transformer(2)}


PARTS = {part.__name__: part for part in (
    char_transformer, make_examples.data_loader, make_examples.digits_mlp, heat, k_means, make_examples.least_squares, life,
    linear_regression, mandelbrot, make_examples.model_replicas, make_examples.monte_carlo_pi, nearest_centroid,
    make_examples.pagerank, power_iteration, psum, toy, make_examples.train_linear)}
values = {name: {key: [float(f"{x:.8g}") for x in np.ravel(np.asarray(value, dtype=np.float64))]
                 for key, value in PARTS[name]().items()} for name in sorted(PARTS)}
lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
pathlib.Path("tests/tools/Inputs/example_values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
