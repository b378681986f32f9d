/* The workloads and their gradients as one writes them in C; compiled by the benchmark runner (-O3 -ffast-math -march=native). */
#include <math.h>
#include <string.h>

#define HALF_PI 1.57079632679489661923 /* sin and cos of one number become sincos, which has no vector form */

double chain(long n, const double *restrict x, double *restrict dx) {
    double total = 0;
    for (long i = 0; i < n; i++) {
        double xi = x[i], e = exp(-0.5 * xi), q = 1 + xi * xi, s = sin(xi) * e, th = tanh(s + xi), t = th / q;
        double root = sqrt(xi + 0.25), u = log(1 + t * t) + root, w = u * s, v = sin(w + HALF_PI) - u / (2 + t);
        double dv = 2 * v, dw = -sin(w) * dv, du = dw * s - dv / (2 + t);
        double dt = s + dv * u / ((2 + t) * (2 + t)) + du * 2 * t / (1 + t * t), da = dt / q * (1 - th * th), ds = t + dw * u + da;
        total += v * v + s * t;
        dx[i] = du * 0.5 / root - dt * t / q * 2 * xi + da + ds * (sin(xi + HALF_PI) * e - 0.5 * s);
    }
    return total;
}

/* one pass over X: each row gives its score and at once its share of the gradient */
double logistic(long n, long d, const double *restrict w, double b, const double *restrict X, const double *restrict y, double *restrict dw, double *db) {
    double total = 0, sum = 0;
    memset(dw, 0, d * sizeof *dw);
    for (long i = 0; i < n; i++) {
        const double *row = X + i * d;
        double z = b;
        for (long j = 0; j < d; j++) z += row[j] * w[j];
        double e = exp(-fabs(z)), r = ((z > 0 ? 1 : e) / (1 + e) - y[i]) / n;
        total += (z > 0 ? z : 0) + log1p(e) - y[i] * z;
        sum += r;
        for (long j = 0; j < d; j++) dw[j] += r * row[j];
    }
    *db = sum;
    return total / n;
}

/* u, v: work of n numbers each; the equation is linear and its own adjoint but for the ends, so nothing is kept */
double heat(long n, long steps, const double *start, const double *target, double *d, double *u, double *v) {
    double total = 0;
    memcpy(u, start, n * sizeof *u);
    v[0] = u[0], v[n - 1] = u[n - 1];
    for (long s = 0; s < steps; s++) {
        for (long i = 1; i < n - 1; i++) v[i] = u[i] + 0.2 * (u[i + 1] - 2 * u[i] + u[i - 1]);
        double *swap = u; u = v; v = swap;
    }
    for (long i = 0; i < n; i++) total += (u[i] - target[i]) * (u[i] - target[i]), u[i] = 2 * (u[i] - target[i]);
    for (long s = 0; s < steps; s++) {
        v[0] = u[0] + 0.2 * u[1], v[n - 1] = u[n - 1] + 0.2 * u[n - 2];
        v[1] = 0.6 * u[1] + 0.2 * u[2], v[n - 2] = 0.6 * u[n - 2] + 0.2 * u[n - 3];
        for (long i = 2; i < n - 2; i++) v[i] = 0.6 * u[i] + 0.2 * (u[i - 1] + u[i + 1]);
        double *swap = u; u = v; v = swap;
    }
    memcpy(d, u, n * sizeof *d);
    return total;
}

/* h: all states, (steps + 1) * n * n numbers; g, v: n * n each, the cotangent inside with zeros around it; that of the edge is in d */
double phases(long n, long steps, const double *start, const double *target, double *d, double *h, double *g, double *v) {
    double total = 0;
    long m = n * n;
    memcpy(h, start, m * sizeof *h);
    for (long s = 0; s < steps; s++) {
        const double *restrict a = h + s * m;
        double *restrict b = h + (s + 1) * m;
        memcpy(b, a, n * sizeof *b), memcpy(b + m - n, a + m - n, n * sizeof *b);
        for (long i = 1; i < n - 1; i++) {
            b[i * n] = a[i * n], b[i * n + n - 1] = a[i * n + n - 1];
            for (long k = i * n + 1; k < i * n + n - 1; k++)
                b[k] = a[k] + 0.1 * (a[k + n] + a[k - n] + a[k + 1] + a[k - 1] - 4 * a[k]) + 0.05 * a[k] * (1 - a[k] * a[k]);
        }
    }
    memset(g, 0, m * sizeof *g), memset(v, 0, m * sizeof *v);
    for (long k = 0; k < m; k++) {
        double e = h[steps * m + k] - target[k];
        long i = k / n, j = k % n;
        total += e * e, d[k] = 2 * e;
        if (i > 0 && i < n - 1 && j > 0 && j < n - 1) g[k] = 2 * e;
    }
    for (long s = steps - 1; s >= 0; s--) {
        const double *restrict c = h + s * m, *restrict a = g;
        double *restrict b = v;
        for (long j = 1; j < n - 1; j++) {
            d[j] += 0.1 * a[n + j], d[m - n + j] += 0.1 * a[m - 2 * n + j];
            d[j * n] += 0.1 * a[j * n + 1], d[j * n + n - 1] += 0.1 * a[j * n + n - 2];
        }
        for (long i = 1; i < n - 1; i++)
            for (long k = i * n + 1; k < i * n + n - 1; k++)
                b[k] = a[k] * (0.65 - 0.15 * c[k] * c[k]) + 0.1 * (a[k + n] + a[k - n] + a[k + 1] + a[k - 1]);
        double *swap = g; g = v; v = swap;
    }
    for (long i = 1; i < n - 1; i++) memcpy(d + i * n + 1, g + i * n + 1, (n - 2) * sizeof *d);
    return total;
}

/* the part of a sum that does not wait for the last point comes first; a: work of n * n numbers */
double gauss_seidel(long n, long sweeps, const double *start, double *d, double *a) {
    double total = 0;
    memcpy(a, start, n * n * sizeof *a);
    for (long s = 0; s < sweeps; s++)
        for (long i = 1; i < n - 1; i++) {
            double *row = a + i * n, last = row[0];
            for (long j = 1; j < n - 1; j++) row[j] = 0.2 * (row[j] + row[j - n] + row[j + n] + row[j + 1]);
            for (long j = 1; j < n - 1; j++) row[j] = last = row[j] + 0.2 * last;
        }
    for (long k = 0; k < n * n; k++) total += a[k] * a[k], d[k] = 2 * a[k];
    for (long s = 0; s < sweeps; s++)
        for (long i = n - 2; i > 0; i--) {
            double *row = d + i * n, g = 0;
            for (long j = n - 2; j > 0; j--) row[j] = g = 0.2 * (row[j] + g);
            row[0] += g;
            for (long j = 1; j < n - 1; j++) row[j - n] += row[j], row[j + n] += row[j];
            for (long j = n - 1; j > 1; j--) row[j] += row[j - 1];
        }
    return total;
}

double logistic_map(long n, double x, double r, double *dx, double *dr, double *kept) {
    for (long k = 0; k < n; k++) kept[k] = x, x = r * x * (1 - x);
    double gx = 1, gr = 0;
    for (long k = n - 1; k >= 0; k--) gr += gx * (kept[k] * (1 - kept[k])), gx *= r - 2 * r * kept[k];
    *dx = gx, *dr = gr;
    return x;
}

/* forward mode: six tangents beside the state, u_d and v_d for the start (0, 1) and the parameters (2 to 5) */
#define K 6
static void slope(const double *p, double u, double v, const double *ud, const double *vd, double *ku, double *kv, double *kud, double *kvd) {
    *ku = p[0] * u - p[1] * u * v, *kv = p[2] * u * v - p[3] * v;
    double uu = p[0] - p[1] * v, uv = -p[1] * u, vu = p[2] * v, vv = p[2] * u - p[3];
    for (int k = 0; k < K; k++) kud[k] = uu * ud[k] + uv * vd[k], kvd[k] = vu * ud[k] + vv * vd[k];
    kud[2] += u, kud[3] -= u * v, kvd[4] += u * v, kvd[5] -= v;
}

double ode(long steps, const double *y, const double *p, double *dy, double *dp) {
    double h = 10.0 / steps, u = y[0], v = y[1], ud[K] = {1, 0}, vd[K] = {0, 1};
    for (long n = 0; n < steps; n++) {
        double ku = 0, kv = 0, kud[K] = {0}, kvd[K] = {0}, su = 0, sv = 0, sud[K] = {0}, svd[K] = {0};
        for (int stage = 0; stage < 4; stage++) {
            double f = stage == 0 ? 0 : stage == 3 ? h : 0.5 * h, weight = stage == 0 || stage == 3 ? h / 6 : h / 3, xd[K], zd[K];
            for (int k = 0; k < K; k++) xd[k] = ud[k] + f * kud[k], zd[k] = vd[k] + f * kvd[k];
            slope(p, u + f * ku, v + f * kv, xd, zd, &ku, &kv, kud, kvd);
            su += weight * ku, sv += weight * kv;
            for (int k = 0; k < K; k++) sud[k] += weight * kud[k], svd[k] += weight * kvd[k];
        }
        u += su, v += sv;
        for (int k = 0; k < K; k++) ud[k] += sud[k], vd[k] += svd[k];
    }
    for (int k = 0; k < K; k++) (k < 2 ? dy : dp - 2)[k] = 2 * (u * ud[k] + v * vd[k]);
    return u * u + v * v;
}
