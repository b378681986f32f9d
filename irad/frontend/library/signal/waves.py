"""scipy.signal: wave forms, responses of filters, and linear systems in continuous time."""

import numpy as np
from scipy import linalg

from irad.errors import UnsupportedError
from irad.frontend.registry import written

# ---- wave forms ------------------------------------------------------------------------------------------------------------------------


@written("scipy.signal.chirp")
def chirp(t, f0, t1, f1, method="linear", phi=0, vertex_zero=True, *, complex=False):
    phase = _chirp_phase(np.asarray(t) + 0.0, f0 * 1.0, t1 * 1.0, f1 * 1.0, method, vertex_zero) + np.deg2rad(phi)
    return np.exp(1j * phase) if complex else np.cos(phase)


def _chirp_phase(t, f0, t1, f1, method, vertex_zero):
    turn = 2 * np.pi
    if method in ("linear", "lin", "li"):
        return turn * (f0 * t + 0.5 * ((f1 - f0) / t1) * t * t)
    if method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2
        return turn * (f0 * t + beta * t**3 / 3 if vertex_zero else f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3)
    if method in ("logarithmic", "log", "lo"):
        if f0 * f1 <= 0.0:
            raise ValueError("For a logarithmic chirp, f0 and f1 must be nonzero and have the same sign.")
        same = f0 == f1
        ratio = np.where(same, 2.0, f1 / f0)
        return turn * np.where(same, f0 * t, t1 / np.log(ratio) * f0 * (ratio ** (t / t1) - 1.0))
    if method in ("hyperbolic", "hyp"):
        if f0 == 0 or f1 == 0:
            raise ValueError("For a hyperbolic chirp, f0 and f1 must be nonzero.")
        same = f0 == f1
        place = -f1 * t1 / np.where(same, 1.0, f0 - f1)
        return turn * np.where(same, f0 * t, -place * f0 * np.log(np.abs(1 - t / place)))
    raise ValueError(
        f"method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', but a value of {method!r} was given."
    )


@written("scipy.signal.square")
def square(t, duty=0.5):
    t, duty = np.asarray(t) + 0.0, np.asarray(duty) + 0.0
    high = np.mod(t, 2 * np.pi) < duty * 2 * np.pi
    return np.where((duty > 1) | (duty < 0), np.nan, np.where(high, 1.0, -1.0))


@written("scipy.signal.sawtooth")
def sawtooth(t, width=1):
    t, w = np.asarray(t) + 0.0, np.asarray(width) + 0.0
    at = np.mod(t, 2 * np.pi)
    rising = at < w * 2 * np.pi
    up = at / (np.pi * np.where(rising, w, 1.0)) - 1
    down = (np.pi * (w + 1) - at) / (np.pi * np.where(rising | (w == 1), 1.0, 1 - w))
    return np.where((w > 1) | (w < 0), np.nan, np.where(rising, up, down))


@written("scipy.signal.gausspulse")
def gausspulse(t, fc=1000, bw=0.5, bwr=-6, tpr=-60, retquad=False, retenv=False):
    if fc < 0:
        raise ValueError(f"Center frequency (fc={fc:.2f}) must be >=0.")
    if bw <= 0:
        raise ValueError(f"Fractional bandwidth (bw={bw:.2f}) must be > 0.")
    if bwr >= 0:
        raise ValueError(f"Reference level for bandwidth (bwr={bwr:.2f}) must be < 0 dB")
    a = -((np.pi * fc * bw) ** 2) / (4.0 * np.log(10.0 ** (bwr / 20.0)))
    if isinstance(t, str):
        if t != "cutoff":
            raise ValueError("If `t` is a string, it must be 'cutoff'")
        if tpr >= 0:
            raise ValueError("Reference level for time cutoff must be < 0 dB")
        return np.sqrt(-np.log(10.0 ** (tpr / 20.0)) / a)
    t = np.asarray(t)
    envelope = np.exp(-a * t * t)
    out = [envelope * np.cos(2 * np.pi * fc * t)]
    if retquad:
        out.append(envelope * np.sin(2 * np.pi * fc * t))
    if retenv:
        out.append(envelope)
    return out[0] if len(out) == 1 else tuple(out)


# ---- responses of filters --------------------------------------------------------------------------------------------------------------------


def _circle(worN, whole, fs, include_nyquist):
    """Frequencies in units of fs, and as angles."""
    if worN is None:
        worN = 512
    if np.ndim(worN) == 0 and isinstance(worN, (int, float)):
        w = np.linspace(0.0, fs if whole else fs / 2, int(worN), endpoint=bool(include_nyquist and not whole))
    else:
        w = np.atleast_1d(np.asarray(worN)) + 0.0
    return w, w * (2 * np.pi / fs)


def _series(c, z):
    """c[0] + c[1] z + c[2] z**2 ..."""
    out = np.zeros_like(z)
    for k in range(len(c)):
        out = out * z + c[len(c) - 1 - k]
    return out


@written("scipy.signal.freqz")
def freqz(b, a=1, worN=512, whole=False, plot=None, fs=2 * np.pi, include_nyquist=False):
    if plot is not None:
        raise UnsupportedError("scipy.signal.freqz with plot=: leave it out")
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    w, angle = _circle(worN, whole, fs, include_nyquist)
    z = np.exp(-1j * angle)
    return w, _series(b, z) / _series(a, z)


@written("scipy.signal.sosfreqz", "scipy.signal.freqz_sos")
def freqz_sos(sos, worN=512, whole=False, fs=2 * np.pi):
    sos = np.asarray(sos)
    w, angle = _circle(worN, whole, fs, False)
    z, out = np.exp(-1j * angle), 1.0
    for k in range(len(sos)):
        out = out * (_series(sos[k, :3], z) / _series(sos[k, 3:], z))
    return w, out


@written("scipy.signal.freqs")
def freqs(b, a, worN=200, plot=None):
    """scipy.signal.freqs at given frequencies."""
    if plot is not None or np.ndim(worN) == 0:
        raise UnsupportedError("scipy.signal.freqs: give the frequencies in worN=, and no plot=")
    w = np.atleast_1d(np.asarray(worN)) + 0.0
    b, a = np.atleast_1d(np.asarray(b)), np.atleast_1d(np.asarray(a))
    return w, _series(b[::-1], 1j * w) / _series(a[::-1], 1j * w)


# ---- linear systems ------------------------------------------------------------------------------------------------------------------------------


@written("scipy.signal.tf2ss")
def tf2ss(num, den):
    """scipy.signal.tf2ss of polynomials that begin with no zero."""
    num, den = np.atleast_1d(np.asarray(num)) + 0.0, np.atleast_1d(np.asarray(den)) + 0.0
    num, den = np.atleast_2d(num) / den[0], den / den[0]
    n, missing = len(den) - 1, len(den) - num.shape[1]
    if missing < 0:
        raise ValueError("Improper transfer function. `num` is longer than `den`.")
    num = np.concatenate((np.zeros((len(num), missing)), num), axis=1)
    if n == 0:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((len(num), 1)), num
    A = np.concatenate((-den[None, 1:], np.eye(n - 1, n)))
    return A, np.eye(n, 1), num[:, 1:] - num[:, :1] * den[1:], num[:, :1]


def _state_space(system):
    """(A, B, C, D) of a system that is given as SciPy's functions take it."""
    if not isinstance(system, (tuple, list)):
        s = system.to_ss()
        return s.A, s.B, s.C, s.D
    if len(system) == 2:
        return tf2ss(*system)
    if len(system) != 4:
        raise UnsupportedError("scipy.signal: a system as (num, den) or (A, B, C, D)")
    return tuple([np.atleast_2d(np.asarray(m)) + 0.0 for m in system])


@written("scipy.signal.cont2discrete", always=True)
def cont2discrete(system, dt, method="zoh", alpha=None):
    """scipy.signal.cont2discrete of (A, B, C, D)."""
    if not isinstance(system, (tuple, list)) or len(system) != 4:
        raise UnsupportedError("scipy.signal.cont2discrete: a system as (A, B, C, D); scipy.signal.tf2ss makes it")
    a, b, c, d = [np.asarray(m) for m in system]
    n, m = b.shape
    if method in ("bilinear", "tustin", "euler", "forward_diff", "backward_diff"):
        alpha = {"bilinear": 0.5, "tustin": 0.5, "backward_diff": 1.0}.get(method, 0.0)
        method = "gbt"
    if method == "gbt":
        if alpha is None:
            raise ValueError("Alpha parameter must be specified for the generalized bilinear transform (gbt) method")
        if alpha < 0 or alpha > 1:
            raise ValueError("Alpha parameter must be within the interval [0,1] for the gbt method")
        left = np.eye(n) - alpha * dt * a
        bd = np.linalg.solve(left, dt * b)
        ad = np.linalg.solve(left, np.eye(n) + (1.0 - alpha) * dt * a)
        return ad, bd, np.linalg.solve(left.T, c.T).T, d + alpha * (c @ bd), dt
    if method == "zoh":
        e = linalg.expm(np.concatenate((np.concatenate((a, b), axis=1) * dt, np.zeros((m, n + m)))))
        return e[:n, :n], e[:n, n:], c, d, dt
    if method == "foh":
        step, whole, late = _ramps(a, b, dt)
        return step, whole - late + step @ late, c, d + c @ late, dt
    if method == "impulse":
        if not np.all(np.abs(d) <= 1e-8):
            raise ValueError("Impulse method is only applicable to strictly proper systems")
        ad = linalg.expm(a * dt)
        return ad, ad @ b * dt, c, c @ b * dt, dt
    raise ValueError(f"Unknown transformation method '{method}'")


def _ramps(a, b, dt):
    """What the state, an input, and an even change of the input during a step add to the next state."""
    n, m = b.shape
    top = np.concatenate((a * dt, b * dt, np.zeros((n, m))), axis=1)
    middle = np.concatenate((np.zeros((m, n + m)), np.eye(m)), axis=1)
    e = linalg.expm(np.concatenate((top, middle, np.zeros((m, n + 2 * m)))))
    return e[:n, :n], e[:n, n : n + m], e[:n, n + m :]


def _followed(A, B, C, D, U, T, X0, interp):
    """The outputs and states at equal times, from inputs that are constant, or change evenly, in between."""
    n = len(A)
    if len(T) > 1 and not np.allclose(np.diff(T), T[1] - T[0]):
        raise ValueError("Time steps are not equally spaced.")
    if T[0] < 0:
        raise ValueError("Initial time must be nonnegative")
    x = np.zeros((len(T), n))
    x[0] = linalg.expm(A * T[0]) @ (np.zeros(n) if X0 is None else np.reshape(X0, n))
    if len(T) > 1:
        step, whole, late = _ramps(A, B, T[1] - T[0])
        for k in range(1, len(T)):
            change = late @ (U[k] - U[k - 1]) if interp else 0.0
            x[k] = step @ x[k - 1] + whole @ U[k - 1] + change
    return x @ C.T + U @ D.T, x


@written("scipy.signal.lsim", always=True)
def lsim(system, U, T, X0=None, interp=True):
    """scipy.signal.lsim: (T, outputs, states)."""
    A, B, C, D = _state_space(system)
    T = np.atleast_1d(np.asarray(T)) + 0.0
    if U is None or isinstance(U, (int, float)) and U == 0:
        U = np.zeros((len(T), B.shape[1]))
    U = np.atleast_1d(np.asarray(U)) + 0.0
    U = U[:, None] if U.ndim == 1 else U
    if U.shape[0] != len(T):
        raise ValueError("U must have the same number of rows as elements in T.")
    if U.shape[1] != B.shape[1]:
        raise ValueError("System does not define that many inputs.")
    y, x = _followed(A, B, C, D, U, T, X0, interp)
    return T, np.squeeze(y), np.squeeze(x)


def _default_times(A, N):
    slowest = np.min(np.abs(np.real(np.linalg.eigvals(A))))
    return np.linspace(0.0, 7.0 / np.where(slowest == 0, 1.0, slowest), 100 if N is None else N)


@written("scipy.signal.step", always=True)
def step(system, X0=None, T=None, N=None):
    """scipy.signal.step: (times, response to an input of 1)."""
    A, B, C, D = _state_space(system)
    T = _default_times(A, N) if T is None else np.asarray(T) + 0.0
    y, _ = _followed(A, B, C, D, np.ones((len(T), B.shape[1])), T, X0, False)
    return T, np.squeeze(y)


@written("scipy.signal.impulse", always=True)
def impulse(system, X0=None, T=None, N=None):
    """scipy.signal.impulse: (times, response to a pulse at time 0)."""
    A, B, C, D = _state_space(system)
    T = _default_times(A, N) if T is None else np.asarray(T) + 0.0
    start = np.reshape(B, -1) + (0.0 if X0 is None else np.reshape(X0, -1))
    y, _ = _followed(A, B, C, D, np.zeros((len(T), B.shape[1])), T, start, False)
    return T, np.squeeze(y)
