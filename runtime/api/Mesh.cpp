//===- Mesh.cpp - meshes and shardings ------------------------------------===//

#include "runtime/api/Layout.h"
#include "runtime/api/Runtime.h"
#include "runtime/support/ArraySize.h"
#include "runtime/support/CountText.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

std::string axesText(const std::vector<int64_t> &sizes, const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", '" : "'") + names[i] + "': " + std::to_string(sizes[i]);
  return text;
}

/// Parses `a`, or a part of an axis: `a:(2)4` (Sharding.h).
AxisRef parseAxis(const std::string &text) {
  size_t colon = text.find(":(");
  size_t close = text.find(')', colon == std::string::npos ? 0 : colon);
  if (colon == std::string::npos || close == std::string::npos)
    return {text};
  try {
    return {text.substr(0, colon), std::stoll(text.substr(colon + 2, close - colon - 2)),
            std::stoll(text.substr(close + 1))};
  } catch (const std::exception &) {
    throw usage("'" + text + "' is neither an axis nor a part of one");
  }
}

void checkAxes(const std::vector<int64_t> &sizes, const std::vector<std::string> &names) {
  if (sizes.size() != names.size())
    throw usage("a mesh has " + std::to_string(sizes.size()) + " axis sizes and " + std::to_string(names.size()) +
                " axis names; give as many of both");
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || !seen.insert(names[i]).second)
      throw usage("a mesh names axis '" + names[i] + "' twice or not at all");
    if (sizes[i] < 1)
      throw usage("mesh axis '" + names[i] + "' has size " + std::to_string(sizes[i]) + "; give at least 1");
  }
}

/// Returns the number of positions; the largest number on overflow.
int64_t productOf(const std::vector<int64_t> &sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product = multiplySaturated(product, size);
  return product;
}

/// Returns `4 positions`.
std::string positionsText(int64_t count) {
  return (count == std::numeric_limits<int64_t>::max() ? "at least " : "") + countText(count, "position");
}

} // namespace

Mesh::Mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names, const std::vector<DeviceInfo> &devices)
    : sizes(std::move(axis_sizes)), names(std::move(axis_names)) {
  checkAxes(sizes, names);
  if (productOf(sizes) != static_cast<int64_t>(devices.size()))
    throw usage(str() + " has " + positionsText(productOf(sizes)) + " and is given " +
                countText(static_cast<int64_t>(devices.size()), "device"));
  std::set<int64_t> seen;
  for (const DeviceInfo &device : devices) {
    if (!seen.insert(device.id).second)
      throw usage(str() + " is given " + device.str() + " twice");
    ids.push_back(device.id);
  }
}

std::string Mesh::str() const { return "Mesh(" + axesText(sizes, names) + ")"; }

Mesh make_mesh(std::vector<int64_t> axis_sizes, std::vector<std::string> axis_names, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  checkAxes(axis_sizes, axis_names);
  int64_t product = productOf(axis_sizes), count = static_cast<int64_t>(job->getDevices().size());
  if (product != count)
    throw usage("Mesh(" + axesText(axis_sizes, axis_names) + ") has " + positionsText(product) + " and the job has " +
                countText(count, "device") + "; the product of the axis sizes must be the number of devices");
  // Hosts in the order of their first process: then the last axes, which vary fastest, stay within a host.
  std::map<std::string, size_t> order;
  for (int32_t process = 0; process < job->getProcessCount(); ++process)
    order.emplace(job->hostOf(process), order.size());
  std::vector<DeviceInfo> devices = job->getDevices();
  std::sort(devices.begin(), devices.end(), [&](const DeviceInfo &a, const DeviceInfo &b) {
    return std::pair(order[job->hostOf(a.process_index)], a.id) < std::pair(order[job->hostOf(b.process_index)], b.id);
  });
  return Mesh(std::move(axis_sizes), std::move(axis_names), devices);
}

std::string P::str() const { return shardingOf(*this, dims.size()).str(); }

NamedSharding::NamedSharding(Mesh mesh, P spec) : grid(std::move(mesh)), partition(std::move(spec)) {
  MeshShape shape = meshShapeOf(grid);
  std::vector<AxisRef> used;
  for (const auto &axes : shardingOf(partition, partition.dim_specs().size()).dims)
    for (const AxisRef &axis : axes) {
      int index = shape.indexOf(axis.name);
      if (index < 0)
        throw usage(partition.str() + " uses axis '" + axis.name + "', which " + grid.str() + " does not have");
      int64_t whole = shape.axes[static_cast<size_t>(index)].size;
      if (!axis.isFullAxis() && (axis.preSize < 1 || axis.size < 1 || axis.preSize > whole || axis.size > whole ||
                                 whole % (axis.preSize * axis.size) != 0))
        throw usage(partition.str() + " uses " + axis.str() + ", which is not a part of an axis of size " +
                    std::to_string(whole));
      auto end = [&](const AxisRef &ref) { return ref.isFullAxis() ? whole : ref.preSize * ref.size; };
      for (const AxisRef &other : used)
        if (other.name == axis.name && other.preSize < end(axis) && axis.preSize < end(other))
          throw usage(partition.str() + " uses axis '" + axis.name + "' twice; an array may use an axis once");
      used.push_back(axis);
    }
}

bool NamedSharding::is_fully_replicated() const {
  MeshShape shape = meshShapeOf(grid);
  for (const auto &axes : shardingOf(partition, partition.dim_specs().size()).dims)
    for (const AxisRef &axis : axes)
      if (axis.sizeIn(shape) > 1)
        return false;
  return true;
}

std::string NamedSharding::str() const {
  return "NamedSharding(mesh=" + grid.str() + ", spec=" + partition.str() + ")";
}

MeshShape meshShapeOf(const Mesh &mesh) {
  MeshShape shape;
  for (size_t i = 0; i < mesh.axis_names().size(); ++i)
    shape.axes.push_back({mesh.axis_names()[i], mesh.axis_sizes()[i]});
  return shape;
}

Sharding shardingOf(const P &spec, size_t rank) {
  if (spec.dim_specs().size() > rank)
    throw usage("a specification of " + std::to_string(spec.dim_specs().size()) +
                " dimensions does not fit an array of " + std::to_string(rank));
  Sharding sharding;
  sharding.dims.resize(rank);
  for (size_t d = 0; d < spec.dim_specs().size(); ++d)
    for (const std::string &axis : spec.dim_specs()[d].axes())
      sharding.dims[d].push_back(parseAxis(axis));
  return sharding;
}

P specOf(const Sharding &sharding) {
  std::vector<DimSpec> dims;
  for (const auto &axes : sharding.dims) {
    std::vector<std::string> names;
    for (const AxisRef &axis : axes)
      names.push_back(axis.str());
    dims.push_back(DimSpec(std::move(names)));
  }
  return P::of(std::move(dims));
}

bool isSameLayout(const NamedSharding &a, const NamedSharding &b, const std::vector<int64_t> &shape) {
  MeshShape meshA = meshShapeOf(a.mesh()), meshB = meshShapeOf(b.mesh());
  Sharding shardingA = shardingOf(a.spec(), shape.size()), shardingB = shardingOf(b.spec(), shape.size());
  if (a.mesh() == b.mesh() && shardingA == shardingB)
    return true;
  const auto &idsA = a.mesh().device_ids(), &idsB = b.mesh().device_ids();
  if (idsA.size() != idsB.size() || localShape(meshA, shape, shardingA) != localShape(meshB, shape, shardingB))
    return false;
  std::map<int64_t, int64_t> positionsB;
  for (size_t i = 0; i < idsB.size(); ++i)
    positionsB[idsB[i]] = static_cast<int64_t>(i);
  for (size_t i = 0; i < idsA.size(); ++i) {
    auto other = positionsB.find(idsA[i]);
    if (other == positionsB.end() || ownedRanges(meshA, shape, shardingA, static_cast<int64_t>(i)) !=
                                         ownedRanges(meshB, shape, shardingB, other->second))
      return false;
  }
  return true;
}

std::string indexText(const std::vector<ShardRange> &ranges) {
  std::string text;
  for (size_t d = 0; d < ranges.size(); ++d)
    text += (d ? ", " : "") + std::to_string(ranges[d].start) + ":" + std::to_string(ranges[d].start + ranges[d].size);
  return text;
}

Index indexOf(const std::vector<ShardRange> &ranges) {
  Index index;
  for (const ShardRange &range : ranges)
    index.push_back({range.start, range.start + range.size});
  return index;
}

} // namespace spmd
