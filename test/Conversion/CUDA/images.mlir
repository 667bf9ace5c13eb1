// RUN: smet-opt %s --smet-gpu-to-cuda="chip=sm_80 format=isa" | FileCheck %s --check-prefixes=CHECK,A100
// RUN: smet-opt %s --smet-gpu-to-cuda="chip=sm_90a format=isa" | FileCheck %s --check-prefixes=CHECK,H100
// RUN: smet-opt %s --smet-gpu-to-cuda="chip=sm_80 features=+ptx83 format=isa" | FileCheck %s --check-prefix=NEWER
// RUN: smet-opt %s --smet-gpu-to-cuda="chip=sm_80" | FileCheck %s --check-prefix=CUBIN
// RUN: smet-opt %s --smet-gpu-to-cuda="chip=sm_90a format=fatbin" | FileCheck %s --check-prefix=FATBIN

// Both kernels of a module are in one image. Arithmetic is IEEE's: divisions and roots are rounded, and a product and a
// sum become one operation only where `contract` says so.
// CHECK:      llvm.mlir.global internal constant @m.image("
// A100-SAME:    .version 8.0\0A.target sm_80
// H100-SAME:    .version 8.0\0A.target sm_90a
// CHECK-SAME:   .visible .entry m_add(
// CHECK-SAME:   .maxntid 128
// CHECK-SAME:   ld.global.v4.b32
// CHECK-SAME:   div.rn.f32
// CHECK-SAME:   st.global.v4.b32
// CHECK-SAME:   .visible .entry m_root(
// CHECK-SAME:   sqrt.rn.f32
// CHECK-SAME:   fma.rn.f32
// CHECK-NOT:    fma.rn.f32
// CHECK-SAME:   mul.rn.f32
// CHECK-SAME:   add.rn.f32
// CHECK-SAME:   }\0A\00")
// NEWER:      .version 8.3\0A.target sm_80
// CUBIN:      llvm.mlir.global internal constant @m.image("\7FELF
// FATBIN:     llvm.mlir.global internal constant @m.image("P\EDU\BA

// A kernel's description: name, no function of the emulator, no sites; entry, image and its size.
// CUBIN:      llvm.mlir.global internal constant @m.add.name("m.add\00")
// CUBIN:      llvm.mlir.global internal constant @m.add.entry("m_add\00")
// CUBIN:      llvm.mlir.global external constant @m.add.kernel() {{.*}} : !llvm.struct<(ptr, ptr, i64, i64, ptr, ptr, ptr, i64)>
// CUBIN-DAG:    %[[NULL:.*]] = llvm.mlir.zero
// CUBIN-DAG:    %[[NAME:.*]] = llvm.mlir.addressof @m.add.name
// CUBIN-DAG:    %[[ENTRY:.*]] = llvm.mlir.addressof @m.add.entry
// CUBIN-DAG:    %[[IMAGE:.*]] = llvm.mlir.addressof @m.image
// CUBIN:        llvm.insertvalue %[[NAME]], %{{.*}}[0]
// CUBIN:        llvm.insertvalue %[[NULL]], %{{.*}}[1]
// CUBIN:        llvm.insertvalue %[[ENTRY]], %{{.*}}[5]
// CUBIN:        llvm.insertvalue %[[IMAGE]], %{{.*}}[6]
// CUBIN:        llvm.insertvalue %{{.*}}, %{{.*}}[7]

// And what there is to know of it.
// CUBIN:      llvm.mlir.global external constant @m.add.report("{
// CUBIN-SAME:   \22chip\22:\22sm_80\22
// CUBIN-SAME:   \22global_loads\22:{\2216\22:2},\22global_stores\22:{\2216\22:1}
// CUBIN-SAME:   \22kernel\22:\22m.add\22
// CUBIN-SAME:   \22registers\22:{{[1-9][0-9]}}
// CUBIN-SAME:   \22spill_load_bytes\22:0,\22spill_store_bytes\22:0
// CUBIN-SAME:   \22threads\22:128}\00") {{{.*}}section = ".smet.report"}
// CUBIN:      @m.root.kernel
// CUBIN-NOT:  gpu.module
gpu.module @m {
  gpu.func @add(%a: memref<512xf32>, %b: memref<512xf32>, %c: memref<512xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %0 = vector.load %a[%i] {alignment = 16 : i64} : memref<512xf32>, vector<4xf32>
    %1 = vector.load %b[%i] {alignment = 16 : i64} : memref<512xf32>, vector<4xf32>
    %2 = arith.divf %0, %1 : vector<4xf32>
    vector.store %2, %c[%i] {alignment = 16 : i64} : memref<512xf32>, vector<4xf32>
    gpu.return
  }
  gpu.func @root(%a: memref<64xf32>, %b: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %x = memref.load %a[%t] : memref<64xf32>
    %0 = math.sqrt %x : f32
    %1 = arith.mulf %0, %x fastmath<contract> : f32
    %2 = arith.addf %1, %0 fastmath<contract> : f32
    %3 = arith.mulf %2, %0 : f32
    %4 = arith.addf %3, %x : f32
    memref.store %4, %b[%t] : memref<64xf32>
    gpu.return
  }
}
