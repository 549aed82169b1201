//===- PropagateTest.cpp - what holds of propagation for any program ------===//
//
// Random programs of annotated arguments, element-wise operations, products, reductions, reshapes and constraints, on
// random meshes. The seed of a failing one is printed.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/SpmdOps.h"
#include "passes/pipeline/Registration.h"
#include "passes/propagate/Passes.h"
#include "passes/sharding/TensorSharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace spmdc {
namespace {

constexpr unsigned kPrograms = 150;

/// Writes a module of a few functions as text.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : random(seed) {
    static const std::vector<std::vector<int64_t>> kMeshes = {{4, 2}, {2, 2, 2}, {8}, {3, 2}, {6}, {1, 4}};
    sizes = kMeshes[pick(kMeshes.size())];
    header = "module attributes {spmd.mesh = #spmd.mesh<m";
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      header += std::string(", ") + axisName(axis) + "=" + std::to_string(sizes[axis]);
    header += ">} {\n";
    for (unsigned i = 0; i < 3; ++i)
      functions.push_back(makeFunction("f" + std::to_string(i)));
  }

  std::string text(bool isReversed = false) const {
    std::string result = header;
    for (size_t i = 0; i < functions.size(); ++i)
      result += functions[isReversed ? functions.size() - 1 - i : i];
    return result + "}\n";
  }

private:
  struct Array {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<std::string> dims; // shardings, as types print them
  };

  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  bool chance(unsigned percent) { return pick(100) < percent; }
  static std::string axisName(size_t axis) { return std::string(1, static_cast<char>('a' + axis)); }

  static std::string type(const Array &array) {
    std::string text = "<f32[";
    for (size_t d = 0; d < array.shape.size(); ++d)
      text += (d ? ", " : "") + std::to_string(array.shape[d]) + (array.dims.empty() ? "" : array.dims[d]);
    return text + "]>";
  }

  /// Random shardings: no axis twice, some dimensions open, some with a priority.
  std::vector<std::string> makeSharding(size_t rank, bool allowPriority) {
    std::vector<size_t> axes(sizes.size());
    for (size_t i = 0; i < axes.size(); ++i)
      axes[i] = i;
    std::shuffle(axes.begin(), axes.end(), random);
    std::vector<std::string> dims(rank);
    for (std::string &dim : dims) {
      std::vector<std::string> mine;
      while (!axes.empty() && chance(40)) {
        mine.push_back(axisName(axes.back()));
        axes.pop_back();
      }
      bool isOpen = chance(40);
      if (mine.empty() && isOpen)
        continue;
      if (mine.empty()) {
        dim = "@_";
        continue;
      }
      dim = "@\"(";
      for (size_t i = 0; i < mine.size(); ++i)
        dim += (i ? ", " : "") + mine[i];
      dim += std::string(")") + (isOpen ? "?" : "");
      if (allowPriority && chance(20))
        dim += "!" + std::to_string(pick(3));
      dim += "\"";
    }
    return dims;
  }

  const Array &operand() { return arrays[pick(arrays.size())]; }

  void emit(const std::string &op, std::vector<int64_t> shape, std::vector<std::string> dims = {}) {
    arrays.push_back({"%v" + std::to_string(arrays.size()), std::move(shape), std::move(dims)});
    body += "  " + arrays.back().name + " = " + op + " -> " + type(arrays.back()) + "\n";
  }

  void emitRandom() {
    const Array x = operand();
    size_t rank = x.shape.size();
    switch (pick(8)) {
    case 0:
      return emit("array.sin " + x.name + " : (" + type(x) + ")", x.shape);
    case 1:
    case 2: {
      std::vector<const Array *> alike;
      for (const Array &array : arrays)
        if (array.shape == x.shape)
          alike.push_back(&array);
      const Array y = *alike[pick(alike.size())];
      return emit("array.add " + x.name + ", " + y.name + " : (" + type(x) + ", " + type(y) + ")", x.shape);
    }
    case 3: {
      if (rank != 2)
        return;
      for (size_t tries = 0; tries < arrays.size(); ++tries) {
        const Array y = operand();
        if (y.shape.size() == 2 && y.shape[0] == x.shape[1])
          return emit("array.dot_general " + x.name + ", " + y.name + " contract [1] x [0] batch [] x [] : " + type(x) +
                          ", " + type(y),
                      {x.shape[0], y.shape[1]});
      }
      return;
    }
    case 4: {
      if (rank < 2)
        return;
      std::vector<int64_t> shape(x.shape.rbegin(), x.shape.rend());
      std::string perm;
      for (size_t d = rank; d-- > 0;)
        perm += std::to_string(d) + (d ? ", " : "");
      return emit("array.transpose " + x.name + " perm [" + perm + "] : " + type(x), shape);
    }
    case 5: {
      std::vector<int64_t> shape = x.shape;
      if (rank >= 2 && chance(50)) {
        size_t d = pick(rank - 1);
        shape[d] *= shape[d + 1];
        shape.erase(shape.begin() + d + 1);
      } else if (rank >= 1 && rank < 4) {
        size_t d = pick(rank);
        int64_t part = shape[d] % 2 == 0 ? 2 : shape[d] % 3 == 0 ? 3 : 1;
        shape[d] /= part;
        shape.insert(shape.begin() + d, part);
      }
      return emit("array.reshape " + x.name + " : " + type(x), shape);
    }
    case 6: {
      if (rank < 2)
        return;
      size_t d = pick(rank);
      std::vector<int64_t> shape = x.shape;
      shape.erase(shape.begin() + d);
      emit("array.reduce sum " + x.name + " dims [" + std::to_string(d) + "] : " + type(x), shape);
      const Array reduced = arrays.back();
      std::string dims;
      for (size_t i = 0; i < rank; ++i)
        if (i != d)
          dims += (dims.empty() ? "" : ", ") + std::to_string(i);
      return emit("array.broadcast_in_dim " + reduced.name + " dims [" + dims + "] : " + type(reduced), x.shape);
    }
    default:
      return emit("spmd.constraint " + x.name + " : " + type(x), x.shape, makeSharding(rank, /*allowPriority=*/true));
    }
  }

  std::string makeFunction(const std::string &name) {
    arrays.clear();
    body.clear();
    static const std::vector<std::vector<int64_t>> kShapes = {{8, 12}, {12, 8}, {8, 12}, {8, 8}, {24}, {5, 8}};
    std::string arguments;
    size_t numArguments = 2 + pick(3);
    for (size_t i = 0; i < numArguments; ++i) {
      std::vector<int64_t> shape = kShapes[pick(kShapes.size())];
      std::vector<std::string> dims = chance(70) ? makeSharding(shape.size(), true) : std::vector<std::string>();
      arrays.push_back({"%v" + std::to_string(i), shape, dims});
      arguments += (i ? ", " : "") + arrays.back().name + ": !spmd.array" + type(arrays.back());
    }
    size_t numOps = 4 + pick(12);
    for (size_t i = 0; i < numOps; ++i)
      emitRandom();
    const Array &result = arrays.back();
    return "func.func @" + name + "(" + arguments + ") -> !spmd.array" + type(result) + " {\n" + body + "  return " +
           result.name + " : !spmd.array" + type(result) + "\n}\n";
  }

  std::mt19937 random;
  std::vector<int64_t> sizes;
  std::string header;
  std::vector<std::string> functions;
  std::vector<Array> arrays;
  std::string body;
};

class PropagateTest : public ::testing::Test {
protected:
  PropagateTest() {
    registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module) << text;
    return module;
  }

  void propagate(mlir::ModuleOp module, PropagationStrategy strategy) {
    mlir::PassManager passes(context.get());
    PropagatePassOptions options;
    options.strategy = strategy;
    passes.addPass(createPropagatePass(options));
    passes.addPass(createVerifyPropagatedPass());
    ASSERT_TRUE(mlir::succeeded(passes.run(module)));
  }

  /// The functions' text by name.
  static std::map<std::string, std::string> print(mlir::ModuleOp module) {
    std::map<std::string, std::string> result;
    for (auto func : module.getOps<mlir::func::FuncOp>()) {
      llvm::raw_string_ostream os(result[func.getName().str()]);
      func.print(os);
    }
    return result;
  }

  /// Checks that annotations are kept: closed dimensions are unchanged, open ones may have additional minor axes.
  static void expectObeyed(const MeshAxes &mesh, mlir::Type written, mlir::Type outcome, const char *what) {
    ShardingAttr annotation = llvm::cast<ArrayType>(written).getSharding();
    if (!annotation)
      return;
    ShardingAttr sharding = llvm::cast<ArrayType>(outcome).getSharding();
    ASSERT_TRUE(sharding) << what;
    for (auto [dim, final] : llvm::zip(annotation.getDims(), sharding.getDims())) {
      AxisList before = mesh.getParts(dim.getAxes()), after = mesh.getParts(final.getAxes());
      EXPECT_TRUE(dim.getIsClosed() ? before == after : isPrefix(before, after))
          << what << ": " << llvm::cast<ArrayType>(written).str() << " became " << llvm::cast<ArrayType>(outcome).str();
    }
  }

  static mlir::Value getReturned(mlir::func::FuncOp func) {
    return func.getBody().front().getTerminator()->getOperand(0);
  }

  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
};

TEST_F(PropagateTest, EveryArrayIsShardedAndWhatPeopleWroteIsObeyed) {
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    RandomProgram program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (PropagationStrategy strategy :
         {PropagationStrategy::Basic, PropagationStrategy::Aggressive, PropagationStrategy::Settle}) {
      auto before = parse(program.text()), after = parse(program.text());
      propagate(*after, strategy);
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*after)));
      MeshAxes mesh(getMesh(*after));
      for (auto [written, outcome] :
           llvm::zip(before->getOps<mlir::func::FuncOp>(), after->getOps<mlir::func::FuncOp>())) {
        for (auto [from, to] : llvm::zip(written.getArgumentTypes(), outcome.getArgumentTypes()))
          expectObeyed(mesh, from, to, "argument");
        expectObeyed(mesh, getReturned(written).getType(), getReturned(outcome).getType(), "result");
        EXPECT_EQ(getReturned(outcome).getType(), outcome.getResultTypes()[0]);
      }
      if (HasFailure())
        return;
    }
  }
}

TEST_F(PropagateTest, TheOutcomeDependsNeitherOnTheOrderOfFunctionsNorOfUses) {
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    RandomProgram program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto one = parse(program.text()), other = parse(program.text(/*isReversed=*/true));
    std::mt19937 random(seed);
    other->walk([&](mlir::Operation *op) {
      for (mlir::Value value : op->getResults()) {
        llvm::SmallVector<unsigned> order(llvm::range_size(value.getUses()));
        for (unsigned i = 0; i < order.size(); ++i)
          order[i] = i;
        std::shuffle(order.begin(), order.end(), random);
        if (!order.empty())
          value.shuffleUseList(order);
      }
    });
    propagate(*one, PropagationStrategy::Settle);
    propagate(*other, PropagationStrategy::Settle);
    ASSERT_EQ(print(*one), print(*other));
  }
}

TEST_F(PropagateTest, PropagatingAgainChangesNothing) {
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    RandomProgram program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto module = parse(program.text());
    // Afterwards all types have shardings, and the IR no longer shows which of them the user wrote.
    auto printShardings = [&] {
      module->walk([](mlir::Operation *op) { op->removeAttr(kAnnotatedAttrName); });
      return print(*module);
    };
    propagate(*module, PropagationStrategy::Settle);
    auto once = printShardings();
    propagate(*module, PropagationStrategy::Settle);
    ASSERT_EQ(once, printShardings());
  }
}

} // namespace
} // namespace spmdc
