//===- Sharding.h - meshes, shardings, and owned ranges ---------*- C++ -*-===//
//
// The arithmetic of nested ceilings, which the compiler, the runtime and the tests share. Definitions follow Shardy's
// sharding representation (axes, sub-axes, major to minor) and the ownership rule of LANGUAGE.md: over (a, b), shard i
// of `a` has ceil(N/|a|) elements and is itself sharded over b into shards of ceil(that/|b|) elements, so that
// gathering `b` gives exactly the shards of `@a`. The last shards may be short or empty.
//
// All functions are pure and thread-safe; sizes are in elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// The named device grid. Devices are numbered in row-major order of their coordinates (first axis major).
struct MeshShape {
  std::vector<MeshAxis> axes;
  bool operator==(const MeshShape &) const = default;

  /// Product of the axis sizes; 1 for a mesh without axes.
  int64_t deviceCount() const;
  /// Index of the axis of that name, or -1.
  int indexOf(std::string_view name) const;
  /// Coordinates of a device, one per axis.
  std::vector<int64_t> coordinates(int64_t device) const;
  int64_t deviceAt(const std::vector<int64_t> &coordinates) const;
};

/// A mesh axis, or the sub-axis that Shardy writes `"a":(2)4`: size 4 after a major part of 2.
struct AxisRef {
  std::string name;
  int64_t preSize = 1; ///< Product of the parts of the axis that are major to this one.
  int64_t size = 0;    ///< Size of this sub-axis; 0 means the full axis.
  bool operator==(const AxisRef &) const = default;

  bool isFullAxis() const { return size == 0; }
  int64_t sizeIn(const MeshShape &mesh) const;
  /// Returns the coordinate along this axis or sub-axis of the device with the given mesh coordinates.
  int64_t coordinateIn(const MeshShape &mesh, const std::vector<int64_t> &coordinates) const;
  /// `a` or `a:(2)4`.
  std::string str() const;
};

/// The sharding of an array on a mesh: for each dimension the axes that shard it, major to minor, and the axes over
/// which it is unreduced. No axis is used twice.
struct Sharding {
  std::vector<std::vector<AxisRef>> dims;
  std::vector<AxisRef> unreduced;
  bool operator==(const Sharding &) const = default;

  /// `P(a, _, (b, c))`; trailing `_` are left out.
  std::string str() const;
  bool isFullyReplicated() const;
};

/// `'a', 'b:(2)4'`: the form in which messages name axes.
std::string quotedNames(const std::vector<AxisRef> &axes);

/// The elements [start, start + size) of a dimension of the global array that one device owns. `size` may be 0.
struct ShardRange {
  int64_t start = 0;
  int64_t size = 0;
  bool operator==(const ShardRange &) const = default;
};

/// Returns into how many shards each of the axes splits a dimension.
std::vector<int64_t> sizesOf(const MeshShape &mesh, const std::vector<AxisRef> &axes);

/// ceil(...ceil(ceil(n/s0)/s1).../sk): the padded local size of a dimension that is sharded over axes of these sizes.
int64_t localDimSize(int64_t n, const std::vector<int64_t> &axisSizes);

/// Returns the range of a dimension of n elements that the device at `coordinates` (one per axis in `axisSizes`, major
/// to minor) owns, clipped to n.
ShardRange shardRange(int64_t n, const std::vector<int64_t> &axisSizes, const std::vector<int64_t> &coordinates);

/// Padded local shape, the same on every device.
std::vector<int64_t> localShape(const MeshShape &mesh, const std::vector<int64_t> &globalShape,
                                const Sharding &sharding);

/// Returns what a device owns of an array, one range per dimension.
std::vector<ShardRange> ownedRanges(const MeshShape &mesh, const std::vector<int64_t> &globalShape,
                                    const Sharding &sharding, int64_t device);

/// Returns the range of a dimension of n elements, sharded over `axes`, that the device at these mesh coordinates (one
/// per mesh axis) owns.
ShardRange ownedRange(const MeshShape &mesh, int64_t n, const std::vector<AxisRef> &axes,
                      const std::vector<int64_t> &coordinates);

/// The devices that take part with `device` in a collective over `axes`, ordered by their coordinates over these axes
/// (the first axis major): a StableHLO process group.
std::vector<int64_t> groupOf(const MeshShape &mesh, const std::vector<AxisRef> &axes, int64_t device);

} // namespace spmd
