# SPDX-License-Identifier: Apache-2.0
"""Train a network of two layers with NumPy to tell two spirals apart; vjp has the gradients."""

import numpy as np

import vjp

random = np.random.default_rng(0)


def spirals(n):
    """n points, and 0 or 1: the arm that each is on."""
    label = random.integers(0, 2, n)
    t = random.uniform(0.5, 3, n)
    angle = 2 * t + np.pi * label
    points = np.stack([t * np.cos(angle), t * np.sin(angle)], 1) + random.normal(0, 0.05, (n, 2))
    return points.astype(np.float32), label


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def forward(weights, x):
    w1, b1, w2, b2 = weights
    hidden = np.maximum(x @ w1 + b1, 0)
    return hidden, softmax(hidden @ w2 + b2)


def gradients(weights, x, label):
    hidden, dst = forward(weights, x)
    diff_dst = np.zeros_like(dst)  # of the loss: the mean of -log(dst[label])
    rows = np.arange(len(x))
    diff_dst[rows, label] = -1 / (len(x) * np.maximum(dst[rows, label], 1e-30))
    d2 = vjp.softmax_backward(diff_dst, dst, axis=1)
    d1 = d2 @ weights[2].T
    vjp.relu_backward(hidden, d1, out=d1)
    return x.T @ d1, d1.sum(0), hidden.T @ d2, d2.sum(0)


def main():
    sizes = [(2, 64), (64,), (64, 2), (2,)]
    weights = [(random.normal(0, 1, s) / np.sqrt(s[0])).astype(np.float32) for s in sizes]
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    for step in range(1, 1501):
        for w, (m, v), g in zip(weights, moments, gradients(weights, *spirals(256))):  # Adam
            m += 0.1 * (g - m)
            v += 0.01 * (g * g - v)
            w -= 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
    x, label = spirals(2048)
    right = (forward(weights, x)[1].argmax(1) == label).mean()
    print(f"{100 * right:.2f} % of 2048 unseen points")
    assert right > 0.97


if __name__ == "__main__":
    main()
