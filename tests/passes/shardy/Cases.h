//===- Cases.h - Shardy's behaviours as test cases --------------*- C++ -*-===//
//
// Reads the files *.cases of this folder. A case says which of Shardy's tests its expectation comes from:
//
//   == batch_before_zero
//   from user_priority_propagation: different_priorities_from_args
//   mesh a=2, b=2
//   fn main(x: f32[8@a!0, 8], w: f32[8, 16@a!1]) { let s = sin(x); return s @ w; }
//   aggressive: s [a, _]; result [a, _]
//
// or, for a reshard of one array,
//
//   == swap_two_axes
//   from reshard_to_collectives: swap_same_size_axes_between_dims
//   mesh x=2, y=2
//   moves 16x8: [x, y] permute [y, x]
//
// Lines of a case, beside `from`, `mesh` and the program:
//
//   write NAME TYPE     the type that a parameter, a `let` or a result has: shardings that the language lacks (parts of
//                       axes, partial sums) in IR's notation
//   STRATEGY: ...       the shardings that Shardy's test expects, and spmdc gives, under basic or aggressive
//                       propagation; `default`: what spmdc gives without an option
//   shardy STRATEGY: .. Shardy's result if spmdc differs; `because` gives the reason
//   moves SHAPE: ...    what Shardy sends: the shardings of an array of f32 one after the other, and the collectives in
//                       between; `partial` makes partial sums locally. All of a case's lines
//                       together are the bytes that spmdc may send at most.
//   sends BYTES         the same for other communication: bytes of each device, averaged
//   local               Shardy sends nothing
//   refuses TEXT        spmdc fails with this message; `because` gives the reason
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sharding/Sharding.h"

#include <ostream>
#include <string>
#include <vector>

namespace spmdc {

struct ShardyCase {
  /// Names and their shardings as `spmd::Sharding::str()` prints them, for example `[(b, a), _]`.
  struct Expectation {
    std::string strategy;
    bool isShardys = false; ///< Shardy's, but not spmdc's.
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
  double sent = 0; ///< In addition to the moves.
  std::string refusal;
  bool isCounted = false; ///< The case has `moves`, `sends` or `local`.
};

/// The name of a case in GoogleTest's list.
inline std::ostream &operator<<(std::ostream &os, const ShardyCase &test) { return os << test.source; }

/// All cases, in the order of files and lines. Throws std::runtime_error with file and line if a case is malformed.
std::vector<ShardyCase> readShardyCases();

/// `[(b, a), _] + c`: axes by dimension, and those over which devices hold partial sums.
spmd::Sharding parseSharding(const std::string &text);
std::string shardingText(const spmd::Sharding &sharding);

/// Bytes that each device sends, averaged over the devices.
double wireBytes(const ShardyCase::Move &move, const spmd::MeshShape &mesh);

} // namespace spmdc
