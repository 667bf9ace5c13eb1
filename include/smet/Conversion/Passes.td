//===- Passes.td - kernels to target code ------------------*- tablegen -*-===//
#ifndef SMET_CONVERSION_PASSES
#define SMET_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertKernelsToReferencePass : Pass<"smet-convert-kernels-to-reference", "::mlir::ModuleOp"> {
  let summary = "smet and nn ops on memrefs to sparse_tensor and linalg: the lowering that defines their meaning";
  let description = [{
    Activations are [T, F], elements any float type, and every op is the obvious loop nest of its formula: nothing is
    tiled, fused or approximated, and angles, powers and learning rates are computed in double. SpMM is a
    `linalg.generic` on a sparse tensor that `sparse_tensor.assemble` makes of the topology's arrays, without a copy;
    SDDMM and the optimizer walk its storage. `sparsification-and-bufferization` and `convert-linalg-to-loops` follow.

    Runs on a kernel module or any other, after bufferization. Errors: an op on tensors, on strided memrefs or of
    dynamic shape (but for the number of slots), and one without a lowering for its types, as on packed tiles.

    ```mlir
    nn.linear ins(%x, %w : memref<4x8xf32>, memref<5x8xf32>) outs(%y : memref<4x5xf32>)
    // becomes
    linalg.fill ins(%zero : f32) outs(%y : memref<4x5xf32>)
    linalg.generic {indexing_maps = [#xi, #wi, #yi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<4x8xf32>, memref<5x8xf32>) outs(%y : memref<4x5xf32>) {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = arith.addf %sum, %0 : f32
      linalg.yield %1 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::sparse_tensor::SparseTensorDialect"];
}

def ConvertKernelsToCPUPass : Pass<"smet-convert-kernels-to-cpu", "::mlir::ModuleOp"> {
  let summary = "smet and nn ops on packed token tiles to scf and vector loops with register accumulators";
  let description = [{
    Lanes are tokens, sums stay in registers (loop-carried vectors), and work is split by `scf.parallel` loops without
    reductions, one writer to an element: results do not depend on the number of threads. Dense products are
    `smet.gemm`. A kernel takes scratch by `memref.alloc` of static size at the top (`smet-hoist-workspace` moves it) or
    on a thread's stack.

    Runs on a kernel module or any other, after `smet-pack-tokens` and bufferization. Errors: an op on tensors, on
    strided memrefs or of dynamic shape (but for the number of slots), and one without a kernel for its types: in f64,
    on [T, F], on sequences that end inside a tile, or empty; `vector-bits` that are no power of two from 128 to 2,048,
    fewer than 8 registers.

    ```mlir
    nn.add ins(%a, %b : memref<2x8x64xf32>, memref<2x8x64xf32>) outs(%c : memref<2x8x64xf32>)
    // becomes, with --canonicalize
    %a1 = memref.collapse_shape %a [[0, 1, 2]] : memref<2x8x64xf32> into memref<1024xf32>
    ...
    scf.for %i = %c0 to %c1024 step %c16 {
      %0 = vector.load %a1[%i] : memref<1024xf32>, vector<16xf32>
      %1 = vector.load %b1[%i] : memref<1024xf32>, vector<16xf32>
      %2 = arith.addf %0, %1 fastmath<contract> : vector<16xf32>
      vector.store %2, %c1[%i] : memref<1024xf32>, vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::smet::SmetDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512", "width of the target's vector registers in bits">,
    Option<"numRegisters", "num-registers", "int64_t", "32", "how many vector registers the target has">,
  ];
}

//===----------------------------------------------------------------------===//
// Dispatches, parallel loops and memory to a program (runtime/program/Abi.h)
//===----------------------------------------------------------------------===//

def HoistWorkspacePass : Pass<"smet-hoist-workspace", "::mlir::ModuleOp"> {
  let summary = "scratch of kernels becomes an argument that the caller allocates";
  let description = [{
    A kernel asks for scratch by a `memref.alloc` of static size at the top of its `main`. It becomes one more init of
    the kernel, allocated by every caller right before the dispatch, so that `smet-plan-memory` places it in the arena.
    A `memref.dealloc` goes.

    Runs on the module of entry points and kernels. Error: scratch of dynamic size, in a loop, or with strides.

    ```mlir
    smet.dispatch @k::@main ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    module @k {
      func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
        %scratch = memref.alloc() : memref<8xf32>
    // becomes
    %scratch = memref.alloc() : memref<8xf32>
    smet.dispatch @k::@main ins(%x : memref<4xf32>) outs(%y, %scratch : memref<4xf32>, memref<8xf32>)
    module @k {
      func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %scratch: memref<8xf32>) {
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def PlanMemoryPass : Pass<"smet-plan-memory", "::mlir::ModuleOp"> {
  let summary = "every buffer gets its place in the arena; writes the manifest";
  let description = [{
    Named arguments (`smet.name`, `smet.role`) get one place each, shared by all entry points. Allocations follow in a
    common workspace by liveness: larger ones first, each at the lowest offset that is free while it lives. The
    functions take the arena alone, and the module gets the attribute `smet.manifest` (JSON;
    runtime/program/Manifest.h), with the module's `smet.config` in it. A gradient, i.e. an allocation that an optimizer
    step reads, is listed as "W.grad". Every offset is a multiple of 64 bytes.

    Requires: entry points of one block without results (`smet-verify-contract`). Errors: an argument without a name or
    role, of dynamic or strided type, or with elements that the manifest has no name for; a name with two types; an
    allocation of dynamic size or inside a region; a buffer that anything but a view passes on, since its last use would
    not be known.

    ```mlir
    func.func @eval_step(%w: memref<4x16x16xf32> {smet.name = "w", smet.role = "param"}, ...) {
      %y = memref.alloc() : memref<2x64x64xf32>
    // becomes
    func.func @eval_step(%arena: memref<36864xi8>) {
      %w = memref.view %arena[%c0][] : memref<36864xi8> to memref<4x16x16xf32>
      %y = memref.view %arena[%c4096][] : memref<36864xi8> to memref<2x64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def LowerEntryPointsPass : Pass<"smet-lower-entry-points", "::mlir::ModuleOp"> {
  let summary = "entry points on the arena become lists of kernel and routine calls in the LLVM dialect";
  let description = [{
    `func.func @f(%arena)` becomes `llvm.func @smet_f(%context, %arena) -> i32`. A dispatch or routine is a call with a
    constant table of offsets, sizes and words; a routine that fails and a `smet.check_finite` that fires return at
    once. Kernels are declared as `llvm.func @k.main`; they are compiled on their own. With `on-device`, the arena is
    not the host's memory, and the check looks at its value through context->read.

    Requires: `smet-plan-memory` before, `smet-lower-kernel` not yet (the table has the sizes that a kernel's types
    leave open). Errors: another signature or several blocks; an op that is no dispatch, routine or check; an operand
    that is neither a view of the arena at a constant place nor an i64 constant; a routine that the runtime does not have.

    ```mlir
    func.func @f(%arena: memref<256xi8>) {
      %x = memref.view %arena[%c64][] : memref<256xi8> to memref<16xf32>
      %y = memref.view %arena[%c128][] : memref<256xi8> to memref<f32>
      smet.dispatch @k::@main ins(%x : memref<16xf32>) outs(%y : memref<f32>)
      return
    }
    module @k { func.func @main(%x: memref<?xf32>, %y: memref<f32>) {...} }
    // becomes
    llvm.mlir.global internal constant @table_f_0(dense<[64, 16, 128]> : tensor<3xi64>)
    llvm.func @k.main(!llvm.ptr, !llvm.ptr, !llvm.ptr)
    llvm.func @smet_f(%context: !llvm.ptr, %arena: !llvm.ptr) -> i32 {
      %table = llvm.mlir.addressof @table_f_0 : !llvm.ptr
      llvm.call @k.main(%context, %arena, %table) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      %ok = llvm.mlir.constant(0 : i32) : i32
      llvm.return %ok : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"onDevice", "on-device", "bool", "false", "the arena is a device's memory">,
  ];
}

def LowerKernelPass : Pass<"smet-lower-kernel", "::mlir::ModuleOp"> {
  let summary = "a kernel's main takes (context, arena, table); parallel loops and smet.gemm call the runtime";
  let description = [{
    On one kernel module `@k`: `func.func @main(%x: memref<...>, ...)` becomes `llvm.func @k.main(%context, %arena,
    %table)`, which builds its memrefs from the table: of each argument the offset, then its leading size if that is
    dynamic. The body of an `scf.parallel` becomes a function of (environment, begin, end) that context->parallel_for
    calls; what it uses from outside travels in a struct on the caller's stack, constants are repeated. `smet.gemm`
    calls context->sgemm. `convert-to-llvm` follows.

    Errors: a module without a name or without a @main of one block and no results; arguments that are no contiguous
    memrefs with static inner sizes; parallel loops with a reduction, of two dimensions, or nested; a value in one that
    LLVM has no type for; a `smet.gemm` outside @main.

    ```mlir
    module @k {
      func.func @main(%x: memref<?x8xf32>) {
        ...
        scf.parallel (%i) = (%c0) to (%n) step (%c1) {
          memref.store %zero, %x[%i, %c0] : memref<?x8xf32>
        }
    // becomes
    module @k {
      llvm.func internal @k.body0(%environment: !llvm.ptr, %begin: i64, %end: i64) {
        ...
        scf.for %i = %first to %last step %c1 {
          ...
          memref.store %zero, %x[%iteration, %c0] : memref<?x8xf32>
        }
        llvm.return
      }
      llvm.func @k.main(%context: !llvm.ptr, %arena: !llvm.ptr, %table: !llvm.ptr) {
        ...
        llvm.call %parallel_for(%context, %body0, %environment, %n) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
        llvm.return
      }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ExpandMathPass : Pass<"smet-expand-math", "::mlir::ModuleOp"> {
  let summary = "exponentials and logarithms in f32 become polynomials, so that they vectorize and need no library";
  let description = [{
    `exp` within 1.1 ulp, but 0 for what is below 2^-125; `log` by upstream's approximation (about 1 ulp). For these two
    functions only: `sqrt` is an instruction, and double is for the reference's angles and powers, which call the math
    library. No errors.

    ```mlir
    %y = math.exp %x : vector<16xf32>
    // becomes: x = n log 2 + r, a polynomial in r, times 2^(n - 1), twice
    ...
    %sum = math.fma %clamped, %log2e, %rounding : vector<16xf32>
    %bits = arith.bitcast %sum : vector<16xf32> to vector<16xi32>
    %exponent = arith.shli %bits, %c23 : vector<16xi32>
    %power = arith.bitcast %exponent : vector<16xi32> to vector<16xf32>
    %n = arith.subf %sum, %rounding : vector<16xf32>
    ...
    %half = arith.mulf %p, %power : vector<16xf32>
    %y = arith.addf %half, %half : vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// GPU kernels on the host
//===----------------------------------------------------------------------===//

def ConvertKernelsToGPUPass : Pass<"smet-convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "smet and nn ops on memrefs become launches of GPU kernels";
  let description = [{
    What one thread does with 16 bytes of each operand, or a block with its share, stands in the body of a `gpu.launch`.

    Errors: an op without a GPU kernel for its operand types.

    ```mlir
    nn.add ins(%a, %b : memref<1x48x128xf32>, memref<1x48x128xf32>) outs(%c : memref<1x48x128xf32>)
    // becomes
    gpu.launch blocks(%block, ...) in (%x = %c6, ...) threads(%thread, ...) in (%y = %c256, ...) {
      ...
      %va = vector.load %flatA[%i] {alignment = 16 : i64} : memref<6144xf32>, vector<4xf32>
      %vb = vector.load %flatB[%i] {alignment = 16 : i64} : memref<6144xf32>, vector<4xf32>
      %vc = arith.addf %va, %vb : vector<4xf32>
      vector.store %vc, %flatC[%i] {alignment = 16 : i64} : memref<6144xf32>, vector<4xf32>
      gpu.terminator
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect"];
}

def OutlineLaunchesPass : Pass<"smet-outline-launches", "::mlir::ModuleOp"> {
  let summary = "bodies of gpu.launch become kernels of a gpu.module";
  let description = [{
    On one kernel module `@k`: the body of its launch number i becomes `@launch<i>` of `gpu.module @k.device`. Constants are
    repeated in it. An array whose number of slots is not known is passed as its address and that number, since a kernel's
    arguments are bare pointers.

    Errors: a launch outside a named module.

    ```mlir
    module @k {
      func.func @main(%x: memref<?x4xf32>) {
        gpu.launch blocks(...) in (...) threads(...) in (...) {
          memref.store %zero, %x[%thread, %c0] : memref<?x4xf32>
          gpu.terminator
        }
    // becomes
    module @k attributes {gpu.container_module} {
      func.func @main(%x: memref<?x4xf32>) {
        %base = memref.reinterpret_cast %x to offset: [0], sizes: [1, 4], strides: [4, 1] : memref<?x4xf32> to memref<1x4xf32>
        %n = memref.dim %x, %c0 : memref<?x4xf32>
        gpu.launch_func @k.device::@launch0 blocks in (...) threads in (...) args(%base : memref<1x4xf32>, %n : index)
      gpu.module @k.device {
        gpu.func @launch0(%base: memref<1x4xf32>, %n: index) kernel {
          %x = memref.reinterpret_cast %base to offset: [0], sizes: [%n, 4], strides: [4, 1] : memref<1x4xf32> to memref<?x4xf32>
          ...
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertMathToIntrinsicsPass : Pass<"smet-convert-math-to-intrinsics"> {
  let summary = "fused multiply-adds, square roots and absolute values become LLVM's intrinsics";
  let description = [{
    On a `gpu.module`, before convert-gpu-to-nvvm, which would call a function of libdevice for each. No errors.

    ```mlir
    %y = math.sqrt %x : vector<4xf32>
    // becomes
    %y = llvm.call_intrinsic "llvm.sqrt"(%x) : (vector<4xf32>) -> vector<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertGPUToEmulatorPass : Pass<"smet-convert-gpu-to-emulator", "::mlir::ModuleOp"> {
  let summary = "kernels of the LLVM and NVVM dialects, as they go to PTX, become functions of the host's emulator";
  let description = [{
    Every kernel of a `gpu.module` becomes an `llvm.func @module.kernel(%emulator, %arguments)` of the module around it:
    what one thread executes (runtime/emulator/Abi.h). Special registers are loaded from the emulator, globals of shared
    memory get a place in the block's, and barriers, shuffles, `mma.sync`, `ldmatrix` and asynchronous copies are calls.
    The constant `@module.kernel.kernel` is its smet_kernel (runtime/program/Abi.h): how much shared memory it takes,
    what source location each site stands for.

    With `check`, each load and store is announced by a call, with the kernel argument that its address comes from, and
    floating-point operations are counted.

    Errors: an instruction that the emulator does not have; functions that are no kernels; with `check`, accesses other
    than loads and stores.

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
        %t = nvvm.read.ptx.sreg.tid.x : i32
        nvvm.barrier0
    // becomes
    llvm.func @m.k(%emulator: !llvm.ptr, %arguments: !llvm.ptr) {
      %0 = llvm.getelementptr %arguments[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %x = llvm.load %1 : !llvm.ptr -> !llvm.ptr<1>
      %2 = llvm.getelementptr %emulator[0] : (!llvm.ptr) -> !llvm.ptr, i32
      %t = llvm.load %2 : !llvm.ptr -> i32
      ...
      llvm.call %barrier(%emulator, %site, %id, %all) {convergent} : !llvm.ptr, (!llvm.ptr, i32, i32, i32) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"check", "check", "bool", "false", "announce every load and store, count operations">,
  ];
}

def ConvertGPUToCUDAPass : Pass<"smet-convert-gpu-to-cuda", "::mlir::ModuleOp"> {
  let summary = "kernels of the LLVM and NVVM dialects become images for a chip";
  let description = [{
    Every `gpu.module @m` becomes a constant `@m.image`: PTX made by LLVM (`format=isa`), the cubin that ptxas makes of
    it (`bin`), or both, so that newer chips can run it too (`fatbin`). The constant `@m.kernel.kernel` is a kernel's
    smet_kernel (runtime/program/Abi.h), `@m.kernel.report` what ptxas and the PTX say of it
    (runtime/report/KernelReport.h), in the section `.smet.report` of the program.

    `features` is the version of PTX, as in `+ptx80`; the default is that of CUDA 12.0, or newer where the chip needs
    it. ptxas is looked for in `$SMET_PTXAS`, on PATH, then where the build found it.

    Errors: an unknown chip or format, features that the chip does not have; functions that are no kernels; a call of a
    library's function; ptxas is missing or refuses a kernel.

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
        ...
    // becomes
    llvm.mlir.global internal constant @m.image("\7FELF...")
    llvm.mlir.global external constant @m.k.kernel() : !llvm.struct<(ptr, ptr, i64, i64, ptr, ptr, ptr, i64)> {...}
    llvm.mlir.global external constant @m.k.report("{\22registers\22:16,...}\00") {section = ".smet.report"}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"", "the chip, as sm_80 or sm_90a">,
    Option<"features", "features", "std::string", "\"\"", "version of PTX, as +ptx80 (default: by the chip)">,
    Option<"format", "format", "std::string", "\"bin\"", "isa, bin or fatbin">,
  ];
}

#endif // SMET_CONVERSION_PASSES
