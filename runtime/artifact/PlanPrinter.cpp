//===- PlanPrinter.cpp - the plan as text ---------------------------------===//

#include "runtime/artifact/PlanPrinter.h"

#include "runtime/artifact/PlanFields.h"

#include <algorithm>
#include <sstream>

namespace spmd {
namespace {

template <typename T, typename Print> std::string commaSeparated(const std::vector<T> &values, Print print) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + print(values[i]);
  return text;
}

std::string ref(BufferId id) { return "%" + std::to_string(id); }
std::string refs(const std::vector<BufferId> &ids) { return commaSeparated(ids, ref); }

/// Returns a string literal as the language writes it.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '\n')
      result += "\\n";
    else if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else
      result += c;
  }
  return result + "\"";
}

std::string viewText(const OperandView &view) { return view.isEmpty() ? "" : view.str(); }

class Printer {
public:
  Printer(const Plan &plan, bool withLocations) : plan(plan), withLocations(withLocations) {}

  std::string print() {
    out << "plan " << plan.name << " for " << plan.target.str() << "\n  mesh ("
        << commaSeparated(plan.mesh.axes,
                          [](const MeshAxis &axis) { return axis.name + "=" + std::to_string(axis.size); })
        << "), arena " << plan.arenaBytes << " bytes\n";
    if (!plan.target.features.empty())
      out << "  features " << commaSeparated(plan.target.features, [](const std::string &name) { return name; })
          << "\n";
    printValues("params", plan.params);
    printValues("results", plan.results);
    printBuffers();
    out << "kernels:\n";
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      const KernelInfo &kernel = plan.kernels[i];
      out << "  " << kernel.symbol;
      if (kernel.blockThreads)
        out << ", " << kernel.gridBlocks << " blocks of " << kernel.blockThreads << " threads, " << kernel.sharedBytes
            << " shared bytes";
      if (kernel.stateBytes)
        out << ", " << kernel.stateBytes << " bytes of state";
      out << "\n";
    }
    out << "steps:\n";
    printSteps(plan.steps, 1);
    return std::move(out).str();
  }

private:
  static std::string formatText(const ValueInfo &value) {
    if (value.format == ElementFormat::Plain)
      return "";
    return ", " + std::string(elementFormatNames[static_cast<size_t>(value.format)]);
  }

  void printValues(const char *title, const std::vector<ValueInfo> &values) {
    out << title << ":\n";
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueInfo &value = values[i];
      out << "  " << value.name << ": " << typeText(value.dtype, value.shape) << " @ " << value.sharding.str()
          << ", local " << typeText(value.dtype, value.localShape) << formatText(value);
      if (title[0] == 'p' && i < plan.aliases.size() && plan.aliases[i] >= 0)
        out << ", may be overwritten by result " << plan.aliases[i];
      out << "\n";
    }
  }

  void printBuffers() {
    out << "buffers:\n";
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const BufferInfo &buffer = plan.buffers[i];
      out << "  " << ref(static_cast<BufferId>(i)) << ": " << typeText(buffer.dtype, buffer.shape) << " in "
          << plan_fields::spaceNames[static_cast<size_t>(buffer.space)];
      bool isValue = buffer.space == BufferInfo::Space::Argument || buffer.space == BufferInfo::Space::Result;
      if (isValue)
        out << " " << buffer.index;
      if (!isValue || buffer.offset)
        out << " + " << buffer.offset;
      out << "\n";
    }
  }

  std::string kernelName(int32_t kernel) const {
    bool known = kernel >= 0 && static_cast<size_t>(kernel) < plan.kernels.size();
    return known ? plan.kernels[kernel].symbol : "kernel " + std::to_string(kernel);
  }

  void printSteps(const std::vector<Step> &steps, int depth) {
    for (const Step &step : steps)
      std::visit([&](const auto &op) { print(op, step.location, depth); }, step.op);
  }

  /// Writes one line: the text, and the source line in a column of its own if there is room.
  void line(const std::string &text, const SourceLocation &location, int depth) {
    if (!withLocations)
      return plain(text, depth);
    std::string start = std::string(2 * depth, ' ') + text;
    out << start << std::string(start.size() < 68 ? 68 - start.size() : 1, ' ') << "// " << location.str() << "\n";
  }
  void plain(const std::string &text, int depth) { out << std::string(2 * depth, ' ') << text << "\n"; }

  void print(const LaunchStep &op, const SourceLocation &location, int depth) {
    line("launch " + kernelName(op.kernel) + "(" + refs(op.operands) + ") range " + std::to_string(op.extent) +
             " grain " + std::to_string(op.grain),
         location, depth);
  }
  /// `gelu(2 * product + %3 + %4)`.
  std::string epilogueText(const MatmulStep &op) const {
    using Function = LibraryEpilogue::Function;
    const LibraryEpilogue &epilogue = op.libraryEpilogue;
    auto scaled = [](double factor, const std::string &name) {
      std::ostringstream text;
      text << factor << " * ";
      return (factor == 1 ? "" : text.str()) + name;
    };
    std::string text = scaled(epilogue.factor, "product");
    std::string array = epilogue.array < 0 ? "" : ref(op.epilogueOperands[static_cast<size_t>(epilogue.array)]);
    if (epilogue.function == Function::GeluGradient)
      return text + " * gelu'(" + array + ")";
    if (epilogue.array >= 0)
      text += " + " + scaled(epilogue.arrayFactor, array);
    if (epilogue.bias >= 0)
      text += " + " + ref(op.epilogueOperands[static_cast<size_t>(epilogue.bias)]);
    return epilogue.function == Function::Gelu ? "gelu(" + text + ")" : text;
  }
  void print(const MatmulStep &op, const SourceLocation &location, int depth) {
    std::string text = "matmul " + ref(op.result) + " = " + ref(op.lhs) + (op.transposeLhs ? ".T" : "") +
                       viewText(op.lhsView) + " x " + ref(op.rhs) + (op.transposeRhs ? ".T" : "") +
                       viewText(op.rhsView) + " [" + std::to_string(op.batch) + " x " + std::to_string(op.m) + ", " +
                       std::to_string(op.n) + ", k " + std::to_string(op.k) + "]" + (op.allowTf32 ? " in tf32" : "");
    if (op.epilogueKernel >= 0)
      text += " then " + kernelName(op.epilogueKernel) + "(" + refs(op.epilogueOperands) + ")";
    if (op.libraryEpilogue.function != LibraryEpilogue::Function::None)
      text += ", by cuBLASLt " + epilogueText(op);
    line(text, location, depth);
  }
  void print(const CollectiveStartStep &op, const SourceLocation &location, int depth) {
    line("start #" + std::to_string(op.id) + " " + ref(op.result) + " = " + collectiveText(op.desc) + " " +
             ref(op.operand) + (op.root >= 0 ? " from " + ref(op.root) : ""),
         location, depth);
  }
  void print(const CollectiveDoneStep &op, const SourceLocation &location, int depth) {
    line("done #" + std::to_string(op.id), location, depth);
  }
  void print(const CopyStep &op, const SourceLocation &location, int depth) {
    line("copy " + ref(op.target) + " = " + ref(op.source), location, depth);
  }
  void print(const IfStep &op, const SourceLocation &location, int depth) {
    line("if " + ref(op.predicate) + " {", location, depth);
    printSteps(op.thenSteps, depth + 1);
    if (!op.elseSteps.empty()) {
      plain("} else {", depth);
      printSteps(op.elseSteps, depth + 1);
    }
    plain("}", depth);
  }
  void print(const WhileStep &op, const SourceLocation &location, int depth) {
    line("while " + ref(op.predicate) + " computed by {", location, depth);
    printSteps(op.condition, depth + 1);
    plain("} do {", depth);
    printSteps(op.body, depth + 1);
    plain("}", depth);
  }
  void print(const ForStep &op, const SourceLocation &location, int depth) {
    std::string counter = op.counter < 0 ? "" : " " + ref(op.counter) + " =";
    line("for" + counter + " " + std::to_string(op.lower) + " to " + std::to_string(op.upper) + " {", location, depth);
    printSteps(op.body, depth + 1);
    plain("}", depth);
  }
  void print(const PrintStep &op, const SourceLocation &location, int depth) {
    std::string text = "print";
    for (size_t i = 0; i < op.texts.size(); ++i) {
      text += " " + quoted(op.texts[i]);
      if (i < op.values.size())
        text += " " + ref(op.values[i]);
    }
    line(text, location, depth);
  }

  void print(const LibraryStep &op, const SourceLocation &location, int depth) {
    std::string sizes;
    for (int64_t size : op.sizes)
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    line(std::string(plan_fields::libraryNames[static_cast<size_t>(op.function)]) + " " + ref(op.result) + " = (" +
             refs(op.inputs) + ") sizes [" + sizes + "]",
         location, depth);
  }

  const Plan &plan;
  const bool withLocations;
  std::ostringstream out;
};

} // namespace

std::string typeText(DType dtype, const std::vector<int64_t> &shape) {
  return std::string(dtypeName(dtype)) + "[" +
         commaSeparated(shape, [](int64_t size) { return std::to_string(size); }) + "]";
}

std::string typeText(const ValueInfo &value, std::vector<int64_t> shape) {
  if (value.format == ElementFormat::Complex && !shape.empty()) // The verifier refuses an empty one.
    shape.pop_back();
  return elementName(value.dtype, value.format) + typeText(value.dtype, shape).substr(dtypeName(value.dtype).size());
}

namespace {

std::string moveText(const CollectiveDesc &desc) {
  if (desc.isReshaped())
    return " reshaped to " + typeText(desc.dtype, desc.targetShape);
  if (desc.moves.empty())
    return "";
  std::vector<std::string> texts;
  for (size_t d = 0; d < desc.moves.size(); ++d) {
    const DimMove &move = desc.moves[d];
    std::string &text = texts.emplace_back(std::to_string(move.shift));
    if (move.stride != 1)
      text += " step " + std::to_string(move.stride);
    if (move.begin != 0 || move.end != desc.targetShape[d])
      text += " in " + std::to_string(move.begin) + ":" + std::to_string(move.end);
    if (move.length != 0)
      text += " in windows of " + std::to_string(move.length) + " for shards of " + std::to_string(move.base) + " by " +
              std::to_string(move.step);
    if (move.block != 1)
      text += " from blocks of " + std::to_string(move.block);
    if (move.wraps)
      text += " round";
    if (move.dilation != 1)
      text += " dilated by " + std::to_string(move.dilation);
  }
  return " shifted by [" + commaSeparated(texts, [](const std::string &text) { return text; }) + "] to " +
         typeText(desc.dtype, desc.targetShape);
}

} // namespace

std::string collectiveText(const CollectiveDesc &desc) {
  std::string text(plan_fields::collectiveNames[static_cast<size_t>(desc.kind)]);
  if (desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter)
    text += " " + std::string(plan_fields::reductionNames[static_cast<size_t>(desc.reduction)]);
  if (desc.kind == CollectiveKind::Exchange)
    return text + " from " + desc.source.str() + " to " + desc.target.str() + " of " +
           typeText(desc.dtype, desc.globalShape) + moveText(desc);
  text += " over (" + commaSeparated(desc.axes, [](const AxisRef &axis) { return axis.str(); }) + ")";
  if (desc.splitDim >= 0)
    text += " split " + std::to_string(desc.splitDim);
  if (desc.concatDim >= 0)
    text += " concat " + std::to_string(desc.concatDim);
  if (desc.kind == CollectiveKind::CollectivePermute)
    text += " pairs " + commaSeparated(desc.pairs, [](const std::pair<int64_t, int64_t> &pair) {
              return std::to_string(pair.first) + "->" + std::to_string(pair.second);
            });
  return text;
}

std::string printPlan(const Plan &plan) { return Printer(plan, /*withLocations=*/true).print(); }
std::string printPlanWithoutLocations(const Plan &plan) { return Printer(plan, /*withLocations=*/false).print(); }

} // namespace spmd
