//===- KernelOp.td - the common shape of compute ops -------*- tablegen -*-===//
//
// Base class of every op of the smet and nn dialects that becomes a kernel: destination style, on tensors or memrefs,
//
//   %y = nn.rms_norm ins(%x, %gamma : tensor<128x256xf32>, tensor<256xf32>) outs(%e : tensor<128x256xf32>)
//        {eps = 1.0e-6 : f64} -> tensor<128x256xf32>
//
// On memrefs the same op has no results and writes its outs.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_INTERFACES_KERNELOP
#define SMET_INTERFACES_KERNELOP

include "smet/Interfaces/DifferentiableOpInterface.td"
include "smet/Interfaces/KernelOpInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class ArrayOf<list<Type> elements, string text>
    : AnyTypeOf<[RankedTensorOf<elements>, MemRefOf<elements>], "tensor or memref of " # text>;
def FloatArray : ArrayOf<[BF16, F32, F64], "bf16, f32 or f64">;
def I16Array : ArrayOf<[I16], "i16">;
def I32Array : ArrayOf<[I32], "i32">;
def I64Array : ArrayOf<[I64], "i64">;

defvar Differentiable = DeclareOpInterfaceMethods<DifferentiableOpInterface>;

/// `inputs` and `inits` name the operands (all `arguments` in this order), `tokens` and `slots` list the numbers of the
/// operands that are activations and slot arrays.
class KernelOp<Dialect dialect, string mnemonic, list<string> inputs, list<string> inits, list<int> tokens,
               list<int> slots, list<Trait> traits = []>
    : Op<dialect, mnemonic, traits # [
        DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, KernelOpInterface]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat =
    !if(!empty(inputs), "",
      "`ins` `(` $" # !interleave(inputs, " `,` $") # " `:` qualified(type($" #
      !interleave(inputs, ")) `,` qualified(type($") # ")) `)` ") #
    "`outs` `(` $" # !interleave(inits, " `,` $") # " `:` type($" # !interleave(inits, ") `,` type($") # ") `)` " #
    "attr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operands' names, in order.
    static constexpr ::llvm::StringLiteral operandNames[] = {"}] # !interleave(inputs # inits, "\", \"") # [{"};
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      unsigned start = getODSOperandIndexAndLength(}] # !size(inputs) # [{).first;
      return ::mlir::MutableOperandRange(getOperation(), start, getOperation()->getNumOperands() - start);
    }
    bool isTokens(unsigned operand) {
      return ::smet::inOperandGroups(*this, {}] # !interleave(tokens, ", ") # [{}, operand);
    }
    ::smet::Work getWork();
    bool isSlots(unsigned operand) {
      return ::smet::inOperandGroups(*this, {}] # !interleave(slots, ", ") # [{}, operand);
    }
  }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects) {
      ::smet::addDestinationStyleEffects(*this, effects);
    }
  }];
}

#endif // SMET_INTERFACES_KERNELOP
