//===- ProgramPrinter.cpp - a random program as text ----------------------===//

#include "tests/programs/generator/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cctype>
#include <functional>
#include <map>

namespace spmdc {
namespace {

/// Returns the text behind `@`; "" if there is none.
std::string annotationText(const DimAnnotation &annotation) {
  std::string text;
  if (annotation.axes.empty())
    text = annotation.isOpen ? (annotation.priority < 0 ? "" : "?") : "_";
  else if (annotation.axes.size() == 1)
    text = annotation.axes[0];
  else
    text = "(" + llvm::join(annotation.axes, ", ") + ")";
  if (!annotation.axes.empty() && annotation.isOpen)
    text += "?";
  return annotation.priority < 0 ? text : text + "!" + std::to_string(annotation.priority);
}

using SizeText = std::function<std::string(int64_t)>;

std::string typeTextWith(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, const Annotations &annotations,
                         const SizeText &size) {
  std::string text(spmd::dtypeName(dtype));
  if (shape.empty())
    return text;
  for (auto [i, n] : llvm::enumerate(shape)) {
    text += (i ? ", " : "[") + size(n);
    if (std::string annotation = i < annotations.size() ? annotationText(annotations[i]) : ""; !annotation.empty())
      text += "@" + annotation;
  }
  return text + "]";
}

class Printer {
public:
  explicit Printer(const Program &program) : program(program) {
    for (auto [i, parameter] : llvm::enumerate(program.parameters))
      names[parameter.variable] = "x" + std::to_string(i);
    for (const ProgramResult &result : program.results)
      addUse(result.variable, kNowhere);
    for (auto [i, statement] : llvm::enumerate(program.statements)) {
      for (int variable : variablesIn(statement.expression))
        addUse(variable, helperOf(i));
      for (int variable : statement.results)
        definition[variable] = i;
    }
  }

  std::string run() {
    std::string head;
    if (!program.mesh.axes.empty()) {
      head = "mesh m(";
      for (auto [i, axis] : llvm::enumerate(program.mesh.axes))
        head += (i ? ", " : "") + axis.name + "=" + std::to_string(axis.size);
      head += ")\n";
    }
    for (const auto &[name, value] : program.constants)
      head += "const " + name + " = " + std::to_string(value) + ";\n";
    for (const Statement &statement : program.statements)
      if (!statement.function.empty())
        head += "\n" + named(statement.function, statement);
    std::string body;
    for (size_t i = 0; i < program.statements.size(); ++i) {
      auto number = static_cast<size_t>(helperOf(i));
      if (helperOf(i) == kNowhere) {
        body += statementText(i);
        continue;
      }
      body += callText(number);
      head += functionText(number);
      i = program.helpers[number].end - 1;
    }
    return head + "\n" + signature() + body + "  return " +
           list(program.results, [&](const ProgramResult &result) { return use(result.variable); }) + ";\n}\n";
  }

private:
  static constexpr int kNowhere = -1;

  /// Returns the helper that statement i is in, or kNowhere.
  int helperOf(size_t i) const {
    for (auto [number, helper] : llvm::enumerate(program.helpers))
      if (helper.begin <= i && i < helper.end)
        return static_cast<int>(number);
    return kNowhere;
  }

  void addUse(int variable, int helper) { uses[variable].push_back(helper); }

  bool isResult(int variable) const {
    return llvm::any_of(program.results, [&](const ProgramResult &result) { return result.variable == variable; });
  }

  bool isInlined(size_t i) const {
    const Statement &statement = program.statements[i];
    if (!statement.isInlined || statement.isTyped || statement.results.size() != 1 || isResult(statement.results[0]))
      return false;
    auto found = uses.find(statement.results[0]);
    return found != uses.end() && found->second.size() == 1 && found->second[0] == helperOf(i);
  }

  /// Returns the text of a use of a variable: its name, or its inlined expression.
  std::string use(int variable) const {
    if (auto found = definition.find(variable); found != definition.end() && isInlined(found->second))
      return "(" + expressionOf(program.statements[found->second]) + ")";
    return name(variable);
  }

  std::string name(int variable) const {
    auto found = names.find(variable);
    return found != names.end() ? found->second : "v" + std::to_string(variable);
  }

  /// Returns the text with the name of the statement's own function.
  static std::string named(std::string text, const Statement &statement) {
    for (size_t at = text.find("%F"); at != std::string::npos; at = text.find("%F"))
      text.replace(at, 2, "g" + std::to_string(statement.results[0]));
    return text;
  }
  std::string expressionOf(const Statement &statement) const { return named(fill(statement.expression), statement); }

  std::string fill(const std::string &expression) const {
    std::string text;
    for (size_t i = 0; i < expression.size(); ++i) {
      if (expression[i] != '$') {
        text += expression[i];
        continue;
      }
      size_t end = i + 1;
      while (end < expression.size() && std::isdigit(static_cast<unsigned char>(expression[end])))
        ++end;
      text += use(std::stoi(expression.substr(i + 1)));
      i = end - 1;
    }
    return text;
  }

  /// One alone, several in parentheses.
  template <typename T>
  std::string list(const std::vector<T> &items, const std::function<std::string(const T &)> &text) {
    std::string joined;
    for (const T &item : items)
      joined += (joined.empty() ? "" : ", ") + text(item);
    return items.size() == 1 ? joined : "(" + joined + ")";
  }
  template <typename T, typename F> std::string list(const std::vector<T> &items, F text) {
    return list<T>(items, std::function<std::string(const T &)>(text));
  }

  std::string statementText(size_t i) {
    if (isInlined(i))
      return "";
    const Statement &statement = program.statements[i];
    std::string text = "  let " + list(statement.results, [&](int variable) { return name(variable); });
    if (statement.isTyped) {
      const Variable &variable = program.variables[statement.results[0]];
      text += ": " + typeText(variable.dtype, variable.shape, statement.annotations);
    }
    return text + " = " + expressionOf(statement) + ";\n";
  }

  //===- Helper functions -------------------------------------------------===//

  bool isDefinedIn(int variable, const Helper &helper) const {
    auto found = definition.find(variable);
    return found != definition.end() && helper.begin <= found->second && found->second < helper.end;
  }

  /// Returns the parameters of a helper, in the order of first use.
  std::vector<int> inputsOf(const Helper &helper) const {
    std::vector<int> inputs;
    for (size_t i = helper.begin; i < helper.end; ++i)
      for (int variable : variablesIn(program.statements[i].expression))
        if (!isDefinedIn(variable, helper) && !llvm::is_contained(inputs, variable))
          inputs.push_back(variable);
    return inputs;
  }

  /// Returns the results of a helper: the values that other code uses, or all if there is no use.
  std::vector<int> outputsOf(const Helper &helper) const {
    std::vector<int> outputs, all;
    int number = helperOf(helper.begin);
    for (size_t i = helper.begin; i < helper.end; ++i)
      for (int variable : program.statements[i].results) {
        if (!isInlined(i))
          all.push_back(variable);
        auto found = uses.find(variable);
        if (found != uses.end() && llvm::any_of(found->second, [&](int user) { return user != number; }))
          outputs.push_back(variable);
      }
    return outputs.empty() ? all : outputs;
  }

  std::string callText(size_t number) {
    const Helper &helper = program.helpers[number];
    std::string arguments;
    for (int variable : inputsOf(helper))
      arguments += (arguments.empty() ? "" : ", ") + use(variable);
    return "  let " + list(outputsOf(helper), [&](int variable) { return name(variable); }) + " = f" +
           std::to_string(number) + "(" + arguments + ");\n";
  }

  std::string functionText(size_t number) {
    const Helper &helper = program.helpers[number];
    std::string generics, params, body;
    char letter = 'A';
    for (int variable : inputsOf(helper)) {
      params += (params.empty() ? "" : ", ") + name(variable);
      const Variable &known = program.variables[variable];
      if (helper.style == HelperStyle::Typed)
        params += ": " + typeText(known.dtype, known.shape);
      // No letters are left after Z: the parameter has no type.
      if (helper.style != HelperStyle::Generic || letter + known.shape.size() > 'Z')
        continue;
      params += ": " + typeTextWith(known.dtype, known.shape, {}, [&](int64_t) {
                  generics += (generics.empty() ? "" : ", ") + std::string(1, letter);
                  return std::string(1, letter++);
                });
    }
    for (size_t i = helper.begin; i < helper.end; ++i)
      body += statementText(i);
    std::vector<int> outputs = outputsOf(helper);
    std::string result;
    if (helper.style == HelperStyle::Typed)
      result = " -> " + list(outputs, [&](int variable) {
                 return typeText(program.variables[variable].dtype, program.variables[variable].shape);
               });
    return "\nfn f" + std::to_string(number) + (generics.empty() ? "" : "<" + generics + ">") + "(" + params + ")" +
           result + " {\n" + body + "  return " + list(outputs, [&](int variable) { return use(variable); }) + ";\n}\n";
  }

  //===- main -------------------------------------------------------------===//

  std::string sizeText(int64_t size) const {
    for (const auto &[name, value] : program.constants)
      if (size == value)
        return name;
    for (const auto &[name, value] : program.constants)
      if (size == 2 * value && size > 0)
        return "2 * " + name;
    return std::to_string(size);
  }

  std::string signature() {
    std::string text;
    for (const ProgramParameter &parameter : program.parameters) {
      const Variable &variable = program.variables[parameter.variable];
      text += (text.empty() ? "" : ", ") + name(parameter.variable) + ": " +
              typeTextWith(variable.dtype, variable.shape, parameter.annotations,
                           [&](int64_t size) { return sizeText(size); });
    }
    text = "fn main(" + text + ")";
    // Either all result types are written or none.
    if (llvm::any_of(program.results, [](const ProgramResult &result) { return result.isTyped; }))
      text += " -> " + list(program.results, [&](const ProgramResult &result) {
                const Variable &variable = program.variables[result.variable];
                return typeText(variable.dtype, variable.shape, result.annotations);
              });
    return text + " {\n";
  }

  const Program &program;
  std::map<int, std::string> names;     ///< Names of parameters.
  std::map<int, size_t> definition;     ///< The statement that defines a variable.
  std::map<int, std::vector<int>> uses; ///< The helper (or none) of each use.
};

} // namespace

std::string typeText(spmd::DType dtype, llvm::ArrayRef<int64_t> shape, const Annotations &annotations) {
  return typeTextWith(dtype, shape, annotations, [](int64_t size) { return std::to_string(size); });
}

std::string partitionText(const Annotations &annotations) {
  std::string text;
  size_t count = annotations.size();
  // Closed dimensions at the end may be left out.
  while (count > 0 && annotations[count - 1].axes.empty() && !annotations[count - 1].isOpen &&
         annotations[count - 1].priority < 0)
    --count;
  for (size_t i = 0; i < count; ++i) {
    std::string annotation = annotationText(annotations[i]);
    text += (i ? ", " : "") + (annotation.empty() ? "?" : annotation);
  }
  return "P(" + text + ")";
}

std::string Program::str() const { return Printer(*this).run(); }

} // namespace spmdc
