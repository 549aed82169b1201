//===- NanCheck.cpp - finds the step that made a NaN ----------------------===//

#include "runtime/exec/NanCheck.h"

#include "runtime/support/DType.h"

#include <algorithm>
#include <cstring>

namespace spmd {
namespace {

/// Compares bits, so that no floating-point mode affects what counts as a NaN.
template <typename Bits> int64_t findNan(const void *data, int64_t count, Bits infinity) {
  const char *bytes = static_cast<const char *>(data);
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  constexpr int64_t block = 4096;
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t end = std::min(count, begin + block);
    bool any = false;
    for (int64_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + i * static_cast<int64_t>(sizeof bits), sizeof bits);
      any |= static_cast<Bits>(bits & ~sign) > infinity;
    }
    if (!any)
      continue;
    for (int64_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + i * static_cast<int64_t>(sizeof bits), sizeof bits);
      if (static_cast<Bits>(bits & ~sign) > infinity)
        return i;
    }
  }
  return -1;
}

/// Returns the index of the first NaN among `count` elements, or -1.
int64_t findNan(DType dtype, const void *data, int64_t count) {
  switch (dtype) {
  case DType::F16:
    return findNan<uint16_t>(data, count, 0x7c00);
  case DType::BF16:
    return findNan<uint16_t>(data, count, 0x7f80);
  case DType::F32:
    return findNan<uint32_t>(data, count, 0x7f800000u);
  case DType::F64:
    return findNan<uint64_t>(data, count, uint64_t(0x7ff) << 52);
  default:
    return -1;
  }
}

std::string indexText(const std::vector<int64_t> &index) {
  std::string text = "[";
  for (size_t i = 0; i < index.size(); ++i)
    text += (i ? ", " : "") + std::to_string(index[i]);
  return text + "]";
}

void collectCollectives(const std::vector<Step> &steps, std::vector<std::pair<BufferId, BufferId>> &found) {
  for (const Step &step : steps) {
    if (auto *start = std::get_if<CollectiveStartStep>(&step.op)) {
      auto id = static_cast<size_t>(start->id);
      if (found.size() <= id)
        found.resize(id + 1, {-1, -1});
      found[id] = {start->operand, start->result};
    } else if (auto *branch = std::get_if<IfStep>(&step.op)) {
      collectCollectives(branch->thenSteps, found);
      collectCollectives(branch->elseSteps, found);
    } else if (auto *loop = std::get_if<WhileStep>(&step.op)) {
      collectCollectives(loop->condition, found);
      collectCollectives(loop->body, found);
    } else if (auto *counted = std::get_if<ForStep>(&step.op)) {
      collectCollectives(counted->body, found);
    }
  }
}

} // namespace

StepBuffers buffersOf(const Step &step, BufferId operand, BufferId result) {
  if (auto *launch = std::get_if<LaunchStep>(&step.op)) {
    auto split = launch->operands.end() - std::min<ptrdiff_t>(launch->outputs, std::ssize(launch->operands));
    return {{launch->operands.begin(), split}, {split, launch->operands.end()}};
  }
  if (auto *matmul = std::get_if<MatmulStep>(&step.op)) {
    if (matmul->epilogueKernel < 0)
      return {{matmul->lhs, matmul->rhs}, {matmul->result}};
    // Inputs: the product and the epilogue's other inputs; output: the epilogue's.
    StepBuffers all{{matmul->lhs, matmul->rhs}, {matmul->epilogueOperands.back()}};
    for (size_t i = 1; i + 1 < matmul->epilogueOperands.size(); ++i)
      all.inputs.push_back(matmul->epilogueOperands[i]);
    return all;
  }
  if (auto *copy = std::get_if<CopyStep>(&step.op))
    return {{copy->source}, {copy->target}};
  if (auto *library = std::get_if<LibraryStep>(&step.op))
    return {library->inputs, {library->result}};
  if (std::holds_alternative<CollectiveDoneStep>(step.op))
    return {{operand}, {result}};
  return {};
}

NanCheck::NanCheck(const Plan &plan, int64_t position) : plan(plan), position(position) {
  collectCollectives(plan.steps, collectives);
}

bool NanCheck::overlaps(const NanRange &nanRange, BufferId id) const {
  const BufferInfo &info = plan.buffers[static_cast<size_t>(id)];
  return nanRange.space == info.space && nanRange.index == info.index && nanRange.begin < info.offset + info.bytes() &&
         info.offset < nanRange.end;
}

/// Returns the global index of the first NaN in the shard that this device owns of a value.
std::optional<std::vector<int64_t>> NanCheck::findInValue(const ValueInfo &value, const void *data) const {
  if (!isFloat(value.dtype))
    return std::nullopt;
  std::vector<ShardRange> owned = ownedRanges(plan.mesh, value.shape, value.sharding, position);
  size_t rank = owned.size();
  for (const ShardRange &range : owned)
    if (range.size == 0)
      return std::nullopt;
  // Walks the owned rows of the padded local array.
  int64_t rowSize = rank == 0 ? 1 : owned.back().size, stride = rank == 0 ? 1 : value.localShape.back();
  std::vector<int64_t> index(rank, 0);
  for (;;) {
    int64_t row = 0;
    for (size_t d = 0; d + 1 < rank; ++d)
      row = row * value.localShape[d] + index[d];
    const char *begin = static_cast<const char *>(data) + row * stride * byteSize(value.dtype);
    if (int64_t at = findNan(value.dtype, begin, rowSize); at >= 0) {
      if (rank > 0)
        index[rank - 1] = at;
      for (size_t d = 0; d < rank; ++d)
        index[d] += owned[d].start;
      return index;
    }
    size_t d = rank < 2 ? 0 : rank - 1;
    for (; d > 0; --d) {
      if (++index[d - 1] < owned[d - 1].size)
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return std::nullopt;
  }
}

void NanCheck::begin(uint64_t number, const std::vector<void *> &buffers) {
  launch = number;
  nanRanges.clear();
  origins.clear();
  printed.reset();
  for (size_t id = 0; id < plan.buffers.size(); ++id) {
    const BufferInfo &info = plan.buffers[id];
    if (info.space != BufferInfo::Space::Argument || info.offset != 0)
      continue;
    const ValueInfo &value = plan.params[static_cast<size_t>(info.index)];
    bool isKnown = std::any_of(nanRanges.begin(), nanRanges.end(),
                               [&](const NanRange &nanRange) { return nanRange.index == info.index; });
    if (isKnown)
      continue;
    if (auto index = findInValue(value, buffers[id])) {
      nanRanges.push_back({info.space, info.index, 0, value.localBytes(), std::ssize(origins)});
      origins.push_back({"argument '" + value.name + "' holds a NaN at " + indexText(*index), 0, nullptr, false});
    }
  }
}

void NanCheck::afterStep(int32_t number, const Step &step, const std::string &name,
                         const std::vector<void *> &buffers) {
  if (auto *print = std::get_if<PrintStep>(&step.op))
    return lookAtPrinted(step, *print, buffers);
  std::pair<BufferId, BufferId> collective{-1, -1};
  auto *done = std::get_if<CollectiveDoneStep>(&step.op);
  if (done)
    collective = collectives[static_cast<size_t>(done->id)];
  StepBuffers used = buffersOf(step, collective.first, collective.second);
  // An output may overwrite an input, so the inputs are checked first.
  int64_t inherited = -1;
  for (BufferId id : used.inputs)
    for (const NanRange &nanRange : nanRanges)
      if (overlaps(nanRange, id) && (inherited < 0 || nanRange.origin < inherited))
        inherited = nanRange.origin;
  for (BufferId id : used.outputs) {
    const BufferInfo &info = plan.buffers[static_cast<size_t>(id)];
    std::erase_if(nanRanges, [&](const NanRange &nanRange) { return overlaps(nanRange, id); });
    if (!isFloat(info.dtype) ||
        findNan(info.dtype, buffers[static_cast<size_t>(id)], info.bytes() / byteSize(info.dtype)) < 0)
      continue;
    if (inherited < 0) {
      inherited = std::ssize(origins);
      std::string where = step.location.line > 0 ? ", " + step.location.str() : "";
      origins.push_back({"step " + std::to_string(number) + " (" + name + where + ") " +
                             (done ? "brought a NaN from another device" : "made a NaN") + " in launch " +
                             std::to_string(launch),
                         number, &step.location, done != nullptr});
    }
    nanRanges.push_back({info.space, info.index, info.offset, info.offset + info.bytes(), inherited});
  }
}

/// The user sees a printed value like a result.
void NanCheck::lookAtPrinted(const Step &step, const PrintStep &print, const std::vector<void *> &buffers) {
  for (size_t i = 0; i < print.values.size() && !printed; ++i)
    for (const NanRange &nanRange : nanRanges) {
      if (!overlaps(nanRange, print.values[i]))
        continue;
      auto index = findInValue(print.infos[i], buffers[static_cast<size_t>(print.values[i])]);
      if (!index)
        break; // Only the padding, or other memory of the same range, has a NaN.
      const Origin &origin = origins[static_cast<size_t>(nanRange.origin)];
      std::string place = step.location.line > 0 ? " at " + step.location.str() : "";
      printed = {origin.text + "; the value printed" + place + " has it" +
                     (index->empty() ? "" : " at " + indexText(*index)),
                 origin.step, origin.location, origin.isForeign};
      break;
    }
}

std::optional<NanCheck::Finding> NanCheck::find(const std::vector<void *> &buffers) const {
  std::optional<Finding> result = findInResults(buffers);
  return result ? result : printed;
}

std::optional<NanCheck::Finding> NanCheck::findInResults(const std::vector<void *> &buffers) const {
  std::optional<Finding> best;
  int64_t bestOrigin = 0;
  for (size_t id = 0; id < plan.buffers.size(); ++id) {
    const BufferInfo &info = plan.buffers[id];
    if (info.space != BufferInfo::Space::Result || info.offset != 0)
      continue;
    const ValueInfo &value = plan.results[static_cast<size_t>(info.index)];
    for (const NanRange &nanRange : nanRanges) {
      if (nanRange.space != info.space || nanRange.index != info.index || (best && bestOrigin <= nanRange.origin))
        continue;
      auto index = findInValue(value, buffers[id]);
      if (!index)
        break; // Only the padding has a NaN.
      const Origin &origin = origins[static_cast<size_t>(nanRange.origin)];
      std::string where = index->empty() ? "" : " at " + indexText(*index);
      best = {origin.text + "; result '" + value.name + "' has it" + where, origin.step, origin.location,
              origin.isForeign};
      bestOrigin = nanRange.origin;
    }
  }
  return best;
}

} // namespace spmd
