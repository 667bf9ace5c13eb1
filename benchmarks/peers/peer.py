"""What the peers of smet-bench have in common: the protocol of tools/smet-bench/Peer.h.

A peer reads its job, one line of JSON, from stdin, answers "ready", and then does one product for every line
"LAYER OP", answering the seconds that it took, or "none" if it cannot do this product at all.
"""

import json
import os
import sys
import time


class Job:
    """A job of smet-bench linear or layer: layers (rows N, columns K of each weight), block (R, C), tokens T, threads,
    density."""

    def __init__(self, fields):
        self.layers = [tuple(shape) for shape in fields["layers"]]
        self.block = tuple(fields["block"])
        self.tokens = fields["tokens"]
        self.threads = fields["threads"]
        self.density = fields["density"]

    def csr(self, layer):
        """A random topology of the layer as CSR of single weights: (positions, columns), int32."""
        import numpy as np

        (n, k), (r, c) = self.layers[layer], self.block
        blocks = (n // r) * (k // c)
        nnz = max(round(self.density * blocks), 1)
        active = np.random.default_rng(layer).permutation(blocks)[:nnz]
        mask = np.zeros(blocks, bool)
        mask[active] = True
        mask = np.repeat(np.repeat(mask.reshape(n // r, k // c), r, 0), c, 1)
        rows, columns = np.nonzero(mask)
        positions = np.searchsorted(rows, np.arange(n + 1))
        return positions.astype(np.int32), columns.astype(np.int32)

    def numbers(self, *shape):
        import numpy as np

        return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)


def serve(products, read=Job):
    """Serves stdin. products(job) gives for each layer {"fwd": call, "dx": call, "dw": call}; a product that cannot be
    done is missing. Each call returns when its result is there; if it returns a number, that is the answer in
    place of the seconds. read makes the job of its JSON fields, threads among them."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    job = read(json.loads(sys.stdin.readline()))
    # Some libraries have threads of their own that no variable limits.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job.threads])
    try:
        layers = products(job)
        answer = "ready"
    except Exception as error:  # whatever it is, smet-bench prints it
        layers = []
        answer = f"error: {type(error).__name__}: {error}".replace("\n", " ")
    print(answer, file=answers, flush=True)
    for line in sys.stdin:
        layer, op = line.split()
        call = layers[int(layer)].get(op)
        start = time.perf_counter()
        result = call() if call else "none"
        seconds = time.perf_counter() - start
        print(result if isinstance(result, (str, int, float)) else seconds, file=answers, flush=True)
