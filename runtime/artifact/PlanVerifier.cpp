//===- PlanVerifier.cpp - checks of a plan before it runs -----------------===//

#include "runtime/artifact/PlanVerifier.h"

#include "runtime/artifact/CompiledLoops.h"
#include "runtime/artifact/LibraryStepVerifier.h"
#include "runtime/artifact/PlanFields.h"
#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/support/ArraySize.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>

namespace spmd {
namespace {

constexpr int64_t kMaxDevices = int64_t(1) << 24;
constexpr size_t kMaxRank = 256;
constexpr int64_t kMostWraps = int64_t(1) << 16; ///< How often a periodic move may pass over an array.

std::string quoted(const std::string &text) { return "'" + text + "'"; }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

class Verifier {
public:
  Verifier(const Plan &plan, size_t constantBytes) : plan(plan), constantBytes(constantBytes) {}

  void run() {
    verifyMesh();
    for (const ValueInfo &value : plan.params)
      verifyValue(value, "parameter " + quoted(value.name));
    for (const ValueInfo &value : plan.results)
      verifyValue(value, "result " + quoted(value.name));
    if (plan.arenaBytes < 0 || plan.arenaBytes > kMaxArrayBytes)
      fail("the arena has " + std::to_string(plan.arenaBytes) + " bytes");
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      verifyBuffer(i);
    verifyAliases();
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      const KernelInfo &kernel = plan.kernels[i];
      if (kernel.symbol.empty() || kernel.gridBlocks < 0 || kernel.blockThreads < 0 || kernel.sharedBytes < 0 ||
          kernel.stateBytes < 0 || kernel.stateBytes > kMaxArrayBytes)
        fail("kernel " + std::to_string(i) + " has no name or a negative size");
    }
    if (plan.target.backend != "cpu" && plan.target.backend != "cuda")
      fail("its backend is " + quoted(plan.target.backend) + " and not cpu or cuda");
    verifyBlock(plan.steps, 0);
  }

private:
  [[noreturn]] void fail(const std::string &problem) const {
    std::string place = step ? " at " + step->location.str() : "";
    throw Error("the artifact's plan is not valid" + place + ": " + problem +
                "; compile the program again with this version of spmdc");
  }

  //===--------------------------------------------------------------------===//
  // Mesh, values, buffers
  //===--------------------------------------------------------------------===//

  void verifyMesh() const {
    int64_t devices = 1;
    std::set<std::string> names;
    for (const MeshAxis &axis : plan.mesh.axes) {
      if (axis.name.empty() || !names.insert(axis.name).second)
        fail("the mesh names axis " + quoted(axis.name) + " twice or not at all");
      if (axis.size < 1 || axis.size > kMaxDevices / devices)
        fail("mesh axis " + quoted(axis.name) + " has size " + std::to_string(axis.size));
      devices *= axis.size;
    }
  }

  /// Returns the number of elements of a shape; fails on negative and overflowing sizes.
  int64_t countOf(const std::vector<int64_t> &shape, int64_t elementBytes, const std::string &what) const {
    if (shape.size() > kMaxRank)
      fail(what + " has " + std::to_string(shape.size()) + " dimensions");
    int64_t count = 1;
    bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    for (int64_t size : shape) {
      if (size < 0 || (!empty && __builtin_mul_overflow(count, size, &count)) || size > kMaxArrayBytes)
        fail(what + " has the shape " + shapeText(shape));
    }
    if (!empty && count > kMaxArrayBytes / elementBytes)
      fail(what + " has the shape " + shapeText(shape));
    return empty ? 0 : count;
  }

  /// Checks that the axes are axes of the mesh and that no part of an axis is used twice; `used` collects over several
  /// lists.
  void verifyAxes(const std::vector<AxisRef> &axes, std::vector<AxisRef> &used, const std::string &what) const {
    for (const AxisRef &axis : axes) {
      int index = plan.mesh.indexOf(axis.name);
      if (index < 0)
        fail(what + " uses axis " + quoted(axis.name) + ", which the mesh does not have");
      int64_t whole = plan.mesh.axes[index].size;
      bool fits = axis.isFullAxis() ? axis.preSize == 1
                                    : axis.preSize >= 1 && axis.size >= 1 && axis.preSize <= whole &&
                                          axis.size <= whole && whole % (axis.preSize * axis.size) == 0;
      if (!fits)
        fail(what + " uses " + quoted(axis.str()) + ", which is not a part of an axis of size " +
             std::to_string(whole));
      auto begin = [&](const AxisRef &ref) { return ref.preSize; };
      auto end = [&](const AxisRef &ref) { return ref.isFullAxis() ? whole : ref.preSize * ref.size; };
      for (const AxisRef &other : used)
        if (other.name == axis.name && begin(other) < end(axis) && begin(axis) < end(other))
          fail(what + " uses axis " + quoted(axis.name) + " twice");
      used.push_back(axis);
    }
  }

  void verifySharding(const Sharding &sharding, size_t rank, const std::string &what) const {
    if (sharding.dims.size() > rank)
      fail(what + " has " + std::to_string(rank) + " dimensions and a sharding of " +
           std::to_string(sharding.dims.size()));
    std::vector<AxisRef> used;
    for (const auto &axes : sharding.dims)
      verifyAxes(axes, used, what);
    verifyAxes(sharding.unreduced, used, what);
  }

  void verifyValue(const ValueInfo &value, const std::string &what) const {
    countOf(value.shape, byteSize(value.dtype), what);
    verifySharding(value.sharding, value.shape.size(), what);
    std::vector<int64_t> expected = localShape(plan.mesh, value.shape, value.sharding);
    if (value.localShape != expected)
      fail(what + " has the local shape " + shapeText(value.localShape) + " where " + shapeText(expected) +
           " follows from its sharding");
    bool hasParts = !value.shape.empty() && value.shape.back() == 2 && value.localShape.back() == 2;
    bool isComplex = value.format == ElementFormat::Complex;
    if (isComplex && (!hasParts || (value.dtype != DType::F32 && value.dtype != DType::F64)))
      fail(what + " is complex and " + shapeText(value.localShape) +
           " on each device: its last dimension has no two parts");
    if (const NarrowFormat *narrow = findNarrow(value.format); narrow && value.dtype != narrow->storage)
      fail(what + " has the format " + std::string(narrow->name()) + " and the type " +
           std::string(dtypeName(value.dtype)) + " where " + std::string(dtypeName(narrow->storage)) + " belongs");
  }

  void verifyBuffer(size_t id) const {
    const BufferInfo &buffer = plan.buffers[id];
    std::string what = "buffer " + std::to_string(id);
    int64_t bytes = countOf(buffer.shape, byteSize(buffer.dtype), what) * byteSize(buffer.dtype);
    int64_t available = 0;
    switch (buffer.space) {
    case BufferInfo::Space::Argument:
      available = valueOf(plan.params, buffer.index, what).localBytes();
      break;
    case BufferInfo::Space::Result:
      available = valueOf(plan.results, buffer.index, what).localBytes();
      break;
    case BufferInfo::Space::Arena:
      available = plan.arenaBytes;
      break;
    case BufferInfo::Space::Constant:
      available = static_cast<int64_t>(constantBytes);
      break;
    }
    if (buffer.offset < 0 || buffer.offset > available || bytes > available - buffer.offset)
      fail(what + " has " + std::to_string(bytes) + " bytes at offset " + std::to_string(buffer.offset) +
           " of a space of " + std::to_string(available));
    if (buffer.offset % byteSize(buffer.dtype) != 0)
      fail(what + " is at offset " + std::to_string(buffer.offset) + ", which is not aligned to its elements");
  }

  const ValueInfo &valueOf(const std::vector<ValueInfo> &values, int32_t index, const std::string &what) const {
    if (index < 0 || static_cast<size_t>(index) >= values.size())
      fail(what + " names value " + std::to_string(index) + " of " + std::to_string(values.size()));
    return values[index];
  }

  void verifyAliases() const {
    if (!plan.aliases.empty() && plan.aliases.size() != plan.params.size())
      fail("it has " + std::to_string(plan.aliases.size()) + " aliases for " + std::to_string(plan.params.size()) +
           " parameters");
    std::set<int32_t> taken;
    for (size_t i = 0; i < plan.aliases.size(); ++i) {
      int32_t result = plan.aliases[i];
      if (result == -1)
        continue;
      const ValueInfo &value = valueOf(plan.results, result, "alias " + std::to_string(i));
      if (!taken.insert(result).second || value.localBytes() != plan.params[i].localBytes())
        fail("parameter " + std::to_string(i) + " cannot be overwritten by result " + std::to_string(result));
    }
  }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  void verifyBlock(const std::vector<Step> &steps, int depth) {
    if (depth > kMaxStepNesting)
      fail("blocks are nested deeper than " + std::to_string(kMaxStepNesting));
    std::set<int32_t> pending;
    for (const Step &current : steps) {
      step = &current;
      std::visit([&](const auto &op) { verify(op, pending, depth); }, current.op);
    }
    if (!pending.empty())
      fail("collective " + std::to_string(*pending.begin()) + " is started and not finished in its block");
  }

  const BufferInfo &buffer(BufferId id) const {
    if (id < 0 || static_cast<size_t>(id) >= plan.buffers.size())
      fail("a step names buffer " + std::to_string(id) + " of " + std::to_string(plan.buffers.size()));
    return plan.buffers[id];
  }

  const BufferInfo &writable(BufferId id) const {
    const BufferInfo &target = buffer(id);
    if (target.space == BufferInfo::Space::Constant)
      fail("a step writes to buffer " + std::to_string(id) + ", which is a constant");
    return target;
  }

  void verifyKernel(int32_t kernel, const std::vector<BufferId> &operands) const {
    if (kernel < 0 || static_cast<size_t>(kernel) >= plan.kernels.size())
      fail("a step names kernel " + std::to_string(kernel) + " of " + std::to_string(plan.kernels.size()));
    for (BufferId id : operands)
      buffer(id);
  }

  void verifyPredicate(BufferId id) const {
    const BufferInfo &predicate = buffer(id);
    if (predicate.dtype != DType::Bool || predicate.bytes() != 1)
      fail("the predicate in buffer " + std::to_string(id) + " is not one bool");
  }

  void verify(const LaunchStep &op, std::set<int32_t> &, int) {
    verifyKernel(op.kernel, op.operands);
    if (isLoopFunction(plan.kernels[static_cast<size_t>(op.kernel)].symbol))
      fail("a launch names " + quoted(plan.kernels[static_cast<size_t>(op.kernel)].symbol) +
           ", the function of a loop");
    if (op.extent < 0 || op.grain < 1)
      fail("a launch has extent " + std::to_string(op.extent) + " and grain " + std::to_string(op.grain));
    if (op.outputs < 0 || static_cast<size_t>(op.outputs) > op.operands.size())
      fail("a launch has " + std::to_string(op.outputs) + " outputs among its " + std::to_string(op.operands.size()) +
           " operands");
  }

  void verify(const MatmulStep &op, std::set<int32_t> &, int) {
    auto check = [&](const BufferInfo &operand, int64_t rows, int64_t columns, const char *name,
                     const OperandView &view = {}) {
      std::vector<int64_t> shape = {op.batch, rows, columns};
      if (!view.isEmpty()) {
        int64_t elements = operand.bytes() / byteSize(operand.dtype);
        if (!view.fits(shape, elements))
          fail(std::string(name) + " of a matrix product is no view of " + shapeText(shape) + " in a buffer of " +
               std::to_string(elements) + " elements");
        return;
      }
      int64_t bytes = countOf(shape, byteSize(operand.dtype), name) * byteSize(operand.dtype);
      if (bytes != operand.bytes())
        fail(std::string(name) + " of a matrix product has " + std::to_string(operand.bytes()) + " bytes where " +
             shapeText(shape) + " has " + std::to_string(bytes));
    };
    check(buffer(op.lhs), op.m, op.k, "the left operand", op.lhsView);
    check(buffer(op.rhs), op.k, op.n, "the right operand", op.rhsView);
    check(writable(op.result), op.m, op.n, "the result");
    if (op.allowTf32 && (plan.target.backend != "cuda" || buffer(op.lhs).dtype != DType::F32))
      fail("a matrix product of " + std::string(dtypeName(buffer(op.lhs).dtype)) + " on " + plan.target.backend +
           " devices allows TF32, which is for f32 on GPUs");
    if (op.epilogueKernel != -1)
      verifyKernel(op.epilogueKernel, op.epilogueOperands);
    if (op.libraryEpilogue.function == LibraryEpilogue::Function::None)
      return;
    std::vector<BufferInfo> operands;
    for (BufferId id : op.epilogueOperands)
      operands.push_back(buffer(id));
    std::string problem = plan.target.backend == "cuda" ? findProblem(op, operands) : "is for GPUs";
    if (!problem.empty())
      fail("the form of a matrix product's epilogue for a library " + problem);
    writable(op.epilogueOperands.back());
  }

  void verify(const CollectiveStartStep &op, std::set<int32_t> &pending, int) {
    if (op.id <= lastCollective)
      fail("collective " + std::to_string(op.id) + " comes after collective " + std::to_string(lastCollective));
    lastCollective = op.id;
    pending.insert(op.id);
    verifyCollective(op.desc, buffer(op.operand), writable(op.result));
    verifyRoot(op);
  }

  void verify(const CollectiveDoneStep &op, std::set<int32_t> &pending, int) {
    if (pending.erase(op.id) == 0)
      fail("collective " + std::to_string(op.id) + " is finished but was not started in this block");
  }

  void verify(const CopyStep &op, std::set<int32_t> &, int) {
    if (buffer(op.source).bytes() != writable(op.target).bytes())
      fail("a copy goes from " + std::to_string(buffer(op.source).bytes()) + " bytes to " +
           std::to_string(buffer(op.target).bytes()));
  }

  void verify(const IfStep &op, std::set<int32_t> &, int depth) {
    verifyPredicate(op.predicate);
    verifyBlock(op.thenSteps, depth + 1);
    verifyBlock(op.elseSteps, depth + 1);
  }

  void verify(const WhileStep &op, std::set<int32_t> &, int depth) {
    verifyPredicate(op.predicate);
    verifyBlock(op.condition, depth + 1);
    verifyBlock(op.body, depth + 1);
  }

  void verify(const ForStep &op, std::set<int32_t> &, int depth) {
    if (op.lower < INT32_MIN || op.upper > INT32_MAX)
      fail("a loop counts from " + std::to_string(op.lower) + " to " + std::to_string(op.upper) +
           ", which are not i32 numbers");
    if (op.counter != -1 && (writable(op.counter).dtype != DType::I32 || buffer(op.counter).bytes() != 4))
      fail("the counter in buffer " + std::to_string(op.counter) + " is not one i32");
    verifyBlock(op.body, depth + 1);
  }

  void verify(const PrintStep &op, std::set<int32_t> &, int) {
    if (op.texts.size() != op.values.size() + 1 || op.infos.size() != op.values.size())
      fail("a print has " + std::to_string(op.values.size()) + " values, " + std::to_string(op.texts.size()) +
           " texts and " + std::to_string(op.infos.size()) + " descriptions");
    for (size_t i = 0; i < op.values.size(); ++i) {
      verifyValue(op.infos[i], "printed value " + std::to_string(i));
      if (buffer(op.values[i]).bytes() != op.infos[i].localBytes())
        fail("printed value " + std::to_string(i) + " has " + std::to_string(buffer(op.values[i]).bytes()) +
             " bytes where its shape has " + std::to_string(op.infos[i].localBytes()));
    }
  }

  void verify(const LibraryStep &op, std::set<int32_t> &, int) {
    std::vector<BufferInfo> inputs;
    for (BufferId id : op.inputs)
      inputs.push_back(buffer(id));
    if (std::string problem = findProblem(op, inputs, writable(op.result)); !problem.empty())
      fail("a call of " + std::string(plan_fields::libraryNames[static_cast<size_t>(op.function)]) + " " + problem);
  }

  //===--------------------------------------------------------------------===//
  // Collectives
  //===--------------------------------------------------------------------===//

  void verifyCollective(const CollectiveDesc &desc, const BufferInfo &operand, const BufferInfo &result) const {
    std::vector<AxisRef> used;
    verifyAxes(desc.axes, used, "a collective");
    checkShape(desc.operandShape, desc.dtype, operand, "operand");
    checkShape(desc.resultShape, desc.dtype, result, "result");
    std::vector<int64_t> sizes;
    int64_t group = 1;
    for (const AxisRef &axis : desc.axes) {
      sizes.push_back(axis.sizeIn(plan.mesh));
      group *= sizes.back();
    }
    // Shapes that follow from the operand's shape and the kind of the collective.
    std::vector<int64_t> expectedOperand = desc.operandShape, expectedResult = desc.operandShape;
    switch (desc.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::CollectiveBroadcast:
      break;
    case CollectiveKind::AllGather:
      gathered(desc, desc.concatDim, sizes, expectedOperand, expectedResult);
      break;
    case CollectiveKind::ReduceScatter:
      scattered(desc, desc.splitDim, sizes, expectedResult);
      break;
    case CollectiveKind::AllToAll:
      if (desc.splitDim == desc.concatDim)
        fail("an all_to_all splits and concatenates the same dimension");
      scattered(desc, desc.splitDim, sizes, expectedResult);
      gathered(desc, desc.concatDim, sizes, expectedOperand, expectedResult);
      break;
    case CollectiveKind::CollectivePermute:
      verifyPairs(desc, group);
      break;
    case CollectiveKind::Exchange:
      countOf(desc.globalShape, byteSize(desc.dtype), "an exchange");
      verifySharding(desc.source, desc.globalShape.size(), "an exchange's source");
      verifySharding(desc.target, (desc.isReshaped() ? desc.targetShape : desc.globalShape).size(),
                     "an exchange's target");
      desc.isReshaped() ? verifyReshape(desc) : verifyMoves(desc);
      expectedOperand = localSourceShape(plan.mesh, {desc.globalShape, desc.source}, desc.moves);
      expectedResult = localShape(plan.mesh, desc.getTargetShape(), desc.target);
      break;
    }
    if (desc.operandShape != expectedOperand || desc.resultShape != expectedResult)
      fail("a collective takes " + shapeText(desc.operandShape) + " to " + shapeText(desc.resultShape) + " where " +
           shapeText(expectedOperand) + " to " + shapeText(expectedResult) + " follows from its axes");
  }

  void verifyRoot(const CollectiveStartStep &op) const {
    bool needsRoot = op.desc.kind == CollectiveKind::CollectiveBroadcast;
    if (needsRoot != (op.root >= 0))
      fail(std::string("a collective ") + (needsRoot ? "has no root" : "that is not a broadcast has a root"));
    if (!needsRoot)
      return;
    if (const BufferInfo &root = buffer(op.root); root.dtype != DType::I32 || !root.shape.empty())
      fail("the root of a collective_broadcast is " + typeText(root.dtype, root.shape) + " and must be i32[]");
  }

  void verifyReshape(const CollectiveDesc &desc) const {
    int64_t before = countOf(desc.globalShape, byteSize(desc.dtype), "an exchange");
    int64_t behind = countOf(desc.targetShape, byteSize(desc.dtype), "an exchange's target");
    if (before == 0 || before != behind)
      fail("an exchange takes " + shapeText(desc.globalShape) + " to " + shapeText(desc.targetShape) +
           ", which has not the same elements");
  }

  void verifyMoves(const CollectiveDesc &desc) const {
    if (desc.moves.empty())
      return;
    countOf(desc.targetShape, byteSize(desc.dtype), "an exchange's target");
    bool isValid = desc.moves.size() == desc.globalShape.size() && desc.targetShape.size() == desc.globalShape.size();
    // Bounds far below the numbers at which sums and products of these values overflow.
    auto isSmall = [](int64_t number, int64_t limit) { return number > -limit && number < limit; };
    for (size_t d = 0; isValid && d < desc.moves.size(); ++d) {
      const DimMove &move = desc.moves[d];
      isValid = isSmall(move.shift, int64_t(1) << 61) && isSmall(move.stride, int64_t(1) << 61) && move.stride != 0 &&
                move.begin >= 0 && move.begin <= move.end && move.end <= desc.targetShape[d] && move.block > 0 &&
                desc.globalShape[d] % move.block == 0 && move.dilation > 0 &&
                move.dilation < (int64_t(1) << 61) / std::max<int64_t>(1, desc.globalShape[d]) &&
                std::gcd(move.stride, move.dilation) == 1 &&
                (!move.wraps || (move.stride == 1 && move.block == 1 && move.dilation == 1 &&
                                 desc.targetShape[d] / std::max<int64_t>(1, desc.globalShape[d]) < kMostWraps));
      if (!isValid || move.length == 0)
        continue;
      int64_t size = desc.targetShape[d], windows = 1;
      int64_t limit = (int64_t(1) << 61) / std::max<int64_t>({size, move.base, 1});
      if (d < desc.target.dims.size())
        for (const AxisRef &axis : desc.target.dims[d])
          windows *= axis.sizeIn(plan.mesh);
      isValid = move.length > 0 && size % move.length == 0 && size / move.length == windows && move.stride > 0 &&
                move.stride < limit && move.step >= 0 && move.step < limit && move.base >= 0;
    }
    if (!isValid)
      fail("an exchange's moves do not fit its array of " + std::to_string(desc.globalShape.size()) + " dimensions");
  }

  void checkShape(const std::vector<int64_t> &shape, DType dtype, const BufferInfo &buffer, const char *name) const {
    int64_t bytes = countOf(shape, byteSize(dtype), std::string("a collective's ") + name) * byteSize(dtype);
    if (bytes != buffer.bytes())
      fail(std::string("a collective's ") + name + " has " + std::to_string(bytes) + " bytes and its buffer " +
           std::to_string(buffer.bytes()));
  }

  void checkDim(const CollectiveDesc &desc, int32_t dim) const {
    if (dim < 0 || static_cast<size_t>(dim) >= desc.operandShape.size() ||
        desc.resultShape.size() != desc.operandShape.size())
      fail("a collective names dimension " + std::to_string(dim) + " of " + std::to_string(desc.operandShape.size()));
  }

  /// Checks a gather along `dim`: the result's size is free, and the operand's size follows from it.
  void gathered(const CollectiveDesc &desc, int32_t dim, const std::vector<int64_t> &sizes,
                std::vector<int64_t> &operand, std::vector<int64_t> &result) const {
    checkDim(desc, dim);
    result[dim] = desc.resultShape[dim];
    operand[dim] = localDimSize(desc.resultShape[dim], sizes);
  }

  void scattered(const CollectiveDesc &desc, int32_t dim, const std::vector<int64_t> &sizes,
                 std::vector<int64_t> &result) const {
    checkDim(desc, dim);
    result[dim] = localDimSize(desc.operandShape[dim], sizes);
  }

  void verifyPairs(const CollectiveDesc &desc, int64_t group) const {
    std::set<int64_t> sources, targets;
    for (const auto &[source, target] : desc.pairs)
      if (source < 0 || source >= group || target < 0 || target >= group || !sources.insert(source).second ||
          !targets.insert(target).second)
        fail("a collective_permute over " + std::to_string(group) + " devices has the pair (" + std::to_string(source) +
             ", " + std::to_string(target) + "), which is out of range or used twice");
  }

  const Plan &plan;
  const size_t constantBytes;
  const Step *step = nullptr;
  int32_t lastCollective = -1;
};

} // namespace

void verifyPlan(const Plan &plan, size_t constantBytes) { Verifier(plan, constantBytes).run(); }

} // namespace spmd
