"""Signals and images: filters, transforms written out, windows, error diffusion, labels."""

import numpy as np

from tests.benchmarks.corpus.program import Program


def biquads(x, coefficients):
    """A cascade of second-order sections."""
    y = x.copy()
    for s in range(coefficients.shape[0]):
        b0, b1, b2, a1, a2 = coefficients[s]
        z1 = 0.0
        z2 = 0.0
        for n in range(len(y)):
            v = y[n]
            out = b0 * v + z1
            z1 = b1 * v - a1 * out + z2
            z2 = b2 * v - a2 * out
            y[n] = out
    return y


def biquads_data(rng, n):
    return rng.standard_normal(n), np.array(
        [[0.2, 0.4, 0.2, -0.3, 0.1], [0.3, 0.1, 0.05, 0.2, 0.15], [0.5, -0.2, 0.1, -0.4, 0.2]]
    )


def kalman(z, q, r):
    """Position and velocity from noisy positions: filtered states and the log-likelihood."""
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    x = np.zeros(2)
    p = np.eye(2)
    noise = q * np.array([[0.0025, 0.05], [0.05, 1.0]])
    states = np.zeros((len(z), 2))
    ll = 0.0
    for k in range(len(z)):
        x = f @ x
        p = f @ p @ f.T + noise
        y = z[k] - x[0]
        s = p[0, 0] + r
        gain = p[:, 0] / s
        x = x + gain * y
        p = p - np.outer(gain, p[0])
        ll -= 0.5 * (np.log(s) + y * y / s)
        states[k] = x
    return ll, states


def kalman_data(rng, n):
    return np.cumsum(rng.standard_normal(n)), 0.1, 0.5


def bilateral(image, radius, sigma_s, sigma_r):
    n, m = image.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            weight = 0.0
            for k in range(max(0, i - radius), min(n, i + radius + 1)):
                for l in range(max(0, j - radius), min(m, j + radius + 1)):
                    d2 = (i - k) ** 2 + (j - l) ** 2
                    w = np.exp(-d2 / (2 * sigma_s**2) - (image[k, l] - image[i, j]) ** 2 / (2 * sigma_r**2))
                    total += w * image[k, l]
                    weight += w
            out[i, j] = total / weight
    return out


def bilateral_data(rng, n):
    return rng.random((n, n)), 2, 1.5, 0.3


def edges(image, low):
    """Sobel's gradients and suppression of what is no maximum across an edge."""
    gx = np.zeros(image.shape)
    gy = np.zeros(image.shape)
    gx[1:-1, 1:-1] = (image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]) - (
        image[:-2, :-2] + 2 * image[1:-1, :-2] + image[2:, :-2]
    )
    gy[1:-1, 1:-1] = (image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]) - (
        image[:-2, :-2] + 2 * image[:-2, 1:-1] + image[:-2, 2:]
    )
    mag = np.sqrt(gx**2 + gy**2 + 1e-12)
    out = np.zeros(image.shape)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            if mag[i, j] < low:
                continue
            if abs(gx[i, j]) > abs(gy[i, j]):
                a, b = mag[i, j - 1], mag[i, j + 1]
            else:
                a, b = mag[i - 1, j], mag[i + 1, j]
            if mag[i, j] >= a and mag[i, j] >= b:
                out[i, j] = mag[i, j]
    return out


def edges_data(rng, n):
    return np.cumsum(rng.standard_normal((n, n)), axis=0), 1.0


def median_filter(image):
    """The middle of nine, by sorting."""
    out = image.copy()
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            w = image[i - 1 : i + 2, j - 1 : j + 2].flatten()
            out[i, j] = np.sort(w)[4]
    return out


def median_filter_data(rng, n):
    return (rng.random((n, n)),)


def radix_two(re, im):
    """Cooley and Tukey in place: bit reversal, then butterflies."""
    re, im = re.copy(), im.copy()
    n = len(re)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    size = 2
    while size <= n:
        half = size // 2
        for start in range(0, n, size):
            for k in range(half):
                angle = -2 * np.pi * k / size
                c, s = np.cos(angle), np.sin(angle)
                a, b = start + k, start + k + half
                tr = c * re[b] - s * im[b]
                ti = c * im[b] + s * re[b]
                re[b], im[b] = re[a] - tr, im[a] - ti
                re[a], im[a] = re[a] + tr, im[a] + ti
        size *= 2
    return re, im


def radix_two_data(rng, n):
    return rng.standard_normal(n), rng.standard_normal(n)


def wavelets(x, levels):
    """Daubechies' four coefficients, periodic, level by level."""
    r3 = np.sqrt(3.0)
    h = np.array([1 + r3, 3 + r3, 3 - r3, 1 - r3]) / (4 * np.sqrt(2.0))
    y = x.copy()
    n = len(x)
    for _ in range(levels):
        half = n // 2
        low, high = np.zeros(half), np.zeros(half)
        for i in range(half):
            for k in range(4):
                v = y[(2 * i + k) % n]
                low[i] += h[k] * v
                high[i] += (-1) ** k * h[3 - k] * v
        y[:half] = low
        y[half:n] = high
        n = half
    return y


def wavelets_data(rng, n):
    return rng.standard_normal(n), 5


def total_variation(image, weight, iterations):
    """Chambolle's dual projection."""
    px, py = np.zeros(image.shape), np.zeros(image.shape)
    for _ in range(iterations):
        div = np.zeros(image.shape)
        div[:-1, :] += px[:-1, :]
        div[1:, :] -= px[:-1, :]
        div[:, :-1] += py[:, :-1]
        div[:, 1:] -= py[:, :-1]
        u = div - image / weight
        gx, gy = np.zeros(image.shape), np.zeros(image.shape)
        gx[:-1, :] = u[1:, :] - u[:-1, :]
        gy[:, :-1] = u[:, 1:] - u[:, :-1]
        norm = 1 + 0.25 * np.sqrt(gx**2 + gy**2 + 1e-12)
        px = (px + 0.25 * gx) / norm
        py = (py + 0.25 * gy) / norm
    return image - weight * div


def total_variation_data(rng, n):
    return rng.random((n, n)), 0.2, 20


def dither(image):
    """Floyd and Steinberg's diffusion of errors."""
    a = image.copy()
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            old = a[i, j]
            new = 1.0 if old > 0.5 else 0.0
            a[i, j] = new
            err = old - new
            if j + 1 < m:
                a[i, j + 1] += err * 7 / 16
            if i + 1 < n:
                if j > 0:
                    a[i + 1, j - 1] += err * 3 / 16
                a[i + 1, j] += err * 5 / 16
                if j + 1 < m:
                    a[i + 1, j + 1] += err * 1 / 16
    return a


def chamfer(weight, seeds):
    """Distances on a weighted grid by two passes."""
    n, m = seeds.shape
    d = np.where(seeds, 0.0, 1e6)
    for i in range(n):
        for j in range(m):
            best = d[i, j]
            if i > 0:
                best = min(best, d[i - 1, j] + weight[i, j])
            if j > 0:
                best = min(best, d[i, j - 1] + weight[i, j])
            if i > 0 and j > 0:
                best = min(best, d[i - 1, j - 1] + 1.4 * weight[i, j])
            d[i, j] = best
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            best = d[i, j]
            if i < n - 1:
                best = min(best, d[i + 1, j] + weight[i, j])
            if j < m - 1:
                best = min(best, d[i, j + 1] + weight[i, j])
            if i < n - 1 and j < m - 1:
                best = min(best, d[i + 1, j + 1] + 1.4 * weight[i, j])
            d[i, j] = best
    return d


def chamfer_data(rng, n):
    seeds = rng.random((n, n)) < 0.01
    seeds[n // 2, n // 2] = True
    return 0.5 + rng.random((n, n)), seeds


def warp(image, angle, cx, cy):
    """Rotation of an image with bilinear interpolation, pixel by pixel."""
    n, m = image.shape
    out = np.zeros((n, m))
    c, s = np.cos(angle), np.sin(angle)
    for i in range(n):
        for j in range(m):
            y = c * (i - cy) - s * (j - cx) + cy
            x = s * (i - cy) + c * (j - cx) + cx
            i0 = int(np.floor(y))
            j0 = int(np.floor(x))
            if 0 <= i0 < n - 1 and 0 <= j0 < m - 1:
                fy = y - i0
                fx = x - j0
                out[i, j] = (1 - fy) * ((1 - fx) * image[i0, j0] + fx * image[i0, j0 + 1]) + fy * (
                    (1 - fx) * image[i0 + 1, j0] + fx * image[i0 + 1, j0 + 1]
                )
    return out


def warp_data(rng, n):
    return rng.random((n, n)), 0.3, n / 2, n / 2


def spectrogram(x, width, hop):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    frames = (len(x) - width) // hop + 1
    out = np.zeros((frames, width // 2 + 1))
    for k in range(frames):
        s = np.fft.rfft(window * x[k * hop : k * hop + width])
        out[k] = np.log(s.real**2 + s.imag**2 + 1e-6)
    return out


def spectrogram_data(rng, n):
    return rng.standard_normal(n), 256, 64


def flood(image, tolerance):
    """Sizes of regions of like brightness, with a stack of our own."""
    n, m = image.shape
    label = np.zeros((n, m), dtype=np.int64)
    stack = np.zeros((n * m, 2), dtype=np.int64)
    sums = np.zeros(n * m)
    count = 0
    for i in range(n):
        for j in range(m):
            if label[i, j] > 0:
                continue
            count += 1
            label[i, j] = count
            stack[0, 0] = i
            stack[0, 1] = j
            top = 1
            while top > 0:
                top -= 1
                a, b = stack[top, 0], stack[top, 1]
                sums[count - 1] += image[a, b] ** 2
                for k in range(4):
                    p = a + (1 if k == 0 else -1 if k == 1 else 0)
                    q = b + (1 if k == 2 else -1 if k == 3 else 0)
                    if 0 <= p < n and 0 <= q < m and label[p, q] == 0 and abs(image[p, q] - image[a, b]) < tolerance:
                        label[p, q] = count
                        stack[top, 0] = p
                        stack[top, 1] = q
                        top += 1
    return sums


def flood_data(rng, n):
    return rng.random((n, n)), 0.25


PROGRAMS = (
    Program(biquads, biquads_data, (500, 50000), (0, 1), about="recurrence in scalars"),
    Program(kalman, kalman_data, (100, 5000), (0, 1, 2), about="small matrices, history"),
    Program(bilateral, bilateral_data, (16, 128), about="windows clipped at borders"),
    Program(edges, edges_data, (32, 400), about="slices, then branches, continue"),
    Program(median_filter, median_filter_data, (16, 128), about="sort of a window"),
    Program(radix_two, radix_two_data, (64, 4096), (0, 1), about="swaps, while, butterflies"),
    Program(wavelets, wavelets_data, (128, 8192), about="shrinking extent, modulo"),
    Program(total_variation, total_variation_data, (32, 192), about="n and n - 1 slices"),
    Program(dither, median_filter_data, (32, 256), about="stores ahead under branches"),
    Program(chamfer, chamfer_data, (32, 256), about="min of neighbours in order"),
    Program(warp, warp_data, (32, 256), (0, 1), about="gather under a branch"),
    Program(spectrogram, spectrogram_data, (2048, 65536), about="FFT of moving slices"),
    Program(flood, flood_data, (24, 200), about="explicit stack, while"),
)
