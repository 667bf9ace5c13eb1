//===- SmetAttrs.td - attributes of the smet dialect -------*- tablegen -*-===//
#ifndef SMET_DIALECT_SMET_SMETATTRS
#define SMET_DIALECT_SMET_SMETATTRS

include "smet/Dialect/Smet/IR/SmetBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Smet_Attr<string name, string mnemonic_> : AttrDef<Smet_Dialect, name> { let mnemonic = mnemonic_; }

def Smet_Growth : I32EnumAttr<"Growth", "how blocks are chosen to become active", [
    I32EnumAttrCase<"Random", 0, "random">]> {
  let cppNamespace = "::smet";
  let genSpecializedAttr = 0;
}
def Smet_GrowthAttr : EnumAttr<Smet_Dialect, Smet_Growth, "growth"> {
  let summary = "how blocks are chosen to become active";
  let description = [{
    `random`: uniformly among the inactive blocks, by `smet.grow`. A module with this attribute as `smet.growth` has
    a dynamic topology.

    ```mlir
    #smet.growth<random>
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Smet_AdamWAttr : Smet_Attr<"AdamW", "adamw"> {
  let summary = "hyperparameters of the optimizer step";
  let description = [{
    Kingma and Ba, arXiv 1412.6980, with decoupled weight decay (arXiv 1711.05101), and SMET's two rules for active
    blocks (arXiv 2606.00888): the learning rate of a layer of density d is scaled by 1 / sqrt(d) if `lr_scaling` is
    set, and a regrown block of age a takes min(a / warmup_updates, 1) of it (0 or 1: no warm-up). What is not given has
    the value that it has here:

    ```mlir
    #smet.adamw<beta1 = 0.9, beta2 = 0.999, eps = 1.0e-8, weight_decay = 0.0, warmup_updates = 10, lr_scaling = true>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::smet::Real", "0.9">:$beta1,
    DefaultValuedParameter<"::smet::Real", "0.999">:$beta2,
    DefaultValuedParameter<"::smet::Real", "1.0e-8">:$eps,
    DefaultValuedParameter<"::smet::Real", "0.0">:$weight_decay,
    DefaultValuedParameter<"int64_t", "10">:$warmup_updates,
    DefaultValuedParameter<"bool", "true">:$lr_scaling);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Smet_WorkAttr : Smet_Attr<"Work", "work"> {
  let summary = "what a kernel computes, and how much it has to do at least";
  let description = [{
    The op that a dispatched kernel is made of, its floating-point operations and the bytes that it must move, as
    `KernelOpInterface` counts them; and the bytes where every active block reads its own activations, which come from a
    cache that all processors share. They stand at the call, because kernels know no nnz.

    ```mlir
    #smet.work<op = "smet.spmm", flops = 262144, bytes = 53300, cache_bytes = 69684>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$op, "int64_t":$flops, "int64_t":$bytes,
                        DefaultValuedParameter<"int64_t", "0">:$cache_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // SMET_DIALECT_SMET_SMETATTRS
