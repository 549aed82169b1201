//===- CompiledProgramHelper.cpp - compiles IR and runs its kernels -------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"

#include "ir/spmd/SpmdTypes.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/pipeline/Registration.h"
#include "passes/plan/ExportPlan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace spmdc {

std::unique_ptr<MLIRContext> makeTestContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

CompiledProgram::CompiledProgram(ModuleOp module, const CpuTarget &target) {
  OwningOpRef<ModuleOp> planned = module.clone();
  if (failed(runPipeline(*planned, std::max(getStage(*planned), Stage::Partitioned), Stage::Plan, {}))) {
    ADD_FAILURE() << "the pipeline fails";
    return;
  }
  FailureOr<spmd::Artifact> exported = exportPlan(*planned);
  FailureOr<std::string> code = emitSharedObject(*planned, target);
  if (failed(exported) || failed(code)) {
    ADD_FAILURE() << "no artifact";
    return;
  }
  artifact = std::move(*exported);
  artifact.code = std::move(*code);
  int fd = memfd_create("kernels", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, artifact.code.data(), artifact.code.size()) != static_cast<ssize_t>(artifact.code.size())) {
    ADD_FAILURE() << "no memory file";
    return;
  }
  library = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    ADD_FAILURE() << dlerror();
  ::close(fd);
}

CompiledProgram::~CompiledProgram() {
  if (library)
    dlclose(library);
}

std::vector<Tensor> CompiledProgram::run(ArrayRef<Tensor> arguments, RangeSplit split,
                                         std::vector<int64_t> coordinates) {
  const spmd::Plan &plan = artifact.plan;
  // Aligned memory, filled with a pattern that no result should show.
  auto allocate = [](int64_t bytes) {
    void *memory = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    std::memset(memory, 0xa5, (bytes + 127) / 64 * 64);
    return std::unique_ptr<char, decltype(&std::free)>(static_cast<char *>(memory), &std::free);
  };
  auto arena = allocate(plan.arenaBytes);
  std::vector<std::unique_ptr<char, decltype(&std::free)>> inputs, results;
  for (const Tensor &argument : arguments) {
    std::string bytes = toBytes(argument);
    inputs.push_back(allocate(bytes.size()));
    std::memcpy(inputs.back().get(), bytes.data(), bytes.size());
  }
  for (const spmd::ValueInfo &result : plan.results)
    results.push_back(allocate(result.localBytes()));
  auto constants = allocate(artifact.constants.size());
  std::memcpy(constants.get(), artifact.constants.data(), artifact.constants.size());
  auto address = [&](spmd::BufferId id) -> void * {
    const spmd::BufferInfo &buffer = plan.buffers[id];
    switch (buffer.space) {
    case spmd::BufferInfo::Space::Argument:
      return inputs[buffer.index].get();
    case spmd::BufferInfo::Space::Result:
      return results[buffer.index].get();
    case spmd::BufferInfo::Space::Arena:
      return arena.get() + buffer.offset;
    case spmd::BufferInfo::Space::Constant:
      return constants.get() + buffer.offset;
    }
    return nullptr;
  };
  for (const spmd::Step &step : plan.steps) {
    if (const auto *copy = std::get_if<spmd::CopyStep>(&step.op)) {
      std::memcpy(address(copy->target), address(copy->source), plan.buffers[copy->source].bytes());
    } else if (const auto *launch = std::get_if<spmd::LaunchStep>(&step.op)) {
      using Kernel = void (*)(int64_t, int64_t, void *const *, const int64_t *);
      auto kernel = reinterpret_cast<Kernel>(dlsym(library, plan.kernels[launch->kernel].symbol.c_str()));
      EXPECT_NE(kernel, nullptr) << plan.kernels[launch->kernel].symbol;
      if (!kernel)
        return {};
      std::vector<void *> buffers;
      for (spmd::BufferId id : launch->operands)
        buffers.push_back(address(id));
      int64_t piece = split == RangeSplit::Whole  ? launch->extent
                      : split == RangeSplit::Ones ? 1
                                                  : std::max<int64_t>(1, launch->extent / 3 + 1);
      // Last piece first: any order must do.
      if (launch->extent > 0)
        for (int64_t begin = (launch->extent - 1) / piece * piece; begin >= 0; begin -= piece)
          kernel(begin, std::min(begin + piece, launch->extent), buffers.data(), coordinates.data());
    } else {
      ADD_FAILURE() << "a step that this interpreter does not know";
    }
  }
  std::vector<Tensor> tensors;
  MLIRContext *context = arguments.empty() ? nullptr : arguments[0].elementType.getContext();
  for (size_t i = 0; i < plan.results.size(); ++i)
    tensors.push_back(fromBytes(results[i].get(), plan.results[i].localShape,
                                context ? getElementType(context, plan.results[i].dtype) : Type()));
  return tensors;
}

std::string toBytes(const Tensor &tensor) {
  std::string bytes;
  Type type = tensor.elementType;
  for (const Scalar &element : tensor.elements) {
    uint64_t bits = static_cast<uint64_t>(element.i);
    unsigned width = std::max(8u, type.getIntOrFloatBitWidth());
    if (auto floatType = dyn_cast<FloatType>(type)) {
      APFloat value(element.f);
      bool losesInfo = false;
      value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    for (unsigned byte = 0; byte < width / 8; ++byte)
      bytes.push_back(static_cast<char>(bits >> (8 * byte)));
  }
  return bytes;
}

Tensor fromBytes(const char *bytes, ArrayRef<int64_t> shape, Type elementType) {
  Tensor tensor(shape, elementType);
  unsigned width = std::max(8u, elementType.getIntOrFloatBitWidth()) / 8;
  for (Scalar &element : tensor.elements) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, width);
    bytes += width;
    if (auto floatType = dyn_cast<FloatType>(elementType)) {
      APFloat value(floatType.getFloatSemantics(), APInt(width * 8, bits));
      bool losesInfo = false;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      element = Scalar::ofFloat(value.convertToDouble());
    } else {
      bool isSigned = !isUnsigned(elementType) && !elementType.isInteger(1);
      element = Scalar::ofInt(isSigned && width < 8 ? static_cast<int64_t>(bits << (64 - width * 8)) >> (64 - width * 8)
                                                    : static_cast<int64_t>(bits));
    }
  }
  return tensor;
}

double ulpDistance(Type elementType, Scalar x, Scalar y) {
  double infinity = std::numeric_limits<double>::infinity();
  auto floatType = dyn_cast<FloatType>(elementType);
  if (!floatType)
    return x.i == y.i ? 0 : infinity;
  if (std::isnan(x.f) || std::isnan(y.f))
    return std::isnan(x.f) && std::isnan(y.f) ? 0 : infinity;
  if (x.f == y.f)
    return 0;
  unsigned precision = APFloat::semanticsPrecision(floatType.getFloatSemantics());
  int smallest = APFloat::semanticsMinExponent(floatType.getFloatSemantics());
  double largest = std::ldexp(2.0, APFloat::semanticsMaxExponent(floatType.getFloatSemantics()));
  // Beyond the largest number stands infinity, one step away.
  auto bounded = [&](double value) {
    return std::isinf(value) && precision < 53 ? std::copysign(largest, value) : value;
  };
  if (precision == 53 && (std::isinf(x.f) || std::isinf(y.f)))
    return infinity;
  double reference = bounded(y.f);
  int exponent = reference == 0 ? smallest : std::max(smallest, std::ilogb(reference));
  return std::abs(bounded(x.f) - reference) / std::ldexp(1.0, exponent - static_cast<int>(precision) + 1);
}

Tensor makeInput(ArrayRef<int64_t> shape, Type elementType, unsigned seed, InputKind kind) {
  bool isWild = kind == InputKind::Wild;
  std::mt19937 random(seed);
  Tensor tensor(shape, elementType);
  static const double kFloats[] = {0.0,  -0.0, 1.0,   -1.0, 0.5,    INFINITY, -INFINITY, NAN,  1e-40,  -1e-40,
                                   1e30, 88.0, -88.0, 2.5,  -103.0, 1e-5,     3e38,      -1.5, 0.9999, 710.0};
  for (Scalar &element : tensor.elements) {
    bool isSpecial = isWild && random() % 3 == 0;
    if (isa<FloatType>(elementType)) {
      // Without wild ones: powers of two, whose sums and products f32 holds exactly in any order.
      static const double kExact[] = {1.0, -1.0, 0.5, -0.5, 2.0, -2.0};
      double value = isSpecial ? kFloats[random() % std::size(kFloats)]
                               : (static_cast<double>(random()) / 4294967296.0 - 0.5) * (random() % 4 ? 4.0 : 60.0);
      if (kind == InputKind::Exact)
        value = kExact[random() % std::size(kExact)];
      element = roundTo(Scalar::ofFloat(value), elementType);
    } else if (elementType.isInteger(1)) {
      element = Scalar::ofBool(random() % 2);
    } else {
      int64_t value = static_cast<int64_t>(random() % 21) - 10;
      if (isSpecial)
        value = static_cast<int64_t>((static_cast<uint64_t>(random()) << 32) | random()) >> (random() % 64);
      element = roundTo(Scalar::ofInt(value), elementType);
    }
  }
  return tensor;
}

} // namespace spmdc
