//===- StreamTiles.h - the tiles of a streamed kernel -----------*- C++ -*-===//
//
// The sizes of the tiles that a block of a streamed kernel (StreamedProducts.h) holds and streams on a GPU: as large as
// its registers and shared memory allow. They are a function of the shapes and the chip alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/StreamedProducts.h"

namespace spmdc {

/// Rows, columns and contracted elements of one instruction of a matrix unit: mma.m16n8k16.
inline constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;
inline constexpr int64_t kStreamedWarps = 4;

struct StreamTiles {
  /// A factor's tile in shared memory: its rows, `pitch` elements of 16 bits apart.
  struct Tile {
    StreamedProducts::Factor factor;
    int64_t offset = 0; ///< In bytes, of the first buffer.
    int64_t pitch = 0, rows = 0;
    int64_t getBytes() const { return rows * pitch * 2; }
    int64_t getWidth() const { return llvm::alignTo(factor.width, kMmaDepth); }
  };

  int64_t rowTiles = 1;                   ///< Groups of kMmaRows rows that a warp holds.
  int64_t columns = 0;                    ///< Of a tile.
  llvm::SmallVector<Tile> held, streamed; ///< The latter in two buffers: one is filled while the other is read.
  int64_t sharedBytes = 0;
  int64_t rowBlocks = 0, gridBlocks = 0;

  int64_t getBlockThreads() const { return kStreamedWarps * 32; }
  int64_t getWarpRows() const { return rowTiles * kMmaRows; }
  int64_t getBlockRows() const { return kStreamedWarps * getWarpRows(); }
  const Tile &findHeld(const StreamedProducts::Factor &factor) const;
  const Tile &findStreamed(const StreamedProducts::Factor &factor) const;

  /// `sharedLimit`: the bytes of shared memory that a block may have. Nullopt if not even the smallest tiles fit.
  static std::optional<StreamTiles> choose(const StreamedProducts &products, int64_t sharedLimit);
  std::string str() const;
};

} // namespace spmdc
