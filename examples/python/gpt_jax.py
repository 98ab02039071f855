# SPDX-License-Identifier: Apache-2.0
"""gpt_jax.py - the small GPT of gpt.py in JAX.

    python examples/python/gpt_jax.py [--activations jax|vjp] [--steps 100]

--activations vjp takes softmax, gelu and the loss from vjp.jax. Prints the loss, the time of a step and
tokens per second, without the first step, which compiles.
"""
import argparse
import pathlib
import statistics
import time
import types

import jax
import jax.numpy as jnp
import numpy as np
import vjp.jax

ROOT = pathlib.Path(__file__).parents[2]
CONTEXT, WIDTH, HEADS, LAYERS, BATCH, RATE = 64, 64, 4, 2, 16, 1e-3


def cross_entropy(src, label, axis):
    """Which jax.nn has not; as vjp.jax.cross_entropy."""
    label = jnp.expand_dims(label, axis)
    return -jnp.take_along_axis(jax.nn.log_softmax(src, axis), label, axis).squeeze(axis)


FUNCTIONS = {"jax": types.SimpleNamespace(softmax=jax.nn.softmax, gelu=jax.nn.gelu,
                                          cross_entropy=cross_entropy),
             "vjp": vjp.jax}


def parameters(key):
    """Weights drawn at random; the model has no others: no biases, no scales of its norms."""
    shapes = {"tokens": (256, WIDTH), "places": (CONTEXT, WIDTH), "head": (WIDTH, 256)}
    for layer in range(LAYERS):
        shapes |= {f"qkv{layer}": (WIDTH, 3 * WIDTH), f"out{layer}": (WIDTH, WIDTH),
                   f"up{layer}": (WIDTH, 4 * WIDTH), f"down{layer}": (4 * WIDTH, WIDTH)}
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, shape) / np.sqrt(WIDTH)
            for k, (name, shape) in zip(keys, shapes.items())}


def normalized(x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attention(use, weights, layer, x):
    batch, length, _ = x.shape
    q, k, v = (t.reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)
               for t in jnp.split(x @ weights[f"qkv{layer}"], 3, -1))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS)
    past = jnp.tril(jnp.ones((length, length), bool))
    mixed = use.softmax(jnp.where(past, scores, -jnp.inf), axis=-1) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ weights[f"out{layer}"]


def loss(use, weights, text):
    x = weights["tokens"][text[:, :-1]] + weights["places"]
    for layer in range(LAYERS):
        x = x + attention(use, weights, layer, normalized(x))
        x = x + use.gelu(normalized(x) @ weights[f"up{layer}"]) @ weights[f"down{layer}"]
    return use.cross_entropy(normalized(x) @ weights["head"], text[:, 1:], axis=-1).mean()


def adam(weights, gradients, moments, step):
    """The weights and moments after one step of Adam."""
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradients)
    rate = RATE * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
    return weights, (first, second)


def batches():
    """Bytes of the documentation, one more than is read: what follows is to be predicted."""
    data = b"".join(path.read_bytes() for path in sorted((ROOT / "docs").glob("*.md")))
    data, random = np.frombuffer(data, np.uint8).astype(np.int32), np.random.default_rng(0)
    while True:
        starts = random.integers(len(data) - CONTEXT - 1, size=BATCH)
        yield data[starts[:, None] + np.arange(CONTEXT + 1)]


def train(use, steps):
    """The losses of all steps, and the seconds that each took."""
    @jax.jit
    def update(weights, moments, step, text):
        value, gradients = jax.value_and_grad(lambda weights: loss(use, weights, text))(weights)
        return value, *adam(weights, gradients, moments, step)

    weights = parameters(jax.random.key(0))
    zeros = jax.tree.map(jnp.zeros_like, weights)
    moments, losses, seconds = (zeros, zeros), [], []
    for step, text in zip(range(1, steps + 1), batches()):
        start = time.perf_counter()
        value, weights, moments = update(weights, moments, step, text)
        losses.append(float(value))
        seconds.append(time.perf_counter() - start)
    return losses, seconds


def main():
    parser = argparse.ArgumentParser(description="trains a small GPT on this repository's docs")
    parser.add_argument("--activations", choices=FUNCTIONS, default="jax")
    parser.add_argument("--steps", type=int, default=100, help="at least 2")
    args = parser.parse_args()
    losses, seconds = train(FUNCTIONS[args.activations], args.steps)
    step = statistics.median(seconds[1:])
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {1000 * step:.1f} ms per step, "
          f"{BATCH * CONTEXT / step:.0f} tokens/s")


if __name__ == "__main__":
    main()
