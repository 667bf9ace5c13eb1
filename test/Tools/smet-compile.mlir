// RUN: smet-compile --module %s --cpu x86-64-v3 -o %t.v3 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: llvm-objdump -d --no-show-raw-insn %t.v3 | FileCheck %s --check-prefix=V3
// RUN: llvm-objdump -d --no-show-raw-insn %t.v3 | grep -cE 'ymm.*\(%%rsp\)|\(%%rsp\).*ymm' | FileCheck %s --check-prefix=SPILLS
// RUN: smet-compile --module %s --cpu x86-64-v4 -o %t.v4
// RUN: llvm-objdump -d --no-show-raw-insn %t.v4 | FileCheck %s --check-prefix=V4
// RUN: smet-compile --module %s --cpu x86-64-v2 -o %t.v2
// RUN: llvm-objdump -d --no-show-raw-insn %t.v2 | FileCheck %s --check-prefix=V2
// RUN: llvm-nm -D --undefined-only %t.v2 | FileCheck %s --check-prefix=IMPORTS --allow-empty
// RUN: smet-opt %s --emit-bytecode -o %t.bc
// RUN: smet-compile --module %t.bc --cpu x86-64-v3 -o %t.bytecode
// RUN: cmp %t.v3 %t.bytecode
// RUN: smet-compile --module %s --target reference -o %t.reference

// Widest registers of the processor, and its own fused multiply-add.
// SAID: compiled {{[1-9]}} kernels, 0 from the cache
// V3-NOT: zmm
// V3:     vfmadd{{.*}}%ymm
// V3-NOT: zmm
// No weight of a register tile of SpMM is spilled (that would be sixty).
// SPILLS: {{^[0-9]$}}
// V4:     vfmadd{{.*}}%zmm
// V2-NOT: {{ymm|zmm|vfmadd}}
// V2:     mulps
// V2-NOT: {{ymm|zmm|vfmadd}}
// No call of libm's fma in place of it.
// IMPORTS-NOT: fma

// A link is followed; a device is no place for a program.
// RUN: rm -f %t.link && ln -s %t.linked %t.link && touch %t.linked
// RUN: smet-compile --module %s --cpu x86-64-v3 -o %t.link
// RUN: test -L %t.link && cmp %t.v3 %t.linked
// RUN: rm %t.linked && not smet-compile --module %s -o %t.link 2>&1 | FileCheck %s --check-prefix=LINK
// RUN: not smet-compile --module %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEVICE
// LINK: error: cannot write '{{.*}}.link': the link leads nowhere
// DEVICE: error: cannot write '/dev/null': it is not a regular file; choose another name

// RUN: not smet-compile --module %s --cpu skylake-avx51 -o %t 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not smet-compile --module %s --cpu pentium4m -o %t 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not smet-compile --module %s --cpu "" --cache %t.cache --request %s 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not smet-compile --request %s --target cpu -o %t 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not smet-compile --module %s 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: echo '{"module": "", "cpu": "z80"}' > %t.json
// RUN: not smet-compile --request %t.json -o %t 2>&1 | FileCheck %s --check-prefix=Z80
// UNKNOWN: error: --cpu: unknown processor 'skylake-avx51'; did you mean 'skylake-avx512'? host, x86-64, x86-64-v2,
// NARROW:  error: --cpu: 'pentium4m' has no 64-bit mode; host, x86-64, x86-64-v2,
// BOTH:    error: give either --request or --module
// TARGET:  error: --target belongs to --module
// NOWHERE: error: give --cache or -o
// Z80:     error: --cpu: unknown processor 'z80'

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @main(%t: !t {smet.name = "t", smet.role = "topology", bufferization.writable = false},
                %w: tensor<4x16x16xf32> {smet.name = "w", smet.role = "param", bufferization.writable = false},
                %x: tensor<128x64xf32> {smet.name = "x", smet.role = "input", bufferization.writable = false},
                %y: tensor<128x32xf32> {smet.name = "y", smet.role = "output", bufferization.writable = true})
    -> (tensor<128x32xf32> {smet.name = "y"}) {
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<128x64xf32>) outs(%y : tensor<128x32xf32>)
    -> tensor<128x32xf32>
  return %0 : tensor<128x32xf32>
}
