//===- Cases.h - Shardy's behaviours, as cases of our own -------*- C++ -*-===//
//
// The files *.cases of this folder, read. A case says which of Shardy's tests its expectation comes from:
//
//   == batch_before_zero
//   from user_priority_propagation: different_priorities_from_args
//   mesh a=2, b=2
//   fn main(x: f32[8@a!0, 8], w: f32[8, 16@a!1]) { let s = sin(x); return s @ w; }
//   aggressive: s [a, _]; result [a, _]
//
// or, where one array only changes its sharding,
//
//   == swap_two_axes
//   from reshard_to_collectives: swap_same_size_axes_between_dims
//   mesh x=2, y=2
//   moves 16x8: [x, y] permute [y, x]
//
// Lines of a case, beside `from`, `mesh` and the program:
//
//   write NAME TYPE     the type that a parameter, a `let` or a result has: what the language does not say (parts of
//                       axes, partial sums) in IR's notation
//   STRATEGY: ...       the shardings that Shardy's test expects, and spmdc gives, under basic or aggressive
//                       propagation; `default`: what spmdc gives without an option
//   shardy STRATEGY: .. what Shardy has where spmdc differs; `because` says why it does
//   moves SHAPE: ...    what Shardy sends: the shardings of an array of f32 one after the other, and the collectives in
//                       between; `partial` is what devices make partial sums of by themselves. All of a case's lines
//                       together are the bytes that spmdc may send at most.
//   sends BYTES         the same for what is no collective of one array: bytes of each device, averaged
//   local               Shardy sends nothing
//   refuses TEXT        spmdc does not compile it, and says this; `because` says why
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <ostream>
#include <string>
#include <vector>

namespace spmdc {

struct ShardyCase {
  /// Names and their shardings as `spmd::Sharding::str()` prints them, in full: `[(b, a), _]`.
  struct Expectation {
    std::string strategy;
    bool isShardys = false; ///< And not spmdc's.
    std::vector<std::pair<std::string, std::string>> values;
  };
  struct Move {
    std::string kind;
    std::vector<int64_t> shape;
    spmd::Sharding before, after;
  };

  std::string file, name, source, because, program;
  spmd::MeshShape mesh;
  std::vector<std::pair<std::string, std::string>> writes;
  std::vector<Expectation> expectations;
  std::vector<Move> moves;
  double sent = 0; ///< Beside the moves.
  std::string refusal;
  bool isCounted = false; ///< Says what is sent: `moves`, `sends` or `local`.
};

/// What GoogleTest lists a case as.
inline std::ostream &operator<<(std::ostream &os, const ShardyCase &test) { return os << test.source; }

/// All cases, in the order of files and lines. Throws std::runtime_error with file and line where one is not
/// understood.
std::vector<ShardyCase> readShardyCases();

/// `[(b, a), _] + c`: axes by dimension, and those over which devices hold partial sums.
spmd::Sharding parseSharding(const std::string &text);
std::string shardingText(const spmd::Sharding &sharding);

/// Bytes that each device sends, averaged over the devices.
double wireBytes(const ShardyCase::Move &move, const spmd::MeshShape &mesh);

} // namespace spmdc
