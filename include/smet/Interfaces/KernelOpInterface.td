//===- KernelOpInterface.td - ops that become kernels ------*- tablegen -*-===//
//
// What outlining, token packing, nnz erasure and profiles need to know of an op, without knowing the op.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_INTERFACES_KERNELOPINTERFACE
#define SMET_INTERFACES_KERNELOPINTERFACE

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::smet";
  let description = [{
    A destination-style op that `smet-outline-kernels` moves into a kernel. Its operands fall into three classes:
    - *tokens*: activations, `[T, F]` or packed `[ceil(T / L), F, L]`; `smet-pack-tokens` chooses the layout;
    - *slots*: arrays with one entry per active block; their leading size is nnz and becomes `?` in a kernel;
    - the rest: parameters, indices, scalars.

    Results follow the init that they are tied to.
  }];
  let methods = [
    InterfaceMethod<"Whether the operand of this number is an activation.", "bool", "isTokens", (ins "unsigned":$operand)>,
    InterfaceMethod<"Whether the operand of this number is a slot array.", "bool", "isSlots", (ins "unsigned":$operand)>,
    InterfaceMethod<[{
      What one run has to do at least. All operands must have static sizes. A multiply-add counts two operations, any
      other arithmetic or function (exp, sqrt) one; an operand that is read or written counts its bytes once, one that
      is updated twice.
    }], "::smet::Work", "getWork">,
  ];
}

#endif // SMET_INTERFACES_KERNELOPINTERFACE
