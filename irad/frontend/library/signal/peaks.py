"""scipy.signal: peaks of sequences, and filters that pick or weigh the neighbours of an element."""

import numpy as np

from irad.frontend.library.calculus import constant
from irad.frontend.library.signal.filters import convolve
from irad.frontend.registry import written

# ---- peaks -------------------------------------------------------------------------------------------------------------------------------


def _maxima(x):
    """Where the middles of the local maxima are; and for each of these, where its plateau begins and ends."""
    n = len(x)
    there, left, right = np.zeros(n, bool), np.zeros(n, np.int64), np.zeros(n, np.int64)
    i = 1
    while i < n - 1:
        if x[i - 1] < x[i]:
            ahead = i + 1
            while ahead < n - 1 and x[ahead] == x[i]:
                ahead = ahead + 1
            if x[ahead] < x[i]:
                middle = (i + ahead - 1) // 2
                there[middle], left[middle], right[middle] = True, i, ahead - 1
                i = ahead
        i = i + 1
    return there, left, right


def _limits(interval):
    """The least and the largest value that a condition asks for."""
    if isinstance(interval, (tuple, list)):
        low, high = interval
        return -np.inf if low is None else low, np.inf if high is None else high
    return interval, np.inf


def _within(values, interval):
    low, high = _limits(interval)
    return (values >= low) & (values <= high)


def _far_apart(there, x, distance):
    """The peaks that stay when lower ones that are nearer than `distance` to a higher one go."""
    apart = int(np.ceil(distance))
    order, n, keep = np.argsort(np.where(there, x, -np.inf), kind="stable"), len(x), there.copy()
    for k in range(n):
        j = order[n - 1 - k]
        if keep[j]:
            for i in range(max(0, j - apart + 1), min(n, j + apart)):
                if i != j:
                    keep[i] = False
    return keep


def _prominence(x, peak, wlen):
    """(prominence, left base, right base) of one peak."""
    first, last = 0, len(x) - 1
    if wlen is not None and wlen >= 2:
        half = int(np.ceil(wlen)) // 2
        first, last = np.maximum(peak - half, 0), np.minimum(peak + half, len(x) - 1)
    i, left, left_min = peak, peak, x[peak]
    while first <= i and x[max(i, 0)] <= x[peak]:
        if x[i] < left_min:
            left, left_min = i, x[i]
        i = i - 1
    i, right, right_min = peak, peak, x[peak]
    while i <= last and x[min(i, len(x) - 1)] <= x[peak]:
        if x[i] < right_min:
            right, right_min = i, x[i]
        i = i + 1
    return x[peak] - np.maximum(left_min, right_min), left, right


def _prominences(x, there, wlen):
    n = len(x)
    height, left, right = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k in range(n):
        if there[k]:
            height[k], left[k], right[k] = _prominence(x, k, wlen)
    return height, left, right


def _width(x, peak, level, first, last):
    """Where the line at `level` meets the flanks of a peak."""
    i = peak
    while first < i and level < x[i]:
        i = i - 1
    left = i * 1.0
    if x[i] < level:
        left = left + (level - x[i]) / (x[i + 1] - x[i])
    i = peak
    while i < last and level < x[i]:
        i = i + 1
    right = i * 1.0
    if x[i] < level:
        right = right - (level - x[i]) / (x[i - 1] - x[i])
    return left, right


def _widths(x, there, rel_height, height, left, right):
    n = len(x)
    level, low, high = x - height * rel_height, np.zeros(n), np.zeros(n)
    for k in range(n):
        if there[k]:
            low[k], high[k] = _width(x, k, level[k], left[k], right[k])
    return high - low, level, low, high


@written("scipy.signal.find_peaks", always=True)
def find_peaks(
    x, height=None, threshold=None, distance=None, prominence=None, width=None, wlen=None, rel_height=0.5, plateau_size=None
):
    """scipy.signal.find_peaks: (positions, properties); heights, prominences and widths have derivatives."""
    x = np.asarray(x) + 0.0
    if x.ndim != 1:
        raise ValueError("`x` must be a 1-D array")
    if distance is not None and distance < 1:
        raise ValueError("`distance` must be greater or equal to 1")
    there, left, right = _maxima(x)
    found = {}
    if plateau_size is not None:
        found.update({"plateau_sizes": right - left + 1, "left_edges": left, "right_edges": right})
        there = there & _within(right - left + 1, plateau_size)
    if height is not None:
        found["peak_heights"] = x
        there = there & _within(x, height)
    if threshold is not None:
        before, after = x - np.roll(x, 1), x - np.roll(x, -1)
        low, high = _limits(threshold)
        there = there & (np.minimum(before, after) >= low) & (np.maximum(before, after) <= high)
        found.update({"left_thresholds": before, "right_thresholds": after})
    if distance is not None:
        there = _far_apart(there, x, distance)
    if prominence is not None or width is not None:
        size, first, last = _prominences(x, there, wlen)
        found.update({"prominences": size, "left_bases": first, "right_bases": last})
        if prominence is not None:
            there = there & _within(size, prominence)
        if width is not None:
            wide, level, low, high = _widths(x, there, rel_height, size, first, last)
            found.update({"widths": wide, "width_heights": level, "left_ips": low, "right_ips": high})
            there = there & _within(wide, width)
    at = np.flatnonzero(there)
    return at, {k: v[at] for k, v in found.items()}


@written("scipy.signal.peak_prominences")
def peak_prominences(x, peaks, wlen=None):
    x, peaks = np.asarray(x) + 0.0, np.asarray(peaks)
    size, first, last = np.zeros(len(peaks)), np.zeros(len(peaks), np.int64), np.zeros(len(peaks), np.int64)
    for k in range(len(peaks)):
        size[k], first[k], last[k] = _prominence(x, peaks[k], wlen)
    return size, first, last


@written("scipy.signal.peak_widths")
def peak_widths(x, peaks, rel_height=0.5, prominence_data=None, wlen=None):
    x, peaks = np.asarray(x) + 0.0, np.asarray(peaks)
    size, first, last = peak_prominences(x, peaks, wlen) if prominence_data is None else prominence_data
    level, low, high = x[peaks] - size * rel_height, np.zeros(len(peaks)), np.zeros(len(peaks))
    for k in range(len(peaks)):
        low[k], high[k] = _width(x, peaks[k], level[k], first[k], last[k])
    return high - low, level, low, high


@written("scipy.signal.argrelextrema", always=True)
def argrelextrema(data, comparator, axis=0, order=1, mode="clip"):
    if int(order) != order or order < 1:
        raise ValueError("Order must be an int >= 1")
    x = constant(np.moveaxis(np.asarray(data), axis, 0))
    n, there = len(x), np.ones(x.shape, bool)
    for k in range(1, order + 1):
        for step in (k, -k):
            at = np.arange(n) + step
            other = x[np.clip(at, 0, n - 1) if mode == "clip" else at % n]
            there = there & comparator(x, other)
    return np.nonzero(np.moveaxis(there, 0, axis))


@written("scipy.signal.argrelmax")
def argrelmax(data, axis=0, order=1, mode="clip"):
    return argrelextrema(data, np.greater, axis, order, mode)


@written("scipy.signal.argrelmin")
def argrelmin(data, axis=0, order=1, mode="clip"):
    return argrelextrema(data, np.less, axis, order, mode)


# ---- filters of neighbours -----------------------------------------------------------------------------------------------------------------


def _median_of(x, sizes):
    if any([k % 2 == 0 for k in sizes]):
        raise ValueError("Each element of kernel_size should be odd.")
    wide = np.pad(x, [(k // 2, k // 2) for k in sizes])
    parts = [wide[tuple([slice(i, i + n) for i, n in zip(at, x.shape)])] for at in np.ndindex(*sizes)]
    return np.median(np.stack(parts, -1), axis=-1)


@written("scipy.signal.medfilt")
def medfilt(volume, kernel_size=None):
    """scipy.signal.medfilt, with zeros outside."""
    x = np.atleast_1d(np.asarray(volume))
    size = 3 if kernel_size is None else kernel_size
    return _median_of(x, [int(size)] * x.ndim if np.ndim(size) == 0 else [int(k) for k in size])


@written("scipy.signal.medfilt2d")
def medfilt2d(input, kernel_size=3):
    """scipy.signal.medfilt2d, with zeros outside."""
    return medfilt(input, kernel_size)


@written("scipy.signal.wiener")
def wiener(im, mysize=None, noise=None):
    x = np.asarray(im) + 0.0
    size = [3] * x.ndim if mysize is None else [mysize] * x.ndim if np.ndim(mysize) == 0 else mysize
    ones = np.ones([int(k) for k in size])
    mean = convolve(x, ones, "same") / ones.size
    spread = convolve(x**2, ones, "same") / ones.size - mean**2
    noise = np.mean(spread) if noise is None else noise
    quiet = spread < noise
    return np.where(quiet, mean, mean + (x - mean) * (1 - noise / np.where(quiet, 1.0, spread)))


_BEYOND = {"fill": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric", "symmetric": "symmetric"}


@written("scipy.signal.convolve2d")
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    return _of_images(np.asarray(in1), np.asarray(in2), mode, boundary, fillvalue, 1)


def _of_images(a, v, mode, boundary, fillvalue, less):
    """The convolution; of mode "same" from the place (size of v - less) // 2 on."""
    if a.ndim != 2 or v.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in _BEYOND:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode == "valid":
        if v.shape[0] >= a.shape[0] and v.shape[1] >= a.shape[1]:
            a, v = v, a
        elif v.shape[0] > a.shape[0] or v.shape[1] > a.shape[1]:
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        return _slid(a, v)
    if mode not in ("full", "same"):
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    m, n = v.shape
    given = {"constant_values": fillvalue} if boundary == "fill" else {}
    whole = _slid(np.pad(a, [(m - 1, m - 1), (n - 1, n - 1)], _BEYOND[boundary], **given), v)
    if mode == "full":
        return whole
    i, j = (m - less) // 2, (n - less) // 2
    return whole[i : i + a.shape[0], j : j + a.shape[1]]


def _slid(a, v):
    """Where v, turned round, lies in a as a whole: directly if it is small, else by Fourier transforms."""
    m, n = a.shape[0] - v.shape[0] + 1, a.shape[1] - v.shape[1] + 1
    if v.size > 64:
        return convolve(a, v, "valid", "fft").astype(np.result_type(a, v))
    out = 0
    for i, j in np.ndindex(*v.shape):
        k, l = v.shape[0] - 1 - i, v.shape[1] - 1 - j
        out = out + v[i, j] * a[k : k + m, l : l + n]
    return out


@written("scipy.signal.correlate2d")
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    """scipy.signal.correlate2d: the second operand is conjugated."""
    a, v = np.asarray(in1), np.asarray(in2)
    if mode == "valid" and v.shape[0] >= a.shape[0] and v.shape[1] >= a.shape[1] and v.shape != a.shape:
        return np.flip(np.conj(convolve2d(v, np.flip(np.conj(a)), mode)))
    return _of_images(a, np.flip(np.conj(v)), mode, boundary, fillvalue, 0)
