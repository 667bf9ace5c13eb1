"""MLIR's own sparsifier: linalg on sparse_tensor, compiled by `mlir-opt --sparsifier` and clang -O3, on one thread (its
parallel strategies are prototypes). No gradient of the weight: LLVM 22.1 does not compile an SDDMM into an assembled
tensor without its runtime library.

A topology of square blocks is stored as BSR, any other as CSR. Activations are [features, tokens].
"""

import ctypes
import os
import subprocess
import tempfile

import numpy as np
from peer import serve

LLVM = "/usr/lib/llvm-22/bin/"
CSR = "(i, j) -> (i : dense, j : compressed)"
# y[i, t] += w[i, j] * x[j, t], the weight in storage order outermost.
SPMM = """
#W = #sparse_tensor.encoding<{{ map = {map}, posWidth = 32, crdWidth = 32 }}>
func.func @main(%p: tensor<?xi32>, %c: tensor<?xi32>, %v: tensor<?xf32>, %x: tensor<{k}x{t}xf32>,
                %y: tensor<{n}x{t}xf32> {{bufferization.writable = true}}) -> tensor<{n}x{t}xf32>
    attributes {{llvm.emit_c_interface}} {{
  %w = sparse_tensor.assemble (%p, %c), %v : (tensor<?xi32>, tensor<?xi32>), tensor<?xf32> to tensor<{n}x{k}xf32, #W>
  %r = linalg.matmul ins(%w, %x : tensor<{n}x{k}xf32, #W>, tensor<{k}x{t}xf32>)
                     outs(%y : tensor<{n}x{t}xf32>) -> tensor<{n}x{t}xf32>
  return %r : tensor<{n}x{t}xf32>
}}
"""


def compile_module(text, folder):
    """The compiled @main of a module."""
    source = tempfile.mkdtemp(dir=folder)
    options = (
        "--sparsifier=enable-runtime-library=false vl=16 reassociate-fp-reductions=true enable-index-optimizations=true"
    )
    llvm = subprocess.run([LLVM + "mlir-opt", options], input=text, capture_output=True, text=True)
    if llvm.returncode:
        raise RuntimeError(llvm.stderr[:300])
    ir = subprocess.run(
        [LLVM + "mlir-translate", "--mlir-to-llvmir"], input=llvm.stdout, capture_output=True, text=True
    )
    with open(source + "/main.ll", "w") as file:
        file.write(ir.stdout)
    library = source + "/main.so"
    subprocess.run(
        [
            LLVM + "clang",
            "-O3",
            "-march=native",
            "-mprefer-vector-width=512",
            "-shared",
            "-fPIC",
            "-Wno-override-module",
            source + "/main.ll",
            "-o",
            library,
            "-lm",
        ],
        check=True,
    )
    return ctypes.CDLL(library)._mlir_ciface_main


def descriptor(array):
    """The C form of a memref on an array, which must outlive it."""

    class MemRef(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * array.ndim),
            ("strides", ctypes.c_int64 * array.ndim),
        ]

    strides = [s // array.itemsize for s in array.strides]
    return MemRef(
        array.ctypes.data,
        array.ctypes.data,
        0,
        (ctypes.c_int64 * array.ndim)(*array.shape),
        (ctypes.c_int64 * array.ndim)(*strides),
    )


def product(function, arrays):
    """A call of the function; the result descriptor comes first."""
    memrefs = [descriptor(a) for a in arrays]
    result = descriptor(arrays[-1])
    pointers = [ctypes.byref(m) for m in [result] + memrefs]
    keep = (arrays, memrefs, result)
    return lambda: (function(*pointers), keep)


def products(job):
    if job.threads != 1:
        return [{} for _ in job.layers]
    import scipy.sparse

    side = job.block[0] if job.block[0] == job.block[1] and job.block[0] > 1 else 0
    bsr = (
        f"(i, j) -> (i floordiv {side} : dense, j floordiv {side} : compressed, "
        f"i mod {side} : dense, j mod {side} : dense)"
    )
    folder = tempfile.mkdtemp()
    compiled = {}

    def spmm(n, k):
        if (n, k) not in compiled:
            compiled[n, k] = compile_module(SPMM.format(map=bsr if side else CSR, n=n, k=k, t=job.tokens), folder)
        return compiled[n, k]

    def storage(w):
        w = w.tobsr((side, side)) if side else w
        return [a.astype(np.int32) for a in (w.indptr, w.indices)] + [np.ascontiguousarray(w.data).reshape(-1)]

    def layer(i, n, k):
        positions, columns = job.csr(i)
        w = scipy.sparse.csr_matrix((job.numbers(len(columns)), columns, positions), (n, k))
        x, dy = job.numbers(k, job.tokens), job.numbers(n, job.tokens)
        return {
            "fwd": product(spmm(n, k), storage(w) + [x, np.zeros_like(dy)]),
            "dx": product(spmm(k, n), storage(w.T.tocsr()) + [dy, np.zeros_like(x)]),
        }

    return [layer(i, n, k) for i, (n, k) in enumerate(job.layers)]


if os.path.exists(LLVM + "mlir-opt"):
    serve(products)
else:
    print("error: the sparsifier needs mlir-opt of LLVM 22; run scripts/setup")
