//===- F32Tiles.h - parts of token tiles to compute on ----------*- C++ -*-===//
//
// Elements that a kernel reads many times are converted once, and sums over several passes are rounded once: where an
// activation is stored in bf16, both happen in an f32 copy of the part in question. What is stored in f32 is used in
// place.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_F32TILES_H
#define SMET_LIB_CONVERSION_CPU_F32TILES_H

#include "Products.h"

namespace smet {

class F32Tiles {
public:
  /// In a parallel body. Room for parts of at most `features` features, of `slots` tiles.
  F32Tiles(KernelBuilder &k, const Tiles &stored, int64_t features, int64_t slots = 1) : k(k), stored(stored) {
    if (!isF32(stored.memref))
      copy = k.stack({slots, features, stored.lanes}, k.b.getF32Type()).get();
  }

  /// Features of a tile from `feature` on, to be written first.
  Matrix at(Val tile, Val feature, Val slot = 0) const {
    return copy ? Matrix{copy, {slot}} : Matrix{stored.memref, {tile}, feature};
  }
  /// The same with `count` features of what is stored.
  Matrix read(Val tile, Val feature, int64_t count, Val slot = 0) const {
    if (copy)
      k.loop(0, count, 1, [&](Val f) { k.storeVector(stored.load(k, tile, feature + f), copy, {slot, f, 0}); });
    return at(tile, feature, slot);
  }
  /// Stores `count` features that were written to at(tile, feature, slot).
  void write(Val tile, Val feature, int64_t count, Val slot = 0) const {
    if (copy)
      k.loop(0, count, 1, [&](Val f) {
        stored.store(k, k.loadVector(copy, {slot, f, 0}, stored.lanes), tile, feature + f);
      });
  }

private:
  KernelBuilder &k;
  Tiles stored;
  mlir::Value copy; ///< [slots, features, lanes], or null
};

/// All of an activation in f32: itself, or a copy in the workspace. At the top of a kernel.
inline Tiles inF32(KernelBuilder &k, const Tiles &stored) {
  if (isF32(stored.memref))
    return stored;
  Tiles copy = Tiles::of(k.workspace({stored.tiles, stored.features, stored.lanes}, k.b.getF32Type()).get());
  k.parallel(stored.tiles, [&](Val tile) {
    k.loop(0, stored.features, 1, [&](Val f) { copy.store(k, stored.load(k, tile, f), tile, f); });
  });
  return copy;
}

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_F32TILES_H
