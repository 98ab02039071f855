# SPDX-License-Identifier: Apache-2.0
"""Gradients in a JAX program: softmax of vjp.jax in the place of jax.nn's."""

import jax
import jax.numpy as jnp

import vjp.jax

scores = jnp.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
values = jnp.array([10.0, 20.0, 40.0])


def expected_value(scores):
    return (vjp.jax.softmax(scores, axis=-1) * values).sum()


print(jax.jit(jax.grad(expected_value))(scores))
print(jax.vmap(jax.grad(expected_value))(scores[:, None])[:, 0])
