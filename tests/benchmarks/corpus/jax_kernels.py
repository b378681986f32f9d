"""The kernels for JAX, with loops as it wants them."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

jax.config.update("jax_enable_x64", True)


@partial(jax.jit, static_argnums=1)
def seidel_2d(a, steps):
    def row(i, a):
        above, here, below = a[i - 1], a[i], a[i + 1]
        known = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:] + below[:-2] + below[1:-1] + below[2:]
        _, new = lax.scan(lambda left, v: ((v + left) / 9.0,) * 2, here[0], known)
        return a.at[i, 1:-1].set(new)

    return lax.fori_loop(0, steps, lambda _, a: lax.fori_loop(1, a.shape[0] - 1, row, a), a)


@jax.jit
def lu(a):
    at = jnp.arange(a.shape[0])

    def step(k, a):
        f = jnp.where(at > k, a[:, k] / a[k, k], 0.0)
        a = a - jnp.where((at > k)[None, :], jnp.outer(f, a[k]), 0.0)
        return a.at[:, k].set(jnp.where(at > k, f, a[:, k]))

    return lax.fori_loop(0, a.shape[0], step, a)


@jax.jit
def cholesky(a):
    at = jnp.arange(a.shape[0])

    def step(k, a):
        root = jnp.sqrt(a[k, k])
        col = jnp.where(at > k, a[:, k] / root, 0.0)
        a = a - jnp.where((at[:, None] >= at[None, :]), jnp.outer(col, col), 0.0)
        return a.at[:, k].set(jnp.where(at > k, col, a[:, k])).at[k, k].set(root)

    return lax.fori_loop(0, a.shape[0], step, a)


@jax.jit
def trisolv(l, b):
    return lax.fori_loop(0, len(b), lambda i, x: x.at[i].set((b[i] - l[i] @ x) / l[i, i]), jnp.zeros_like(b))


@jax.jit
def durbin(r):
    n = len(r)
    at = jnp.arange(n)

    def step(k, state):
        y, alpha, beta = state
        beta = beta * (1 - alpha * alpha)
        flip = jnp.where(at < k, y[(k - 1 - at) % n], 0.0)
        alpha = -(r[k] + jnp.dot(r, flip)) / beta
        return (y + alpha * flip).at[k].set(alpha), alpha, beta

    return lax.fori_loop(1, n, step, (jnp.zeros(n).at[0].set(-r[0]), -r[0], jnp.ones(())))[0]


@partial(jax.jit, static_argnums=2)
def jacobi_2d(a, b, steps):
    def star(a):
        return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    def step(_, ab):
        b = ab[1].at[1:-1, 1:-1].set(star(ab[0]))
        return ab[0].at[1:-1, 1:-1].set(star(b)), b

    return lax.fori_loop(1, steps, step, (a, b))[0]


@partial(jax.jit, static_argnums=2)
def heat_3d(a, b, steps):
    def cube(a):
        c = a[1:-1, 1:-1, 1:-1]
        return (
            0.125 * (a[2:, 1:-1, 1:-1] - 2 * c + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2 * c + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2 * c + a[1:-1, 1:-1, :-2])
            + c
        )

    def step(_, ab):
        b = ab[1].at[1:-1, 1:-1, 1:-1].set(cube(ab[0]))
        return ab[0].at[1:-1, 1:-1, 1:-1].set(cube(b)), b

    return lax.fori_loop(1, steps, step, (a, b))[0]


@jax.jit
def fdtd_2d(ex, ey, hz, source):
    def step(state, s):
        ex, ey, hz = state
        ey = ey.at[0, :].set(s).at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return lax.scan(step, (ex, ey, hz), source)[0][2]


@jax.jit
def gramschmidt(a):
    m, n = a.shape
    at = jnp.arange(n)

    def step(k, state):
        a, q, r = state
        norm = jnp.sqrt(jnp.dot(a[:, k], a[:, k]))
        col = a[:, k] / norm
        row = jnp.where(at > k, col @ a, 0.0).at[k].set(norm)
        return a - jnp.outer(col, jnp.where(at > k, row, 0.0)), q.at[:, k].set(col), r.at[k].set(row)

    return lax.fori_loop(0, n, step, (a, jnp.zeros((m, n)), jnp.zeros((n, n))))[1:]


@jax.jit
def vertical_advection(u, w, dt):
    depth = u.shape[2]
    u, w = jnp.moveaxis(u, 2, 0), jnp.moveaxis(w, 2, 0)
    below = (0.25 * w[:depth]).at[0].set(0.0)
    above = (0.25 * w[1:]).at[-1].set(0.0)
    up = jnp.concatenate([u[1:], u[-1:]])
    down = jnp.concatenate([u[:1], u[:-1]])
    rhs = u / dt - above * (up - u) + below * (down - u)

    def forward(cd, x):
        below, above, rhs = x
        m = 1.0 / (1.0 / dt - above + below + below * cd[0])
        new = above * m, (rhs + below * cd[1]) * m
        return new, new

    def back(out, cd):
        new = cd[1] - cd[0] * out
        return new, new

    zero = jnp.zeros(u.shape[1:])
    _, cd = lax.scan(forward, (zero, zero), (below, above, rhs))
    return jnp.moveaxis(lax.scan(back, zero, cd, reverse=True)[1], 0, 2)


@jax.jit
def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)
