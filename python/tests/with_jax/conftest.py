# SPDX-License-Identifier: Apache-2.0
"""Two devices on the CPU, for the tests of sharding, and f64; before JAX starts."""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
