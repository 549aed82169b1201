//===- ShardyTest.cpp - compares spmdc with Shardy's tests ----------------===//
//
// For each case of *.cases (Cases.h): checks the shardings of propagation under the strategy of Shardy's test; that
// devices send no more bytes than the collectives that Shardy chooses; and that all devices together compute the
// results of the global evaluator, with two kinds of poison in the padding.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/spmd/Location.h"
#include "passes/differentiate/Passes.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/propagate/Passes.h"
#include "passes/simplify/Passes.h"
#include "tests/passes/shardy/Cases.h"
#include "tests/support/BytesAlone.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

using namespace mlir;

namespace spmdc {
namespace {

/// The most devices on which programs are evaluated: on more, only bytes are counted.
constexpr int64_t kMostDevices = 64;

class ShardyTest : public ::testing::TestWithParam<ShardyCase> {
protected:
  ShardyTest()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          said += diagnostic.str() + "\n";
          return success();
        }) {
    loadFrontendDialects(context);
  }

  static func::FuncOp entryOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

  /// Calls `visit` for each value that has a name: parameters, values bound by `let`, and results by their number.
  static void forEachName(func::FuncOp function, llvm::function_ref<void(StringRef, Value)> visit) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttrName))
        visit(name, function.getArgument(i));
    function.walk([&](Operation *op) {
      std::optional<StringRef> name = getValueName(op->getLoc());
      if (name && op->getNumResults() == 1)
        visit(*name, op->getResult(0));
    });
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      visit("result" + (i ? std::to_string(i) : ""), value);
  }

  OwningOpRef<ModuleOp> parse(const ShardyCase &test) {
    Diagnostics diagnostics;
    OwningOpRef<ModuleOp> module = importProgram(test.program, test.name + ".spmd", {}, context, diagnostics);
    if (!module) {
      ADD_FAILURE() << diagnostics.str();
      return {};
    }
    func::FuncOp function = entryOf(*module);
    for (const auto &[name, text] : test.writes) {
      auto type = dyn_cast_or_null<ArrayType>(parseType("!spmd.array" + text, &context));
      bool isFound = false;
      if (type)
        forEachName(function, [&, &wanted = name](StringRef found, Value value) {
          if (found != wanted)
            return;
          isFound = true;
          value.setType(type);
        });
      EXPECT_TRUE(isFound) << "nothing to write " << text << " on is named " << name << "\n" << said;
    }
    Operation *end = function.getBody().front().getTerminator();
    function.setFunctionType(
        FunctionType::get(&context, function.getBody().getArgumentTypes(), end->getOperandTypes()));
    return module;
  }

  /// A reshard of one array from the first to the last sharding of the case's moves.
  OwningOpRef<ModuleOp> makeReshard(const ShardyCase &test) {
    Location loc = UnknownLoc::get(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    (*module)->setAttr(kMeshAttrName, MeshAttr::fromValue(&context, "m", test.mesh));
    auto typeOf = [&](const spmd::Sharding &sharding) {
      return ArrayType::get(test.moves.front().shape, Float32Type::get(&context),
                            ShardingAttr::fromValue(&context, sharding));
    };
    ArrayType from = typeOf(test.moves.front().before), to = typeOf(test.moves.back().after);
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    auto function = builder.create<func::FuncOp>(loc, "main", FunctionType::get(&context, {from}, {to}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    Value value = block->getArgument(0);
    if (from != to)
      value = builder.create<ReshardOp>(loc, to, value, /*why=*/nullptr);
    builder.create<func::ReturnOp>(loc, value);
    return module;
  }

  /// Small integers: sums of them are exact in any order.
  std::vector<Tensor> makeArguments(func::FuncOp function) {
    std::mt19937 random(1);
    std::vector<Tensor> arguments;
    for (Type type : function.getArgumentTypes()) {
      auto array = cast<ArrayType>(type);
      Tensor &tensor = arguments.emplace_back(array.getShape(), array.getElementType());
      for (Scalar &element : tensor.elements) {
        int64_t value = 1 + static_cast<int64_t>(random() % 4);
        if (isa<FloatType>(tensor.elementType))
          element.f = static_cast<double>(value);
        else
          element.i = array.getElementType().isInteger(1) ? value % 2 : value;
      }
    }
    return arguments;
  }

  void checkPropagation(const ShardyCase &test, ModuleOp module) {
    std::map<std::string, std::map<std::string, std::string>> found;
    for (const ShardyCase::Expectation &expectation : test.expectations) {
      std::map<std::string, std::string> &shardings = found[expectation.strategy];
      if (shardings.empty()) {
        OwningOpRef<ModuleOp> propagated = module.clone();
        PropagatePassOptions options;
        options.strategy = expectation.strategy == "basic"        ? PropagationStrategy::Basic
                           : expectation.strategy == "aggressive" ? PropagationStrategy::Aggressive
                                                                  : PropagationStrategy::Settle;
        PassManager passes(&context);
        passes.addPass(createDifferentiatePass());
        passes.addPass(createSplitConstantsPass());
        passes.addPass(createPropagatePass(options));
        passes.addPass(createVerifyPropagatedPass());
        ASSERT_TRUE(succeeded(passes.run(*propagated))) << said;
        forEachName(entryOf(*propagated), [&](StringRef name, Value value) {
          shardings[name.str()] = shardingText(cast<ArrayType>(value.getType()).getShardingOrOpen().toValue());
        });
      }
      for (const auto &[name, sharding] : expectation.values) {
        ASSERT_TRUE(shardings.count(name)) << "nothing is named " << name;
        if (expectation.isShardys)
          EXPECT_NE(shardings[name], sharding) << name << " is as in Shardy now (" << expectation.strategy << ")";
        else
          EXPECT_EQ(shardings[name], sharding) << name << " (" << expectation.strategy << ")";
      }
    }
  }

  void checkBytes(const ShardyCase &test, ModuleOp partitioned) {
    double sent = 0, shardys = test.sent;
    std::string text;
    llvm::raw_string_ostream os(text);
    auto mesh = partitioned->getAttrOfType<MeshAttr>(kMeshAttrName);
    partitioned.walk([&](CollectiveOpInterface op) {
      sent += isa<AllSliceOp>(op.getOperation()) ? 0 : op.getWireBytes(mesh);
      os << "  " << *op.getOperation() << "\n";
    });
    for (const ShardyCase::Move &move : test.moves)
      shardys += wireBytes(move, test.mesh);
    EXPECT_LE(sent, shardys + 1e-9) << os.str();
    RecordProperty("bytes", std::to_string(static_cast<int64_t>(sent)));
    RecordProperty("shardys", std::to_string(static_cast<int64_t>(shardys)));
  }

  /// Adds up the partial sums of all devices.
  static Tensor sumShards(const DeviceTensors &shards, ArrayType type, const spmd::MeshShape &mesh) {
    spmd::ShardedShape array = type.toShardedShape();
    Tensor sum(type.getShape(), type.getElementType());
    for (auto [device, shard] : llvm::enumerate(shards)) {
      // If several devices hold copies of the same partial sum, only the first one's counts.
      std::vector<int64_t> place = mesh.coordinates(static_cast<int64_t>(device));
      std::vector<spmd::AxisRef> used = array.sharding.unreduced;
      for (const std::vector<spmd::AxisRef> &axes : array.sharding.dims)
        llvm::append_range(used, axes);
      bool isFirst = true;
      for (int64_t other = 0; other < static_cast<int64_t>(device); ++other)
        isFirst &= llvm::any_of(used, [&](const spmd::AxisRef &axis) {
          return axis.coordinateIn(mesh, mesh.coordinates(other)) != axis.coordinateIn(mesh, place);
        });
      std::vector<spmd::ShardRange> owned =
          spmd::ownedRanges(mesh, array.shape, array.sharding, static_cast<int64_t>(device));
      if (!isFirst || llvm::any_of(owned, [](const spmd::ShardRange &range) { return range.size == 0; }))
        continue;
      SmallVector<int64_t> local(owned.size()), index(owned.size()), sizes;
      for (const spmd::ShardRange &range : owned)
        sizes.push_back(range.size);
      do {
        for (size_t d = 0; d < owned.size(); ++d)
          index[d] = owned[d].start + local[d];
        sum.at(index).f += shard.at(local).f;
      } while (nextIndex(local, sizes));
    }
    return sum;
  }

  static FailureOr<SmallVector<Tensor>> evaluate(ProcessGridEvaluator &grid, const spmd::MeshShape &mesh,
                                                 func::FuncOp function, Poison poison, ArrayRef<Tensor> arguments) {
    SmallVector<ArrayType> types;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      types.push_back(cast<ArrayType>(function.getResultAttrOfType<TypeAttr>(i, kGlobalTypeAttrName).getValue()));
    if (llvm::all_of(types, [](ArrayType type) { return type.getShardingOrOpen().getUnreduced().empty(); }))
      return grid.evaluateGlobalView(function, arguments);
    SmallVector<DeviceTensors> pieces;
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      Attribute type = function.getArgAttr(static_cast<unsigned>(index), kGlobalTypeAttrName);
      pieces.push_back(splitIntoShards(argument, cast<ArrayType>(cast<TypeAttr>(type).getValue()), mesh, poison));
    }
    FailureOr<SmallVector<DeviceTensors>> results = grid.evaluate(function, pieces);
    if (failed(results))
      return failure();
    SmallVector<Tensor> sums;
    for (auto [shards, type] : llvm::zip_equal(*results, types))
      sums.push_back(sumShards(shards, type, mesh));
    return sums;
  }

  /// Every device holds a copy of an argument that is a partial sum, so the argument counts as many times.
  void checkValues(const ShardyCase &test, ModuleOp module, ModuleOp partitioned) {
    PassManager passes(&context);
    passes.addPass(createDifferentiatePass());
    ASSERT_TRUE(succeeded(passes.run(module))) << said;
    std::vector<Tensor> arguments = makeArguments(entryOf(module)), whole = arguments;
    for (auto [type, tensor] : llvm::zip_equal(entryOf(module).getArgumentTypes(), whole))
      for (const spmd::AxisRef &axis : cast<ArrayType>(type).getShardingOrOpen().toValue().unreduced)
        for (Scalar &element : tensor.elements)
          element.f *= static_cast<double>(axis.sizeIn(test.mesh));
    FailureOr<SmallVector<Tensor>> expected = evaluateGlobal(entryOf(module), whole);
    ASSERT_TRUE(succeeded(expected)) << said;
    for (Poison poison : {Poison::Nan, Poison::Huge}) {
      ProcessGridEvaluator grid(partitioned->getAttrOfType<MeshAttr>(kMeshAttrName), poison);
      FailureOr<SmallVector<Tensor>> actual = evaluate(grid, test.mesh, entryOf(partitioned), poison, arguments);
      ASSERT_TRUE(succeeded(actual)) << said;
      ASSERT_EQ(actual->size(), expected->size());
      for (auto [want, got] : llvm::zip_equal(*expected, *actual)) {
        ASSERT_EQ(want.shape, got.shape);
        for (auto [a, b] : llvm::zip_equal(want.elements, got.elements)) {
          if (isa<FloatType>(want.elementType))
            ASSERT_NEAR(a.f, b.f, 1e-6 * std::abs(a.f));
          else
            ASSERT_EQ(a.i, b.i);
        }
      }
    }
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string said;
  ScopedDiagnosticHandler handler;
};

TEST_P(ShardyTest, Behaviour) {
  const ShardyCase &test = GetParam();
  ASSERT_FALSE(test.source.empty()) << "a case says where it comes from";
  if (!test.refusal.empty() || llvm::any_of(test.expectations, [](auto &expectation) { return expectation.isShardys; }))
    ASSERT_FALSE(test.because.empty()) << "a case says why it differs from Shardy, where it does";
  bool isReshard = test.program.find("fn ") == std::string::npos;
  OwningOpRef<ModuleOp> module = isReshard ? makeReshard(test) : parse(test);
  ASSERT_TRUE(module && succeeded(verify(*module))) << said;
  if (!isReshard)
    checkPropagation(test, *module);
  OwningOpRef<ModuleOp> partitioned = module->clone();
  if (test.isCounted)
    bytesAlone().attachTo(*partitioned);
  LogicalResult result =
      runPipeline(*partitioned, isReshard ? Stage::Propagated : Stage::Array, Stage::Partitioned, {});
  if (!test.refusal.empty()) {
    EXPECT_TRUE(failed(result));
    EXPECT_NE(said.find(test.refusal), std::string::npos) << said;
    return;
  }
  ASSERT_TRUE(succeeded(result)) << said;
  if (test.isCounted)
    checkBytes(test, *partitioned);
  if (test.mesh.deviceCount() <= kMostDevices)
    checkValues(test, *module, *partitioned);
}

INSTANTIATE_TEST_SUITE_P(All, ShardyTest, ::testing::ValuesIn(readShardyCases()),
                         [](const auto &info) { return info.param.file + "_" + info.param.name; });

} // namespace
} // namespace spmdc
