// RUN: smet-opt %s --smet-convert-kernels-to-cpu --split-input-file --verify-diagnostics

// Choices that an op cannot take.
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: columns must divide the 4 vectors of a token tile}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "tiles", columns = 3}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: rows must be at most the block's 16 outputs}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "tiles", rows = 17}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: it holds 36 vectors at once, of 32 registers}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "tiles", columns = 4, rows = 8}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: chains must be at most the block's 16 inputs}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "tiles", chains = 17}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: scatter is for blocks with one output}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "scatter"}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: panels is for blocks of one weight}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "panels"}}
  return
}

// -----

!t = !smet.topology<32x64, block = [1, 16], nnz = ?>
func.func @main(%p: memref<33xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x1x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<33xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: it holds 36 vectors at once, of 32 registers}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "scatter", columns = 4, rows = 5, features = 4, panel = 64}}
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: features must be at most the block's 16 inputs}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "scatter", features = 17}}
  return
}

// -----

!t = !smet.topology<32x64, block = [1, 1], nnz = ?>
func.func @main(%p: memref<33xi32>, %c: memref<?xi16>, %tp: memref<65xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x1x1xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<33xi32>, memref<?xi16>, memref<65xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: tiles must be at most the 2 token tiles}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x1xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "panels", columns = 4, panel = 64, tiles = 3}}
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: it holds 36 vectors at once, of 32 registers}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x16x16xf32>)
    {smet.choice = {height = 8, width = 4}}
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: width must be at most the 16 lanes of a vector}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x16x16xf32>)
    {smet.choice = {width = 17}}
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: dense_percent is for blocks of one weight}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x16x16xf32>)
    {smet.choice = {dense_percent = 64}}
  return
}

// -----

!t = !smet.topology<32x64, block = [1, 16], nnz = ?>
func.func @main(%p: memref<33xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x1x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<33xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: blocks of one row are walked by columns}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x1x16xf32>)
    {smet.choice = {by_columns = false}}
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 1], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<65xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x1xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<65xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: blocks of one column are walked by rows}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x16x1xf32>)
    {smet.choice = {by_columns = true}}
  return
}

// -----

!t = !smet.topology<32x64, block = [1, 1], nnz = ?>
func.func @main(%p: memref<33xi32>, %c: memref<?xi16>, %tp: memref<65xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x1x1xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<33xi32>, memref<?xi16>, memref<65xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: width must be a power of two for blocks of one weight}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x1x1xf32>)
    {smet.choice = {width = 6}}
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: height is 1 for blocks of one weight}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x1x1xf32>)
    {smet.choice = {height = 2}}
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: it holds 32 vectors at once}}
  smet.sddmm ins(%t, %x, %y : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%w : memref<?x1x1xf32>)
    {smet.choice = {width = 8, chunk_tiles = 6}}
  return
}
