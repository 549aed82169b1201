//===- sharding.h - meshes and shardings ------------------------*- C++ -*-===//
#pragma once

#include "job.h"

#include <concepts>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace spmd {

/// Devices in a grid with named axes, the first axis major. A mesh may use only some of the devices.
class Mesh {
public:
  Mesh() = default;
  /// `devices` are in row-major order of their coordinates; each occurs at most once.
  Mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names, const std::vector<DeviceInfo> &devices);

  const std::vector<int64_t> &axis_sizes() const { return sizes; }
  const std::vector<std::string> &axis_names() const { return names; }
  const std::vector<int64_t> &device_ids() const { return ids; }
  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  bool operator==(const Mesh &) const = default;
  /// `Mesh('a': 4, 'b': 2)`.
  std::string str() const;

private:
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  std::vector<int64_t> ids;
};

/// Returns a mesh of all devices, ordered so that the last axes stay within a host. The product of the sizes must be
/// the number of devices.
Mesh make_mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names,
               std::source_location where = std::source_location::current());

/// The sharding of one dimension: over an axis, over several (major to minor), or replicated (nullptr).
class DimSpec {
public:
  DimSpec(std::nullptr_t) {}
  DimSpec(const char *axis) : names{axis} {}
  DimSpec(std::string axis) : names{std::move(axis)} {}
  DimSpec(std::vector<std::string> axes) : names(std::move(axes)) {}
  const std::vector<std::string> &axes() const { return names; }
  bool operator==(const DimSpec &) const = default;

private:
  std::vector<std::string> names;
};

/// Several axes in one dimension: P(axes("a", "b"), nullptr).
template <typename... Names> DimSpec axes(Names... names) { return DimSpec(std::vector<std::string>{names...}); }

/// A partition specification: P("i", nullptr). Dimensions left out at the end are not sharded.
class P {
public:
  P() = default;
  template <typename First, typename... Rest>
    requires(!std::same_as<std::remove_cvref_t<First>, P>)
  explicit P(First &&first, Rest &&...rest)
      : dims{DimSpec(std::forward<First>(first)), DimSpec(std::forward<Rest>(rest))...} {}
  static P of(std::vector<DimSpec> dims) {
    P spec;
    spec.dims = std::move(dims);
    return spec;
  }

  const std::vector<DimSpec> &dim_specs() const { return dims; }
  bool operator==(const P &) const = default;
  /// `P(i, _)`.
  std::string str() const;

private:
  std::vector<DimSpec> dims;
};

/// The sharding of an array over a mesh. The specification's axes must be axes of the mesh, each used at most once.
class NamedSharding {
public:
  NamedSharding() = default;
  NamedSharding(Mesh mesh, P spec);
  const Mesh &mesh() const { return grid; }
  const P &spec() const { return partition; }
  bool is_fully_replicated() const;
  bool operator==(const NamedSharding &) const = default;
  /// `NamedSharding(mesh=Mesh('a': 4, 'b': 2), spec=P(a, _))`.
  std::string str() const;

private:
  Mesh grid;
  P partition;
};

} // namespace spmd
