// RUN: split-file %s %t
// RUN: printf '#!/bin/sh\necho refused >&2\nexit 1\n' > %t/refuses && chmod +x %t/refuses
// RUN: not smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="chip=sm_75" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="chip=sm_90a features=+ptx70" 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="chip=sm_80 features=newest" 2>&1 | FileCheck %s --check-prefix=FEATURES
// RUN: not smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="chip=sm_80 features=+ptx999" 2>&1 | FileCheck %s --check-prefix=UNHEARD
// RUN: not smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="format=cubin" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not env SMET_PTXAS=%t/none smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not env SMET_PTXAS=%t/refuses TMPDIR=%t smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not smet-opt %t/helper.mlir --smet-convert-gpu-to-cuda 2>&1 | FileCheck %s --check-prefix=HELPER
// RUN: not smet-opt %t/library.mlir --smet-convert-gpu-to-cuda 2>&1 | FileCheck %s --check-prefix=LIBRARY
// PTX needs no assembler.
// RUN: env SMET_PTXAS=%t/none smet-opt %t/kernel.mlir --smet-convert-gpu-to-cuda="format=isa" 2>&1 | FileCheck %s --check-prefix=ISA

// CHIP:     error: smet-convert-gpu-to-cuda: unknown chip 'sm_75'; smet compiles for sm_80, {{.*}}, sm_90a, {{.*}} (an A100 is sm_80, H100 and H200 are sm_90a)
// OLD:      error: smet-convert-gpu-to-cuda: PTX features '+ptx70': expected a version as in +ptx80; sm_90a needs at least +ptx80
// FEATURES: error: smet-convert-gpu-to-cuda: PTX features 'newest': expected a version as in +ptx80; sm_80 needs at least +ptx70
// UNHEARD:  error: smet-convert-gpu-to-cuda: this LLVM knows no 'ptx999'; name an older one
// FORMAT:   error: smet-convert-gpu-to-cuda: unknown format 'cubin'; isa, bin or fatbin
// MISSING:  error: smet-convert-gpu-to-cuda: $SMET_PTXAS names '{{.*}}none', which is no program; name ptxas or unset it
// REFUSED:  error: smet-convert-gpu-to-cuda: '{{.*}}refuses' failed
// REFUSED:  refused
// REFUSED:  the PTX is kept in '{{.*}}kernel.ptx'
// HELPER:   error: smet-convert-gpu-to-cuda: expected kernels only, with everything else inlined
// LIBRARY:  error: smet-convert-gpu-to-cuda: a kernel calls this function, and has no library
// ISA:      @m.image("{{.*}}.target sm_90a

//--- kernel.mlir
gpu.module @m {
  llvm.func @k() attributes {nvvm.kernel} {
    llvm.return
  }
}

//--- helper.mlir
gpu.module @m {
  llvm.func @helper() {
    llvm.return
  }
}

//--- library.mlir
gpu.module @m {
  llvm.func @k(%p: !llvm.ptr) attributes {nvvm.kernel} {
    %0 = llvm.load %p : !llvm.ptr -> f32
    %1 = llvm.call @__nv_sinf(%0) : (f32) -> f32
    llvm.store %1, %p : f32, !llvm.ptr
    llvm.return
  }
  llvm.func @__nv_sinf(f32) -> f32
}
