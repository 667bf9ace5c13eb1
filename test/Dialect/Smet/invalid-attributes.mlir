// RUN: smet-opt %s --split-input-file --verify-diagnostics

// Fields of smet.choice that no target takes, and smet.choice where it says nothing.

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @no_dictionary(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: it must be a dictionary}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = "tiles"} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @no_kernel(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: kernel must be one of "tiles", "scatter", "panels"}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @unknown_kernel(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: kernel must be one of}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "rows"}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @float(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: rows must be an i64}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "tiles", columns = 4, rows = 1.0}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @i32(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: columns must be an i64}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "tiles", columns = 4 : i32}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @other_kernel(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: tiles has no field 'panel'}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "tiles", columns = 4, panel = 64}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @zero(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: columns must be from 1 to 65536}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "tiles", columns = 0}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @large(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has a smet.choice that it cannot take: pieces must be from 1 to 65536}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.choice = {kernel = "tiles", pieces = 100000000000}} -> tensor<64x32xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @of_spmm(%t: !t, %x: tensor<64x64xf32>, %dy: tensor<64x32xf32>, %dw: tensor<4x16x16xf32>) {
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: sddmm has no field 'kernel'}}
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x64xf32>, tensor<64x32xf32>) outs(%dw : tensor<4x16x16xf32>)
    {smet.choice = {kernel = "tiles"}} -> tensor<4x16x16xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @number(%t: !t, %x: tensor<64x64xf32>, %dy: tensor<64x32xf32>, %dw: tensor<4x16x16xf32>) {
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: by_columns must be true or false}}
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x64xf32>, tensor<64x32xf32>) outs(%dw : tensor<4x16x16xf32>)
    {smet.choice = {by_columns = 1}} -> tensor<4x16x16xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @no_percent(%t: !t, %x: tensor<64x64xf32>, %dy: tensor<64x32xf32>, %dw: tensor<4x16x16xf32>) {
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: dense_percent must be from 1 to 100}}
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x64xf32>, tensor<64x32xf32>) outs(%dw : tensor<4x16x16xf32>)
    {smet.choice = {dense_percent = 0}} -> tensor<4x16x16xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @percent(%t: !t, %x: tensor<64x64xf32>, %dy: tensor<64x32xf32>, %dw: tensor<4x16x16xf32>) {
  // expected-error @below {{'smet.sddmm' op has a smet.choice that it cannot take: dense_percent must be from 1 to 100}}
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x64xf32>, tensor<64x32xf32>) outs(%dw : tensor<4x16x16xf32>)
    {smet.choice = {dense_percent = 500}} -> tensor<4x16x16xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @typo(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>, %y: tensor<64x32xf32>) {
  // expected-error @below {{'smet.spmm' op has the attribute 'smet.chioce', which the dialect does not know on it}}
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%y : tensor<64x32xf32>)
    {smet.chioce = {kernel = "tiles"}} -> tensor<64x32xf32>
  return
}

// -----

func.func @other_op(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) {
  // expected-error @below {{'nn.silu_mul' op has a smet.choice that it cannot take: the op is no smet.spmm, smet.sddmm or smet.sddmm_adam}}
  %0 = nn.silu_mul ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%y : tensor<64x64xf32>)
    {smet.choice = {kernel = "tiles"}} -> tensor<64x64xf32>
  return
}

// -----

// expected-error @below {{'func.func' op has the attribute 'smet.manifest', which the dialect does not know on it}}
func.func @of_module() attributes {smet.manifest = "{}"} {
  return
}
