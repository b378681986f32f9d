"""Code from outside or shared by all kernels: BLAS, LAPACK, the pool of threads."""
