//===- StreamTiles.h - the tiles of a streamed kernel -----------*- C++ -*-===//
//
// The sizes of the tiles that a block of a streamed kernel (StreamedProducts.h) holds and streams on a GPU: as large as
// its registers and shared memory allow. They are a function of the shapes and the chip alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/GpuLimits.h"
#include "passes/kernel/StreamedProducts.h"

#include "llvm/Support/MathExtras.h"

namespace spmdc {

/// Rows, columns and contracted elements of one instruction of a warp: mma.m16n8k16. A warp of a warpgroup has as many
/// rows, and the registers of its results are in the same order.
inline constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;
/// Warps of a warpgroup.
inline constexpr int64_t kWarpgroupWarps = 4;
/// Features of a panel: wgmma reads rows of 128 bytes, in which units of 16 bytes have another order in each of 8 rows,
/// so that the units of a column are in different banks ("128-byte swizzle").
inline constexpr int64_t kPanelWidth = 64;

/// Of each buffer in shared memory that several warpgroups read: an mbarrier for its copies, and one for its readers
/// (CopyRing.h).
inline constexpr int64_t kBarriersOfStage = 2, kBarrierBytes = 8;

/// Attribute of mapped streamed kernels: whether warpgroups multiply.
inline constexpr llvm::StringLiteral kWarpgroupsAttrName = "warpgroups";

struct StreamTiles {
  /// A factor's tile in shared memory. MatrixUnit::Warp: its rows, `pitch` elements of 16 bits apart. Warpgroup: panels
  /// of kPanelWidth features, one behind the other, each with all rows.
  struct Tile {
    StreamedProducts::Factor factor;
    int64_t offset = 0; ///< In bytes, of the first buffer.
    int64_t pitch = 0, rows = 0, panels = 1;
    bool isOfScores = false; ///< Else of products.
    int64_t getPanelBytes() const { return rows * pitch * 2; }
    int64_t getBytes() const { return panels * getPanelBytes(); }
    int64_t getWidth() const { return llvm::alignTo(factor.width, kMmaDepth); }
  };

  MatrixUnit unit = MatrixUnit::Warp;
  int64_t warps = 4;
  int64_t rowTiles = 1;                      ///< Groups of kMmaRows rows that a warp holds.
  int64_t columns = 0;                       ///< Of a tile.
  llvm::SmallVector<Tile, 2> held, streamed; ///< The latter in `stages` buffers.
  /// The products of a tile run beside the softmax of the next one. Warpgroups alone, if there is a softmax, and no
  /// factor is one of scores and of products.
  bool overlaps = false;
  bool keepsHeld = false; ///< Warpgroups have the left factors of scores in registers.
  int64_t stages = 2;     ///< Buffers of a streamed factor: some are filled while another one is read.
  int64_t sharedBytes = 0;
  /// In shared memory: of the barriers of all rings of buffers (CopyRing.h), and of the warpgroups' turns (Turns.h).
  int64_t barrierOffset = 0, turnsOffset = 0;
  int64_t rowBlocks = 0, gridBlocks = 0;
  int64_t batchesTogether = 1; ///< Their blocks run by turns, where a mask makes some of them longer than others.
  int64_t residentBlocks = 1;  ///< For which a multiprocessor has registers and shared memory.

  int64_t getBlockThreads() const { return warps * 32; }
  int64_t getWarpRows() const { return rowTiles * kMmaRows; }
  /// Rows of the warps that execute a product together.
  int64_t getGroupRows() const { return unit == MatrixUnit::Warpgroup ? kWarpgroupWarps * kMmaRows : getWarpRows(); }
  int64_t getBlockRows() const { return warps * getWarpRows(); }
  int64_t getGroups() const { return warps / kWarpgroupWarps; }
  /// Warpgroups that compute a softmax by turns.
  bool takesTurns() const { return overlaps && getGroups() > 1; }
  /// Rings of buffers: overlapped products read theirs later than their scores.
  int64_t getRingCount() const { return overlaps ? 2 : 1; }
  /// How many tiles before it is read a tile of this ring is copied. That of a ring of products is read behind the next
  /// tile's scores, when another warpgroup may still multiply with the one before it.
  int64_t getAhead(int64_t ring) const { return std::max<int64_t>(1, stages - (overlaps && ring == 0 ? 1 : 2)); }
  const Tile &findHeld(const StreamedProducts::Factor &factor) const;
  const Tile &findStreamed(const StreamedProducts::Factor &factor) const;

  /// `sharedLimit`: the bytes of shared memory that a block may have. Nullopt if not even the smallest tiles fit.
  static std::optional<StreamTiles> choose(const StreamedProducts &products, int64_t sharedLimit, MatrixUnit unit);
  std::string str() const;

private:
  /// Gives the tile its place in shared memory.
  void place(Tile &tile, int64_t rows, int64_t buffers);
};

} // namespace spmdc
