//===- Reduce.cpp - the smallest case that still fails --------------------===//

#include "tests/programs/support/Reduce.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "tests/programs/support/Differential.h"
#include "tests/programs/support/OwnProcess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace spmdc {
namespace {

class Reducer {
public:
  Reducer(const GeneratorOptions &options, const Case &test, const std::string &failure, const CaseCheck &check,
          int maxTries)
      : options(options), best{test, failure}, kind(kindOfFailure(failure)), check(check), maxTries(maxTries) {}

  ReducedCase run() {
    generateSmaller();
    for (bool hasChanged = true; hasChanged && best.tries < maxTries;) {
      hasChanged = false;
      hasChanged |= simplifyMode();
      hasChanged |= takeResultsAway();
      hasChanged |= takeStatementsAway();
      hasChanged |= takeAnnotationsAway();
      hasChanged |= shrinkMesh();
      hasChanged |= simplifyData();
    }
    return best;
  }

private:
  /// Returns whether the changed case fails in the same way; if so it becomes the best one.
  bool tryCase(const Case &test) {
    if (best.tries >= maxTries)
      return false;
    ++best.tries;
    std::string failure = check(test);
    if (failure.empty() || kindOfFailure(failure) != kind)
      return false;
    best.test = test;
    best.failure = failure;
    return true;
  }

  /// Changes a copy of the best case; `change` returns false if there was nothing to do.
  bool tryChange(const std::function<bool(Case &)> &change) {
    Case test = best.test;
    if (!change(test))
      return false;
    return tryCase(test);
  }
  bool tryProgram(const std::function<bool(Program &)> &change) {
    return tryChange([&](Case &test) {
      if (!change(test.program))
        return false;
      test.program.removeUnused();
      return true;
    });
  }

  void generateSmaller() {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    auto tryOptions = [&](const GeneratorOptions &smaller) {
      if (!tryCase(generateCase(context, smaller, best.test.mode)))
        return false;
      options = smaller;
      return true;
    };
    for (int count = 1; count < options.maxOperations; ++count) {
      GeneratorOptions smaller = options;
      smaller.maxOperations = count;
      if (tryOptions(smaller))
        break;
    }
    for (int64_t devices : {1, 2, 3, 4, 6, 8}) {
      GeneratorOptions smaller = options;
      smaller.maxDevices = devices;
      if (devices < options.maxDevices && tryOptions(smaller))
        break;
    }
    for (int64_t size : {1, 2, 3, 4, 5, 6, 8, 9, 12, 16}) {
      GeneratorOptions smaller = options;
      smaller.limits.maxSize = size;
      if (tryOptions(smaller))
        break;
    }
  }

  bool simplifyMode() {
    bool hasChanged = tryChange([](Case &test) {
      bool isDifferent = test.mode == Mode::Everything;
      test.mode = Mode::Text;
      return isDifferent;
    });
    hasChanged |= tryChange(
        [](Case &test) { return std::exchange(test.hasIrOperations, false) && test.mode == Mode::Everything; });
    if (best.test.mode == Mode::Everything)
      for (size_t number = 0; number < 40; ++number)
        hasChanged |= tryChange([&](Case &test) { return test.replicated.insert(number).second; });
    return hasChanged;
  }

  bool takeResultsAway() {
    bool hasChanged = false;
    for (size_t i = 0; i < best.test.program.results.size();) {
      bool isGone = tryProgram([&](Program &program) {
        if (program.results.size() == 1)
          return false;
        program.results.erase(program.results.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      });
      hasChanged |= isGone;
      i += !isGone;
    }
    // An earlier value in place of the only result.
    for (size_t i = 0; i + 1 < best.test.program.statements.size(); ++i)
      for (int variable : best.test.program.statements[i].results) {
        bool isEarlier = tryProgram([&](Program &program) {
          if (program.results.size() != 1 || program.results[0].variable == variable)
            return false;
          program.results[0].variable = variable;
          program.results[0].annotations.clear();
          return true;
        });
        if (isEarlier)
          return true;
      }
    return hasChanged;
  }

  /// Returns the values of the results of a statement, or none if it cannot be evaluated.
  std::vector<Tensor> valuesOf(MLIRContext &context, const Statement &statement) {
    Case test = best.test;
    test.mode = Mode::Text;
    test.program.results.clear();
    for (int variable : statement.results)
      test.program.results.push_back({variable, false, {}});
    std::string error;
    FailureOr<Subject> subject = makeSubject(context, test, error);
    if (failed(subject))
      return {};
    auto values = evaluateGlobal(*subject->module->getOps<func::FuncOp>().begin(), subject->arguments);
    return failed(values) ? std::vector<Tensor>() : std::vector<Tensor>(values->begin(), values->end());
  }

  bool takeStatementsAway() {
    bool hasChanged = false;
    for (size_t i = 0; i < best.test.program.statements.size();) {
      MLIRContext context(MLIRContext::Threading::DISABLED);
      loadDialects(context);
      const Statement &statement = best.test.program.statements[i];
      std::vector<Tensor> values;
      // An evaluation that crashes does so in a process of its own.
      if (runInOwnProcess([&] { return valuesOf(context, statement).empty() ? "no values" : ""; }).empty())
        values = valuesOf(context, statement);
      bool isGone = !values.empty() && tryProgram([&](Program &program) {
        Statement statement = program.statements[i];
        for (auto [variable, value] : llvm::zip_equal(statement.results, values)) {
          // The replacement is as exact as data; the errors of later values remain valid.
          program.parameters.push_back({variable, {}, value.elements});
        }
        program.removeStatement(i);
        return true;
      });
      hasChanged |= isGone;
      i += !isGone;
    }
    return hasChanged;
  }

  bool takeAnnotationsAway() {
    bool hasChanged = tryProgram([](Program &program) {
      bool hasAny = !program.helpers.empty() || !program.constants.empty();
      program.helpers.clear();
      program.constants.clear();
      return hasAny;
    });
    auto clear = [&](auto get) {
      hasChanged |= tryProgram([&](Program &program) {
        Annotations *marks = get(program);
        if (!marks || llvm::all_of(*marks, [](const DimAnnotation &mark) { return mark.isDefault(); }))
          return false;
        marks->clear();
        return true;
      });
      for (size_t dim = 0; dim < 6; ++dim)
        hasChanged |= tryProgram([&](Program &program) {
          Annotations *marks = get(program);
          if (!marks || dim >= marks->size() || (*marks)[dim].isDefault())
            return false;
          (*marks)[dim] = {};
          return true;
        });
    };
    for (size_t i = 0; i < best.test.program.parameters.size(); ++i)
      clear([i](Program &program) {
        return i < program.parameters.size() ? &program.parameters[i].annotations : nullptr;
      });
    for (size_t i = 0; i < best.test.program.statements.size(); ++i)
      clear([i](Program &program) {
        return i < program.statements.size() ? &program.statements[i].annotations : nullptr;
      });
    for (size_t i = 0; i < best.test.program.results.size(); ++i)
      clear([i](Program &program) { return i < program.results.size() ? &program.results[i].annotations : nullptr; });
    for (size_t i = 0; i < best.test.program.statements.size(); ++i)
      hasChanged |= tryProgram([i](Program &program) {
        if (i >= program.statements.size() || !program.statements[i].isTyped)
          return false;
        program.statements[i].isTyped = false;
        return true;
      });
    hasChanged |= tryProgram([](Program &program) {
      bool hasTypes = program.results[0].isTyped;
      for (ProgramResult &result : program.results)
        result.isTyped = false;
      return hasTypes;
    });
    return hasChanged;
  }

  /// Shrinks axes. An axis is removed only if nothing names it: the text of expressions may contain its name.
  bool shrinkMesh() {
    bool hasChanged = false;
    for (size_t axis = 0; axis < best.test.program.mesh.axes.size(); ++axis)
      for (int64_t size : {1, 2, 3, 4}) {
        bool isSmaller = tryProgram([&](Program &program) {
          if (axis >= program.mesh.axes.size() || program.mesh.axes[axis].size <= size)
            return false;
          program.mesh.axes[axis].size = size;
          return true;
        });
        hasChanged |= isSmaller;
        if (isSmaller)
          break;
      }
    for (size_t axis = best.test.program.mesh.axes.size(); axis-- > 0;)
      hasChanged |= tryProgram([&](Program &program) {
        if (program.mesh.axes.size() < 2)
          return false;
        program.mesh.axes.erase(program.mesh.axes.begin() + static_cast<std::ptrdiff_t>(axis));
        return true;
      });
    return hasChanged;
  }

  /// Replaces a parameter's values by ones.
  bool simplifyData() {
    bool hasChanged = false;
    for (size_t i = 0; i < best.test.program.parameters.size(); ++i)
      hasChanged |= tryProgram([i](Program &program) {
        ProgramParameter &parameter = program.parameters[i];
        bool isFloat = spmd::isFloat(program.variables[parameter.variable].dtype), isDifferent = false;
        for (Scalar &element : parameter.elements) {
          isDifferent |= isFloat ? element.f != 1 : element.i != 1;
          element = isFloat ? Scalar::ofFloat(1) : Scalar::ofInt(1);
        }
        return isDifferent;
      });
    return hasChanged;
  }

  GeneratorOptions options;
  ReducedCase best;
  std::string kind;
  const CaseCheck &check;
  int maxTries;
};

} // namespace

ReducedCase reduceCase(const GeneratorOptions &options, const Case &test, const std::string &failure,
                       const CaseCheck &check, int maxTries) {
  return Reducer(options, test, failure, check, maxTries).run();
}

} // namespace spmdc
