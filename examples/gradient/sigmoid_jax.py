# SPDX-License-Identifier: Apache-2.0
import jax
import jax.numpy as jnp

import vjp.jax

src = jnp.array([-1.0, 0.0, 2.0])
dst, gradient = jax.vjp(vjp.jax.sigmoid, src)
(diff_src,) = gradient(jnp.array([10.0, 20.0, 30.0]))

print(*(f"{x:g}" for x in diff_src))
