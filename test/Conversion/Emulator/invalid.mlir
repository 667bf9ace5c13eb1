// RUN: smet-opt %s --smet-convert-gpu-to-emulator=check=true --split-input-file --verify-diagnostics

gpu.module @m {
  llvm.func @k() attributes {nvvm.kernel} {
    // expected-error @below {{the emulator does not have this instruction}}
    %0 = nvvm.read.ptx.sreg.clock : i32
    llvm.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{expected kernels only, with everything else inlined}}
  llvm.func @helper() {
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @k(%a: i32, %b: i32, %c: f32) attributes {nvvm.kernel} {
    // expected-error @below {{of mma.sync, the emulator has m16n8k16 in bf16 only}}
    %0 = nvvm.mma.sync A[%a, %a] B[%b] C[%c, %c, %c, %c] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// -----

gpu.module @m {
  llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i64) attributes {nvvm.kernel} {
    // expected-error @below {{the emulator cannot check this access}}
    "llvm.intr.memcpy"(%p, %q, %n) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
    llvm.return
  }
}
