//===- IrAnnotations.cpp - the annotations of IR --------------------------===//

#include "compiler/explain/IrAnnotations.h"

#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/pipeline/Registration.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"

#include <cctype>

using namespace mlir;

namespace spmdc {
namespace {

constexpr std::string_view kArray = "!spmd.array<";

DialectRegistry getDialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

/// The dimensions of the first array type after an offset: `4096@a` and `8@"(a, b)"` of `f32[4096@a, 8@"(a, b)"]`.
std::vector<Range> findDims(const Source &source, size_t from) {
  std::string_view text = source.getText();
  size_t begin = text.find('[', from);
  std::vector<Range> dims;
  if (begin == std::string_view::npos)
    return dims;
  bool isQuoted = false;
  for (size_t i = begin + 1, first = i; i < text.size() && text[i] != '\n'; ++i) {
    isQuoted ^= text[i] == '"';
    if (isQuoted || (text[i] != ',' && text[i] != ']'))
      continue;
    while (first < i && text[first] == ' ')
      ++first;
    dims.push_back({&source, static_cast<uint32_t>(first), static_cast<uint32_t>(i)});
    if (text[i] == ']')
      return dims;
    first = i + 1;
  }
  return {};
}

AnnotatedDim describeDim(const Range &whole, DimShardingAttr sharding) {
  AnnotatedDim dim;
  dim.whole = dim.suffix = whole;
  while (dim.suffix.begin < dim.suffix.end && std::isdigit(static_cast<unsigned char>(dim.suffix.text()[0])))
    ++dim.suffix.begin;
  for (AxisRefAttr axis : sharding.getAxes())
    dim.axes.push_back(axis.getName().str());
  dim.isOpen = !sharding.getIsClosed();
  dim.priority = sharding.getPriority();
  return dim;
}

/// Whether the sharding has no part of an axis: the search edits only full axes.
bool hasWholeAxes(ShardingAttr sharding) {
  return llvm::all_of(sharding.getDims(), [](DimShardingAttr dim) {
    return llvm::all_of(dim.getAxes(), [](AxisRefAttr axis) { return axis.getSize() == 0; });
  });
}

} // namespace

struct IrAnnotations::State {
  explicit State(const Source &source) : source(source), context(getDialects(), MLIRContext::Threading::DISABLED) {
    std::string_view text = source.getText();
    lineStarts.push_back(0);
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
      lineStarts.push_back(end + 1);
  }

  /// The offset of a location in the text, if the text has `word` there. Otherwise the location is one of the .spmd
  /// program from which the IR was compiled.
  std::optional<uint32_t> find(Location loc, std::string_view word) const {
    std::optional<SourcePosition> place = getSourcePosition(getAnnotationRange(loc).value_or(loc));
    if (!place || place->line == 0 || place->line > lineStarts.size())
      return std::nullopt;
    size_t offset = lineStarts[place->line - 1] + place->column - 1;
    bool isThere = offset < source.getText().size() && source.getText().substr(offset).starts_with(word);
    return isThere ? std::make_optional(static_cast<uint32_t>(offset)) : std::nullopt;
  }

  /// Adds the annotation of a value: its type is the first one after the first `before` from offset `mark` on.
  void add(Value value, std::optional<uint32_t> mark, std::string_view before, bool isParameter, bool isSignature) {
    auto type = dyn_cast<ArrayType>(value.getType());
    size_t from = mark ? source.getText().find(before, *mark) : std::string_view::npos;
    if (!type || type.getRank() == 0 || from == std::string_view::npos || !hasWholeAxes(type.getShardingOrOpen()))
      return;
    std::vector<Range> dims = findDims(source, from);
    if (static_cast<int64_t>(dims.size()) != type.getRank())
      return;
    ShardingAttr sharding = type.getShardingOrOpen();
    Annotation annotation{{&source, *mark, dims.back().end}, false, isSignature, isParameter, {}};
    for (auto [range, dim] : llvm::zip(dims, sharding.getDims()))
      annotation.dims.push_back(describeDim(range, dim));
    annotations.push_back(std::move(annotation));
    values.push_back(value);
  }

  /// Adds the results of a function that no constraint produces: their types are written in its signature.
  void addResults(func::FuncOp func) {
    std::string_view text = source.getText();
    std::optional<uint32_t> place = find(func.getLoc(), "func.func");
    size_t end = place ? text.find('(', *place) : std::string_view::npos;
    bool isQuoted = false;
    for (int depth = 0; end < text.size(); ++end) {
      isQuoted ^= text[end] == '"';
      if (!isQuoted && text[end] == '(')
        ++depth;
      else if (!isQuoted && text[end] == ')' && --depth == 0)
        break;
    }
    for (Value value : func.getBody().front().getTerminator()->getOperands()) {
      end = text.find(kArray, end);
      if (end == std::string_view::npos)
        return;
      bool isWritten = isa<BlockArgument>(value) || isa<ConstraintOp>(value.getDefiningOp());
      if (!isWritten && !llvm::is_contained(values, value))
        add(value, static_cast<uint32_t>(end), kArray, /*isParameter=*/false, /*isSignature=*/true);
      end += kArray.size();
    }
  }

  /// Sets the sharding of one dimension of a value, which belongs to a clone of the module.
  void change(Value value, size_t dim, const std::string &text) {
    auto type = cast<ArrayType>(value.getType());
    auto one = cast<ArrayType>(parseType("!spmd.array<f32[1" + text + "]>", &context));
    SmallVector<DimShardingAttr> dims(type.getShardingOrOpen().getDims());
    dims[dim] = one.getShardingOrOpen().getDims()[0];
    value.setType(type.withSharding(ShardingAttr::get(&context, dims, type.getShardingOrOpen().getUnreduced())));
  }

  const Source &source;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<size_t> lineStarts;
  std::vector<Annotation> annotations;
  std::vector<Value> values; ///< The annotated values, parallel to `annotations`.
};

IrAnnotations::IrAnnotations(const Source &source, const std::string &entry) : state(std::make_unique<State>(source)) {
  // The compiler reports errors of the text; this parse stays silent.
  ScopedDiagnosticHandler quiet(&state->context, [](mlir::Diagnostic &) { return success(); });
  std::string text(source.getText());
  state->module = parseSourceString<ModuleOp>(text, ParserConfig(&state->context), source.getName());
  if (!state->module)
    return;
  for (auto func : state->module->getOps<func::FuncOp>()) {
    bool isEntry = func.getName() == entry;
    for (BlockArgument argument : func.getArguments())
      state->add(argument, state->find(argument.getLoc(), "%"), kArray, /*isParameter=*/true, isEntry);
    func.walk([&](ConstraintOp op) {
      bool isResult = llvm::any_of(op->getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
      state->add(op.getResult(), state->find(op.getLoc(), "spmd.constraint"), "->", /*isParameter=*/false,
                 isEntry && isResult);
    });
    if (isEntry)
      state->addResults(func);
  }
}

IrAnnotations::~IrAnnotations() = default;

const std::vector<Annotation> &IrAnnotations::get() const { return state->annotations; }

AnnotationEdit IrAnnotations::spell(AnnotationEdit edit) {
  for (DimEdit &dim : edit) {
    bool isName = llvm::all_of(
        dim.text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '@'; });
    if (isName)
      continue;
    std::string size = dim.to.substr(0, dim.to.size() - dim.text.size());
    dim.text = "@\"" + dim.text.substr(1) + "\"";
    dim.to = size + dim.text;
  }
  return edit;
}

std::string IrAnnotations::apply(const AnnotationEdit &edit) const {
  IRMapping mapping;
  OwningOpRef<ModuleOp> changed = cast<ModuleOp>(state->module->getOperation()->clone(mapping));
  for (const DimEdit &dim : edit)
    for (auto [annotation, value] : llvm::zip(state->annotations, state->values))
      for (size_t d = 0; d < annotation.dims.size(); ++d)
        if (annotation.dims[d].suffix == dim.suffix)
          state->change(mapping.lookup(value), d, dim.text);
  changed->walk([](func::FuncOp func) {
    if (func.isDeclaration())
      return;
    Operation *end = func.getBody().front().getTerminator();
    func.setFunctionType(
        FunctionType::get(func.getContext(), func.getBody().getArgumentTypes(), TypeRange(end->getOperands())));
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  changed->print(os, OpPrintingFlags().enableDebugInfo());
  return text;
}

} // namespace spmdc
