//===- Reshard.cpp - reshards, and values gathered on one process ---------===//
//
// Both run as small programs of one step: an exchange, or a print whose text is not printed.
//
//===----------------------------------------------------------------------===//

#include "runtime/api/FunctionImpl.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/io/BoxCopy.h"

#include <algorithm>
#include <set>

namespace spmd {
namespace {

ValueInfo valueInfo(const ArrayImpl &array, const Sharding &sharding) {
  MeshShape mesh = meshShapeOf(array.sharding.mesh());
  return {"value", array.dtype, array.shape, sharding, localShape(mesh, array.shape, sharding)};
}

/// Returns a plan whose only parameter is the array, in buffer 0.
std::shared_ptr<Artifact> planOver(const ArrayImpl &array, const std::string &name) {
  auto artifact = std::make_shared<Artifact>();
  artifact->compilerVersion = SPMDC_VERSION;
  Plan &plan = artifact->plan;
  plan.name = name;
  plan.target.backend = array.job->getLocalDevices().front()->getBackend();
  plan.mesh = meshShapeOf(array.sharding.mesh());
  plan.params = {valueInfo(array, shardingOf(array.sharding.spec(), array.shape.size()))};
  plan.aliases = {-1};
  plan.buffers = {{BufferInfo::Space::Argument, 0, 0, array.dtype, plan.params[0].localShape}};
  return artifact;
}

/// Returns the same buffers under a sharding of the same layout.
Array relabel(const Array &array, const NamedSharding &target) {
  const ArrayImpl &impl = *array.get_impl();
  auto same = std::make_shared<ArrayImpl>(impl);
  same->sharding = target;
  same->isUncommitted = false; // The caller chose the devices.
  return Array(std::move(same));
}

SourceLocation locationOf(const std::source_location &where) {
  return {where.file_name(), static_cast<int32_t>(where.line()), static_cast<int32_t>(where.column())};
}

/// Returns the value with another specification on the same mesh. `where` is the call of the program.
Array exchange(const Array &array, const NamedSharding &target, const std::source_location &where) {
  const ArrayImpl &impl = *array.get_impl();
  if (impl.getParts()->empty()) // No device of this process takes part.
    return Array(planArray(impl.job, impl.dtype, impl.shape, target, impl.name));
  std::shared_ptr<Artifact> artifact = planOver(impl, "device_put");
  Plan &plan = artifact->plan;
  Sharding sharding = shardingOf(target.spec(), impl.shape.size());
  plan.results = {valueInfo(impl, sharding)};
  plan.results[0].name = impl.name;
  plan.buffers.push_back({BufferInfo::Space::Result, 0, 0, impl.dtype, plan.results[0].localShape});
  CollectiveDesc desc;
  desc.kind = CollectiveKind::Exchange;
  desc.dtype = impl.dtype;
  desc.operandShape = plan.params[0].localShape;
  desc.resultShape = plan.results[0].localShape;
  desc.globalShape = impl.shape;
  desc.source = plan.params[0].sharding;
  desc.target = sharding;
  plan.steps = {{CollectiveStartStep{0, desc, 0, 1}, locationOf(where)}, {CollectiveDoneStep{0}, locationOf(where)}};
  Program program(impl.job, artifact, impl.sharding.mesh());
  Array result = program.call({array})[0];
  result.block_until_ready(); // The program is destroyed at the end of the function.
  return relabel(result, target);
}

} // namespace

Array placeLocally(const Array &array, const NamedSharding &target) {
  const ArrayImpl &impl = *array.get_impl();
  impl.wait();
  std::vector<char> values(static_cast<size_t>(elementCount(impl.shape) * byteSize(impl.dtype)));
  PartsRef parts = impl.getParts();
  impl.copyPart(parts->front(), values.data());
  return fillArray(
      impl.job, impl.dtype, impl.shape, target,
      [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *out) {
        copyBox(byteSize(impl.dtype), sizesOf(ranges), values.data(), impl.shape, startsOf(ranges), out, padded,
                std::vector<int64_t>(ranges.size()));
      },
      impl.name);
}

Array reshard(const Array &array, const NamedSharding &target, const std::source_location &where) {
  array.shape(); // Throws for an empty Array.
  const ArrayImpl &impl = *array.get_impl();
  if (target.mesh() == impl.sharding.mesh()) {
    if (isSameLayout(impl.sharding, target, impl.shape))
      return relabel(array, target);
    return exchange(array, target, where);
  }
  // Another mesh: every process gets the full value and keeps its part.
  std::set<int32_t> have, want;
  for (int64_t id : impl.sharding.mesh().device_ids())
    have.insert(impl.job->getDevice(id).process_index);
  for (int64_t id : target.mesh().device_ids())
    want.insert(impl.job->getDevice(id).process_index);
  for (int32_t process : want)
    if (!have.contains(process))
      throw Error("device_put of " + impl.describe() + " from " + impl.sharding.mesh().str() + " to " +
                      target.mesh().str() + " is not possible: process " + std::to_string(process) +
                      " has no device in the first; use meshes over the same processes",
                  Error::Kind::Usage);
  Array replicated =
      impl.sharding.is_fully_replicated() ? array : exchange(array, NamedSharding(impl.sharding.mesh(), P()), where);
  replicated.block_until_ready();
  if (!want.contains(impl.job->getProcess()))
    return Array(planArray(impl.job, impl.dtype, impl.shape, target, impl.name));
  return placeLocally(replicated, target);
}

Array process_allgather(const Array &value, std::source_location where) {
  return reshard(value, NamedSharding(value.sharding().mesh(), P()), where);
}

void gatherToFirst(const Array &array, const std::function<void(const HostView &)> &receive) {
  const ArrayImpl &impl = *array.get_impl();
  PartsRef parts = impl.getParts();
  if (parts->empty())
    return;
  std::shared_ptr<Artifact> artifact = planOver(impl, "gather");
  Plan &plan = artifact->plan;
  PrintStep print;
  print.texts = {"", ""};
  print.values = {0};
  print.infos = {plan.params[0]};
  plan.steps = {{print, {}}};
  ProgramOptions options;
  options.print = [&](const std::vector<std::string> &, const std::vector<HostView> &values) { receive(values[0]); };
  Program program(impl.job, artifact, impl.sharding.mesh(), std::move(options));
  array.block_until_ready();
  // A program without results: this function waits for the launch through the executor.
  std::vector<std::vector<DeviceBufferRef>> inputs, outputs(parts->size());
  for (const LocalPart &part : *parts)
    inputs.push_back({part.buffer});
  try {
    program.getExecutor()->run(std::move(inputs), std::move(outputs));
  } catch (...) {
    impl.job->markFailed();
    throw;
  }
}

} // namespace spmd
