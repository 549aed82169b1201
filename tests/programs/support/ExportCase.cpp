//===- ExportCase.cpp - a program and its results as JSON -----------------===//

#include "tests/programs/support/ExportCase.h"

#include "ir/evaluate/GlobalEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <regex>

using namespace mlir;

namespace spmdc {
namespace {

/// Converts an expression of the language to Python; the differences are small.
std::string pythonOf(const std::string &expression) {
  static const std::pair<std::regex, const char *> rules[] = {
      {std::regex(R"((\d)@(\([^)]*\)|\w+|\?)?\??(!\d+)?)"), "$1"}, // Annotations of types.
      {std::regex(R"(^shard\((.*), P\(.*\)\)$)"), "$1"},
      {std::regex(R"(^(\$\d+) \*\* (\$\d+)$)"), "power($1, $2)"},
      {std::regex(R"(^!(.*)$)"), "logical_not($1)"},
      {std::regex(R"(^(.*) && (.*)$)"), "logical_and($1, $2)"},
      {std::regex(R"(^(.*) \|\| (.*)$)"), "logical_or($1, $2)"},
      {std::regex(R"(\btrue\b)"), "True"},
      {std::regex(R"(\bfalse\b)"), "False"},
      {std::regex(R"(\$(\d+))"), "v$1"},
  };
  std::string text = expression;
  for (const auto &[pattern, replacement] : rules)
    text = std::regex_replace(text, pattern, replacement);
  return text;
}

/// Returns whether an expression has control flow, a list at a run-time index, or a function that check_with_jax.py
/// does not define: programs with JAX's values test these.
bool hasNoPython(const std::string &expression) {
  static const std::regex words(
      R"(\b(for|while|if|f64|i64|u64|conv\dd|\w+_pool|sgd|momentum|adam|\w*global_norm)\b|^\[.*\]\[)");
  return std::regex_search(expression, words);
}

bool hasNoPython(const Program &program) {
  auto isWide = [](const Variable &variable) {
    return spmd::byteSize(variable.dtype) == 8 && variable.dtype != spmd::DType::Key;
  };
  auto isForeign = [](const Statement &statement) {
    return !statement.function.empty() || hasNoPython(statement.expression);
  };
  return llvm::any_of(program.variables, isWide) || llvm::any_of(program.statements, isForeign);
}

std::string pythonOf(const Program &program) {
  auto names = [](const std::vector<int> &variables) {
    std::string text;
    for (int variable : variables)
      text += (text.empty() ? "v" : ", v") + std::to_string(variable);
    return text;
  };
  std::vector<int> parameters, results;
  for (const ProgramParameter &parameter : program.parameters)
    parameters.push_back(parameter.variable);
  for (const ProgramResult &result : program.results)
    results.push_back(result.variable);
  std::string text = "def program(" + names(parameters) + "):\n";
  for (const Statement &statement : program.statements)
    text += "    " + names(statement.results) + " = " + pythonOf(statement.expression) + "\n";
  return text + "    return [" + names(results) + "]\n";
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

/// NaN, Infinity and -Infinity are as Python's json reads them.
void writeTensor(llvm::raw_ostream &os, const Variable &variable, const std::vector<Scalar> &elements) {
  os << "\"dtype\": \"" << spmd::dtypeName(variable.dtype) << "\", \"shape\": ["
     << llvm::join(llvm::map_range(variable.shape, [](int64_t size) { return std::to_string(size); }), ", ")
     << "], \"elements\": [";
  bool isFloat = spmd::isFloat(variable.dtype);
  for (size_t i = 0; i < elements.size(); ++i) {
    os << (i ? ", " : "");
    double value = elements[i].f;
    if (spmd::isUnsigned(variable.dtype))
      os << static_cast<uint64_t>(elements[i].i);
    else if (!isFloat)
      os << elements[i].i;
    else if (std::isnan(value))
      os << "NaN";
    else if (std::isinf(value))
      os << (value < 0 ? "-Infinity" : "Infinity");
    else
      os << llvm::format("%.17g", value);
  }
  os << "]";
}

} // namespace

std::string exportCase(const Case &test, ExportFor reader) {
  const Program &program = test.program;
  bool isForJax = reader == ExportFor::Jax;
  if (isForJax && hasNoPython(program))
    return "";
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::string error;
  FailureOr<Subject> subject = makeSubject(context, test, error);
  if (failed(subject))
    return "";
  OwningOpRef<ModuleOp> module = differentiated(*subject->module);
  if (!module)
    return "";
  auto results = evaluateGlobal(*module->getOps<func::FuncOp>().begin(), subject->arguments);
  if (failed(results))
    return "";
  std::string line;
  llvm::raw_string_ostream os(line);
  os << "{\"seed\": " << test.seed << ", \"text\": " << quoted(program.str());
  if (isForJax)
    os << ", \"python\": " << quoted(pythonOf(program));
  os << ", \"arguments\": [";
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    os << (i ? ", {" : "{");
    writeTensor(os, program.variables[program.parameters[i].variable], program.parameters[i].elements);
    os << "}";
  }
  os << "], \"results\": [";
  for (size_t i = 0; i < program.results.size(); ++i) {
    const Variable &variable = program.variables[program.results[i].variable];
    os << (i ? ", {" : "{") << "\"name\": \"v" << program.results[i].variable
       << "\", \"exact\": " << (variable.accuracy.exact ? "true" : "false") << ", \"error\": "
       << (variable.accuracy.exact ? std::string("0") : llvm::formatv("{0:e}", variable.accuracy.error).str()) << ", ";
    if (!variable.accuracy.exact && variable.accuracy.sumError >= 0)
      os << llvm::formatv("\"sum_error\": {0:e}, \"relative\": {1:e}, ", variable.accuracy.sumError,
                          variable.accuracy.relative);
    writeTensor(os, variable, (*results)[i].elements);
    os << "}";
  }
  os << "]}\n";
  return line;
}

} // namespace spmdc
