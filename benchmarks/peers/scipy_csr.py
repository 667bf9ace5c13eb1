"""SciPy's CSR: sparse times dense, on one thread. It has no product sampled at a CSR's entries."""

import scipy.sparse
from peer import serve


def products(job):
    def layer(i, n, k):
        positions, columns = job.csr(i)
        w = scipy.sparse.csr_matrix((job.numbers(len(columns)), columns, positions), (n, k))
        wt = w.T.tocsr()
        x, dy = job.numbers(k, job.tokens), job.numbers(n, job.tokens)
        return {"fwd": lambda: w @ x, "dx": lambda: wt @ dy}

    return [layer(i, n, k) for i, (n, k) in enumerate(job.layers)]


serve(products)
