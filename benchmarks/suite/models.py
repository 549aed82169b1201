"""Models of full size: functions of their parameters, and the shapes of these.

`make(*sizes, inputs=N)` makes a parameter of N inputs; without N it is a vector of scales or biases.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def resnet_parameters(blocks, width, classes, make):
    """Those of He et al. (2016): `blocks` are the numbers of bottleneck blocks of each stage, `width` the channels of the stem."""
    parameters, inputs = {}, 3

    def add(name, size, channels, outputs):
        parameters[name] = make(size, size, channels, outputs, inputs=size * size * channels)
        parameters[name + ".scale"], parameters[name + ".bias"] = make(outputs), make(outputs)

    add("stem", 7, inputs, width)
    inputs = width
    for stage, count in enumerate(blocks):
        inner = width * 2**stage
        for block in range(count):
            name = f"{stage}.{block}"
            add(name + ".a", 1, inputs, inner)
            add(name + ".b", 3, inner, inner)
            add(name + ".c", 1, inner, 4 * inner)
            if block == 0:
                add(name + ".skip", 1, inputs, 4 * inner)
            inputs = 4 * inner
    return parameters | {"head": make(inputs, classes, inputs=inputs)}


def resnet(p, images, blocks):
    """The logits of images [batch, height, width, 3]; statistics are those of the batch."""

    def layer(name, x, stride=1):
        x = lax.conv_general_dilated(x, p[name], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p[name + ".scale"] + p[name + ".bias"]

    x = jax.nn.relu(layer("stem", images, 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for stage, count in enumerate(blocks):
        for block in range(count):
            name, stride = f"{stage}.{block}", 2 if block == 0 and stage > 0 else 1
            y = jax.nn.relu(layer(name + ".a", x))
            y = layer(name + ".c", jax.nn.relu(layer(name + ".b", y, stride)))
            x = jax.nn.relu(y + (layer(name + ".skip", x, stride) if block == 0 else x))
    return x.mean((1, 2)) @ p["head"]


def resnet_loss(p, images, labels, blocks):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(resnet(p, images, blocks)), labels[:, None], -1))


def gpt_parameters(layers, width, words, positions, make):
    """Those of GPT-2 (Radford et al., 2019), whose word embeddings are its last layer, too."""
    block = {"norm1": make(width), "norm2": make(width), "qkv": make(width, 3 * width, inputs=width),
             "out": make(width, width, inputs=width), "up": make(width, 4 * width, inputs=width), "up_bias": make(4 * width),
             "down": make(4 * width, width, inputs=4 * width), "down_bias": make(width)}
    return {"words": make(words, width, inputs=width), "positions": make(positions, width, inputs=width), "norm": make(width),
            "blocks": [dict(block) for _ in range(layers)]}


def normalized(x, scale):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def feed_forward(block, x):
    return jax.nn.gelu(normalized(x, block["norm2"]) @ block["up"] + block["up_bias"]) @ block["down"] + block["down_bias"]


def gpt(p, tokens, heads):
    """The logits after each of the tokens [batch, length]."""
    batch, length = tokens.shape
    x = p["words"][tokens] + p["positions"][:length]
    width = x.shape[-1]
    past = jnp.tril(jnp.ones((length, length), bool))
    for block in p["blocks"]:
        qkv = jnp.split(normalized(x, block["norm1"]) @ block["qkv"], 3, -1)
        q, k, v = (part.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3) for part in qkv)
        scores = jnp.where(past, q @ k.swapaxes(-1, -2) / np.sqrt(width // heads), -1e9)
        x += (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ block["out"]
        x += feed_forward(block, x)
    return normalized(x, p["norm"]) @ p["words"].T


def gpt_loss(p, tokens, heads):
    words = jax.nn.log_softmax(gpt(p, tokens[:, :-1], heads))
    return -jnp.take_along_axis(words, tokens[:, 1:, None], -1).mean()


def gpt_token(p, cache, token, position):
    """The logits after one more token of each text, and the cache with it: per layer, keys and values [batch, heads, length, size]."""
    x = p["words"][token] + p["positions"][position]
    grown = []
    for block, (keys, values) in zip(p["blocks"], cache):
        batch, heads, length, size = keys.shape
        qkv = jnp.split(normalized(x, block["norm1"]) @ block["qkv"], 3, -1)
        q, k, v = (part.reshape(batch, heads, 1, size) for part in qkv)
        keys = lax.dynamic_update_slice_in_dim(keys, k, position, 2)
        values = lax.dynamic_update_slice_in_dim(values, v, position, 2)
        scores = jnp.where(jnp.arange(length) <= position, q @ keys.swapaxes(-1, -2) / np.sqrt(size), -1e9)
        x += (jax.nn.softmax(scores) @ values).reshape(x.shape) @ block["out"]
        x += feed_forward(block, x)
        grown.append((keys, values))
    return normalized(x, p["norm"]) @ p["words"].T, grown


def llama_parameters(layers, width, heads, groups, size, hidden, words, make):
    """Those of Llama 2 and 3 (Touvron et al., 2023): `groups` of heads share keys and values, each of `size` elements."""
    block = {"norm1": make(width), "q": make(width, heads * size, inputs=width), "k": make(width, groups * size, inputs=width),
             "v": make(width, groups * size, inputs=width), "o": make(heads * size, width, inputs=heads * size),
             "norm2": make(width), "gate": make(width, hidden, inputs=width), "up": make(width, hidden, inputs=width),
             "down": make(hidden, width, inputs=hidden)}
    return {"words": make(words, width, inputs=width), "norm": make(width), "head": make(width, words, inputs=width),
            "blocks": [dict(block) for _ in range(layers)]}


def root_mean_square_normalized(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def rotated(x, positions):
    """Rotary embeddings of x [batch, heads, length, size] at positions [length]."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def llama(p, cache, tokens, position, heads, size):
    """The logits after `tokens` [batch, length], of which the first is at `position`, and the cache with them."""
    batch, length = tokens.shape
    positions, x, grown = position + jnp.arange(length), p["words"][tokens], []
    for block, (keys, values) in zip(p["blocks"], cache):
        def split(name):
            return (y @ block[name]).reshape(batch, length, -1, size).transpose(0, 2, 1, 3)

        y = root_mean_square_normalized(x, block["norm1"])
        q, k, v = rotated(split("q"), positions), rotated(split("k"), positions), split("v")
        keys = lax.dynamic_update_slice_in_dim(keys, k, position, 2)
        values = lax.dynamic_update_slice_in_dim(values, v, position, 2)
        groups = keys.shape[1]
        scores = jnp.einsum("bgrtd,bgsd->bgrts", q.reshape(batch, groups, heads // groups, length, size), keys,
                            preferred_element_type=jnp.float32) / size**0.5
        scores = jnp.where(jnp.arange(keys.shape[2]) <= positions[:, None], scores, -1e9)
        mixed = jnp.einsum("bgrts,bgsd->bgrtd", jax.nn.softmax(scores).astype(x.dtype), values)
        x += mixed.reshape(batch, heads, length, size).transpose(0, 2, 1, 3).reshape(batch, length, -1) @ block["o"]
        y = root_mean_square_normalized(x, block["norm2"])
        x += (jax.nn.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
        grown.append((keys, values))
    return root_mean_square_normalized(x[:, -1], p["norm"]) @ p["head"], grown
