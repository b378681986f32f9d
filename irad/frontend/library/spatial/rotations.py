"""scipy.spatial.transform: rotations as unit quaternions (x, y, z, w), one or many along the first axes, and their interpolation."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant
from irad.frontend.registry import written

_ROTATION = "scipy.spatial.transform.Rotation"


def _product(p, q):
    """The rotation q, then p."""
    a, b = p[..., :3], q[..., :3]
    vector = p[..., 3:] * b + q[..., 3:] * a + np.cross(a, b)
    return np.concatenate((vector, p[..., 3:] * q[..., 3:] - np.sum(a * b, -1, keepdims=True)), axis=-1)


def _unit(q):
    """Quaternions of length 1."""
    size = np.sum(q * q, -1, keepdims=True)
    if np.any(size == 0):
        raise ValueError("Found zero norm quaternions in `quat`.")
    return q / np.sqrt(size)


def _conjugate(q):
    return np.concatenate((-q[..., :3], q[..., 3:]), axis=-1)


def quaternion_of(rotation):
    """The quaternions of a rotation that was made here, or outside."""
    if isinstance(rotation, Turn):
        return rotation.quat
    q = rotation._quat
    return q[0] if rotation._single and q.ndim == 2 else q


class Turn:
    """What scipy.spatial.transform.Rotation is."""

    def __init__(self, quat):
        self.quat = quat

    @property
    def single(self):
        return self.quat.ndim == 1

    @property
    def shape(self):
        return self.quat.shape[:-1]

    def __len__(self):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __getitem__(self, k):
        if self.quat.ndim == 1:
            raise TypeError("Single rotation is not subscriptable.")
        return Turn(self.quat[k])

    def __mul__(self, other):
        return Turn(_product(self.quat, quaternion_of(other)))

    def __rmul__(self, other):
        return Turn(_product(quaternion_of(other), self.quat))

    def __pow__(self, n):
        return from_rotvec(n * as_rotvec(self))

    def as_quat(self, canonical=False, *, scalar_first=False):
        return as_quat(self, canonical, scalar_first=scalar_first)

    def as_matrix(self):
        return as_matrix(self)

    def as_rotvec(self, degrees=False):
        return as_rotvec(self, degrees)

    def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
        return as_euler(self, seq, degrees)

    def as_mrp(self):
        return as_mrp(self)

    def apply(self, vectors, inverse=False):
        return apply(self, vectors, inverse)

    def inv(self):
        return inv(self)

    def magnitude(self):
        return magnitude(self)

    def mean(self, weights=None, axis=None):
        return mean(self, weights, axis)


# ---- made of ---------------------------------------------------------------------------------------------------------------------------


@written(f"{_ROTATION}.from_quat", always=True)
def from_quat(quat, *, scalar_first=False):
    q = np.asarray(quat) + 0.0
    if q.shape[-1] != 4:
        raise ValueError(f"Expected `quat` to have shape (..., 4), got {q.shape}.")
    return Turn(_unit(np.roll(q, -1, axis=-1) if scalar_first else q))


def _orthogonal(m):
    """The nearest rotations by Newton's iteration for the polar factor, which two steps of make right in the first derivative."""
    for k in range(40):
        new = 0.5 * (m + np.swapaxes(np.linalg.inv(m), -1, -2))
        change = constant(np.max(np.abs(new - m)))
        m = new
        if k > 0 and change < 1e-15:
            break
    return m


@written(f"{_ROTATION}.from_matrix", always=True)
def from_matrix(matrix, *, assume_valid=False):
    """Rotation.from_matrix; others than rotations are replaced by the nearest ones."""
    m = np.asarray(matrix) + 0.0
    if m.shape[-2:] != (3, 3):
        raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {m.shape}")
    if np.any(np.linalg.det(m) <= 0):
        raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix.")
    m = _orthogonal(m)
    diagonal = np.stack((m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]), axis=-1)
    trace = np.sum(diagonal, -1)
    largest = np.argmax(np.concatenate((diagonal, trace[..., None]), axis=-1), axis=-1)
    found = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [
            1 - trace + 2 * m[..., i, i],
            m[..., j, i] + m[..., i, j],
            m[..., k, i] + m[..., i, k],
            m[..., k, j] - m[..., j, k],
        ]
        found.append(np.stack([parts[(d - i) % 3] for d in range(3)] + [parts[3]], axis=-1))
    last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace]
    found.append(np.stack(last, axis=-1))
    at = largest[..., None]
    q = np.where(at == 0, found[0], np.where(at == 1, found[1], np.where(at == 2, found[2], found[3])))
    return Turn(_unit(q))


@written(f"{_ROTATION}.from_rotvec", always=True)
def from_rotvec(rotvec, degrees=False):
    """Rotation.from_rotvec; smooth at 0."""
    v = np.asarray(rotvec) + 0.0
    if v.shape[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {v.shape}")
    v = np.deg2rad(v) if degrees else v
    square = np.sum(v * v, -1, keepdims=True)
    small = square <= 1e-4
    angle = np.sqrt(np.where(small, 1.0, square))
    near = np.where(small, square, 0.0)
    scale = np.where(small, 0.5 - near / 48 + near**2 / 3840 - near**3 / 645120, np.sin(angle / 2) / angle)
    cosine = np.where(small, 1 - near / 8 + near**2 / 384 - near**3 / 46080, np.cos(angle / 2))
    return Turn(np.concatenate((v * scale, cosine), axis=-1))


@written(f"{_ROTATION}.from_euler", always=True)
def from_euler(seq, angles, degrees=False):
    inside = seq.isupper()
    if not 0 < len(seq) < 4 or not (inside or seq.islower()) or any([c not in "xyz" for c in seq.lower()]):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}")
    if any([a == b for a, b in zip(seq, seq[1:])]):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    a = np.asarray(angles) + 0.0
    a = np.deg2rad(a) if degrees else a
    if len(seq) == 1 and a.ndim == 0:
        a = a[None]
    if a.ndim == 0 or a.shape[-1] != len(seq):
        raise ValueError(f"Expected last dimension of `angles` to match number of sequence axes specified, got {a.shape}")
    total = None
    for k, axis in enumerate(seq.lower()):
        half = 0.5 * a[..., k]
        parts = [np.sin(half) if c == axis else np.zeros_like(half) for c in "xyz"]
        q = np.stack([*parts, np.cos(half)], axis=-1)
        total = q if total is None else (_product(total, q) if inside else _product(q, total))
    return Turn(total)


@written(f"{_ROTATION}.from_mrp", always=True)
def from_mrp(mrp):
    v = np.asarray(mrp) + 0.0
    square = np.sum(v * v, -1, keepdims=True)
    return Turn(np.concatenate((2 * v / (1 + square), (1 - square) / (1 + square)), axis=-1))


@written(f"{_ROTATION}.identity", always=True)
def identity(num=None, *, shape=None):
    lead = (() if num is None else (num,)) if shape is None else ((shape,) if np.ndim(shape) == 0 else tuple(shape))
    return Turn(np.zeros(lead + (4,)) + np.array([0.0, 0.0, 0.0, 1.0]))


@written(f"{_ROTATION}.concatenate", always=True)
def concatenate(rotations):
    if isinstance(rotations, Turn):
        return rotations
    return Turn(np.concatenate([np.atleast_2d(quaternion_of(r)) for r in rotations]))


# ---- as --------------------------------------------------------------------------------------------------------------------------------------


@written(f"{_ROTATION}.as_quat", always=True)
def as_quat(self, canonical=False, *, scalar_first=False):
    q = quaternion_of(self)
    if canonical:
        x, y, z, w = [q[..., k] for k in range(4)]
        turned = (w < 0) | (w == 0) & ((x < 0) | (x == 0) & ((y < 0) | (y == 0) & (z < 0)))
        q = np.where(turned[..., None], -q, q)
    return np.roll(q, 1, axis=-1) if scalar_first else q


@written(f"{_ROTATION}.as_matrix", always=True)
def as_matrix(self):
    return _matrix(quaternion_of(self))


def _matrix(q):
    x, y, z, w = [q[..., k] for k in range(4)]
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _vector(q):
    """The rotation vectors of quaternions, smooth at 0."""
    q = np.where(q[..., 3:] < 0, -q, q)
    square = np.sum(q[..., :3] ** 2, -1, keepdims=True)
    small = square <= 1e-4
    sine = np.sqrt(np.where(small, 1.0, square))
    far = 2 * np.arctan2(sine, q[..., 3:]) / sine
    s = np.where(small, square, 0.0)
    near = 2 * (1 + s / 6 + 3 * s**2 / 40 + 15 * s**3 / 336 + 105 * s**4 / 3456)  # arcsin(sine) / sine
    return q[..., :3] * np.where(small, near, far)


@written(f"{_ROTATION}.as_rotvec", always=True)
def as_rotvec(self, degrees=False):
    v = _vector(quaternion_of(self))
    return np.rad2deg(v) if degrees else v


@written(f"{_ROTATION}.as_mrp", always=True)
def as_mrp(self):
    q = quaternion_of(self)
    q = np.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


@written(f"{_ROTATION}.as_euler", always=True)
def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
    """Rotation.as_euler: E. Bernardes and S. Viollet, Quaternion to Euler angles conversion, PLoS ONE 17 (2022)."""
    q, outside = quaternion_of(self), seq.islower()
    if len(seq) != 3 or not (outside or seq.isupper()):
        raise ValueError(f"Expected 3 axes, got {seq}.")
    i, j, k = ["xyz".index(c) for c in (seq if outside else seq[::-1].lower())]
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    if symmetric:
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    else:
        a, b = q[..., 3] - q[..., j], q[..., i] + q[..., k] * sign
        c, d = q[..., j] + q[..., 3], q[..., k] * sign - q[..., i]
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    low, high = np.abs(middle) <= 1e-7, np.abs(middle - np.pi) <= 1e-7
    half_sum = np.arctan2(np.where(high, 0.0, b), np.where(high, 1.0, a))
    half_difference = np.arctan2(np.where(low, 0.0, d), np.where(low, 1.0, c))
    early, late = half_sum - half_difference, half_sum + half_difference
    first, third = (early, late) if outside else (late, early)
    first = np.where(low, 2 * half_sum, np.where(high, 2 * half_difference * (-1 if outside else 1), first))
    third = np.where(low | high, 0.0, third)
    if not symmetric:
        first, third = (first, third * sign) if outside else (first * sign, third)
        middle = middle - np.pi / 2
    out = np.stack((first, middle, third), axis=-1)
    out = np.where(out < -np.pi, out + 2 * np.pi, np.where(out > np.pi, out - 2 * np.pi, out))
    return np.rad2deg(out) if degrees else out


# ---- what is done with them ------------------------------------------------------------------------------------------------------------------------


@written(f"{_ROTATION}.apply", always=True)
def apply(self, vectors, inverse=False):
    m, v = _matrix(quaternion_of(self)), np.asarray(vectors) + 0.0
    if v.shape[-1] != 3:
        raise ValueError(f"Expected input of shape (..., 3), got {v.shape}.")
    m = np.swapaxes(m, -1, -2) if inverse else m
    return np.sum(m * v[..., None, :], axis=-1)


@written(f"{_ROTATION}.inv", always=True)
def inv(self):
    return Turn(_conjugate(quaternion_of(self)))


@written(f"{_ROTATION}.magnitude", always=True)
def magnitude(self):
    q = quaternion_of(self)
    return (2 * np.arctan2(np.sqrt(np.sum(q[..., :3] ** 2, -1)), np.abs(q[..., 3])))[()]


@written(f"{_ROTATION}.__mul__", always=True)
def multiply(self, other):
    """One that was made outside, after another one."""
    return Turn(_product(quaternion_of(self), quaternion_of(other)))


@written(f"{_ROTATION}.__pow__", always=True)
def power(self, n, modulus=None):
    """One that was made outside, n times."""
    return from_rotvec(n * as_rotvec(self))


@written(f"{_ROTATION}.mean", always=True)
def mean(self, weights=None, axis=None):
    if axis is not None:
        raise UnsupportedError("Rotation.mean with axis=: leave it out")
    q = quaternion_of(self).reshape((-1, 4))
    w = np.ones(len(q)) if weights is None else np.asarray(weights).reshape(-1)
    _, v = np.linalg.eigh((q.T * w) @ q)
    return Turn(v[:, -1])


@written(f"{_ROTATION}.align_vectors", always=True)
def align_vectors(a, b, weights=None, return_sensitivity=False):
    """Rotation.align_vectors of two or more vectors with finite weights: (the rotation, root of the weighted sum of squares left)."""
    if return_sensitivity:
        raise UnsupportedError("Rotation.align_vectors with return_sensitivity=True")
    a, b = np.asarray(a) + 0.0, np.asarray(b) + 0.0
    if a.ndim != 2 or len(a) < 2 or a.shape != b.shape:
        raise UnsupportedError("Rotation.align_vectors: two arrays of the shape (N, 3), of two or more vectors")
    w = np.ones(len(a)) if weights is None else np.asarray(weights) + 0.0
    u, s, vh = np.linalg.svd((a.T * w) @ b)
    flip = np.where(np.linalg.det(u @ vh) < 0, -1.0, 1.0)
    signs = np.where(np.arange(3) == 2, flip, 1.0)
    left = np.maximum(np.sum(w * np.sum(a**2 + b**2, axis=1)) - 2 * np.sum(s * signs), 0.0)
    return from_matrix((u * signs) @ vh), np.sqrt(left)


class _Path:
    """What scipy.spatial.transform.Slerp is."""

    def __init__(self, times, quats):
        self.times, self.quats = times, quats
        self.steps = _vector(_product(_conjugate(quats[:-1]), quats[1:]))

    def __call__(self, times):
        return _on_path(self.times, self.quats, self.steps, times)


def _on_path(knots, quats, steps, times):
    t = np.asarray(times) + 0.0
    if np.any((t < knots[0]) | (t > knots[-1])):
        raise ValueError(f"Interpolation times must be within the range [{knots[0]}, {knots[-1]}], both inclusive.")
    j = np.clip(np.searchsorted(knots, t) - 1, 0, len(knots) - 2)
    share = (t - knots[j]) / (knots[j + 1] - knots[j])
    return Turn(_product(quats[j], from_rotvec(steps[j] * share[..., None]).quat))


@written("scipy.spatial.transform.Slerp", always=True)
def slerp(times, rotations):
    t, q = np.asarray(times) + 0.0, quaternion_of(rotations)
    if q.ndim != 2 or len(q) < 2:
        raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
    if t.shape != (len(q),):
        raise ValueError(f"Expected number of rotations to be equal to number of timestamps given, got {len(q)} rotations")
    if np.any(np.diff(t) <= 0):
        raise ValueError("Times must be in strictly increasing order.")
    return _Path(t, q)


@written("scipy.spatial.transform.Slerp.__call__", always=True)
def evaluate(self, times):
    """A Slerp that was made outside."""
    first = self.rotations._quat
    last = _product(first[-1], from_rotvec(self.rotvecs[-1]).quat)
    return _on_path(self.times, np.concatenate((first, last[None])), self.rotvecs, times)
