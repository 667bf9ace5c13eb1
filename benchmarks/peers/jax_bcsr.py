"""jax.experimental.sparse.BCSR: sparse times dense. It has no product sampled at a CSR's entries, so no gradient of the
weight."""

from peer import serve


def products(job):
    import jax
    import numpy as np
    import scipy.sparse
    from jax.experimental import sparse

    multiply = jax.jit(lambda w, x: w @ x)

    def bcsr(w):
        return sparse.BCSR((w.data, w.indices, w.indptr), shape=w.shape)

    def layer(i, n, k):
        positions, columns = job.csr(i)
        values = job.numbers(len(columns))
        w = scipy.sparse.csr_matrix((values, columns, positions), (n, k))
        forward, transposed = bcsr(w), bcsr(w.T.tocsr())
        x, dy = (jax.device_put(job.numbers(f, job.tokens)) for f in (k, n))
        return {
            "fwd": lambda: multiply(forward, x).block_until_ready(),
            "dx": lambda: multiply(transposed, dy).block_until_ready(),
        }

    return [layer(i, n, k) for i, (n, k) in enumerate(job.layers)]


serve(products)
