"""MKL's inspector-executor sparse BLAS, through sparse-dot-mkl. It has no product sampled at a CSR's entries."""

import scipy.sparse
from peer import serve


def products(job):
    import numpy as np
    from sparse_dot_mkl import dot_product_mkl, mkl_set_num_threads

    mkl_set_num_threads(job.threads)

    def layer(i, n, k):
        positions, columns = job.csr(i)
        w = scipy.sparse.csr_matrix((job.numbers(len(columns)), columns, positions), (n, k))
        wt = w.T.tocsr()
        x, dy = job.numbers(k, job.tokens), job.numbers(n, job.tokens)
        y, dx = np.empty_like(dy), np.empty_like(x)
        return {"fwd": lambda: dot_product_mkl(w, x, out=y), "dx": lambda: dot_product_mkl(wt, dy, out=dx)}

    return [layer(i, n, k) for i, (n, k) in enumerate(job.layers)]


serve(products)
