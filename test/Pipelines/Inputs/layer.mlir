// The model of the pipelines' tests: embedding, norm, one masked layer with a residual, loss.
!t = !smet.topology<32x32, block = [16, 16], nnz = 2>
!x = tensor<128x32xf32>

module attributes {smet.adamw = #smet.adamw<>, smet.growth = #smet.growth<random>, smet.config = "{\22kind\22:\22train\22}"} {
func.func @forward(%table: tensor<48x32xf32> {smet.name = "table", smet.role = "param", smet.layer = 0 : i64, smet.init = {normal = 0.02}},
                   %gamma: tensor<32xf32> {smet.name = "gamma", smet.role = "param", smet.layer = 1 : i64, smet.init = {fill = 1.0}},
                   %w: tensor<2x16x16xf32> {smet.name = "w", smet.role = "param", smet.layer = 2 : i64, smet.init = {normal = 0.02}, smet.topology = "w.topology"},
                   %t: !t {smet.name = "w.topology", smet.role = "topology"},
                   %tokens: tensor<128xi32> {smet.name = "tokens", smet.role = "input"},
                   %targets: tensor<128xi32> {smet.name = "targets", smet.role = "input"},
                   %n: tensor<i32> {smet.name = "num_valid", smet.role = "input"})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  %e0 = tensor.empty() : !x
  %x = nn.embedding ins(%table, %tokens : tensor<48x32xf32>, tensor<128xi32>) outs(%e0 : !x) -> !x
  %e1 = tensor.empty() : !x
  %h = nn.rms_norm ins(%x, %gamma : !x, tensor<32xf32>) outs(%e1 : !x) {eps = 1.0e-6 : f64} -> !x
  %e2 = tensor.empty() : !x
  %y = smet.linear ins(%t, %w, %h : !t, tensor<2x16x16xf32>, !x) outs(%e2 : !x) -> !x
  %e3 = tensor.empty() : !x
  %z = nn.add ins(%x, %y : !x, !x) outs(%e3 : !x) -> !x
  %e4 = tensor.empty() : tensor<f32>
  %e5 = tensor.empty() : tensor<128xf32>
  %loss:2 = nn.linear_cross_entropy ins(%z, %table, %targets, %n : !x, tensor<48x32xf32>, tensor<128xi32>, tensor<i32>)
    outs(%e4, %e5 : tensor<f32>, tensor<128xf32>) -> tensor<f32>, tensor<128xf32>
  return %loss#0 : tensor<f32>
}
}
