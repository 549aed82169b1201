//===- UnwrittenTypes.cpp - edits that add types ---------------------------===//

#include "compiler/explain/UnwrittenTypes.h"

#include "compiler/explain/ResultTypes.h"

#include <algorithm>
#include <optional>

namespace spmdc {
namespace {

std::vector<std::string> axesOf(const ValueReport &value, size_t dim) {
  std::vector<std::string> axes;
  for (const spmd::AxisRef &used : value.sharding.dims[dim])
    axes.push_back(used.name);
  return axes;
}

bool canHave(const ValueReport &value, size_t dim, const AxisAddition &addition) {
  if (dim >= value.shape.size() || value.shape[dim] <= 1 || !addition.differsOn(axesOf(value, dim)))
    return false;
  for (size_t other = 0; other < value.shape.size(); ++other)
    for (const std::string &used : axesOf(value, other))
      if (std::find(addition.axes.begin(), addition.axes.end(), used) != addition.axes.end())
        return false;
  return true;
}

/// `f32[4096@(a, b), 512]`, with the addition on dimension `changed`; without an addition no dimension has axes.
std::string typeOf(const ValueReport &value, size_t changed = 0, const AxisAddition *addition = nullptr) {
  std::string text;
  for (size_t dim = 0; dim < value.shape.size(); ++dim) {
    text += (dim ? ", " : "") + std::to_string(value.shape[dim]);
    if (addition && dim == changed)
      text += writeDim(addition->on(axesOf(value, dim)), /*isOpen=*/false, /*priority=*/-1, /*isPartition=*/false);
  }
  return std::string(spmd::dtypeName(value.dtype)) + (text.empty() ? "" : "[" + text + "]");
}

/// `(f32[8], L, [f32[4]; 2])`, with the addition on dimension `dim` of the arrays `changed`.
std::string textOf(const ResultType &type, const std::vector<ValueReport> &results, const std::vector<size_t> &changed,
                   size_t dim, const AxisAddition *addition) {
  auto inner = [&](const ResultType &element) { return textOf(element, results, changed, dim, addition); };
  std::string text;
  switch (type.kind) {
  case ResultType::Kind::Array: {
    bool isChanged = std::find(changed.begin(), changed.end(), type.array) != changed.end();
    return typeOf(results[type.array], dim, isChanged ? addition : nullptr);
  }
  case ResultType::Kind::Struct:
    return type.structName;
  case ResultType::Kind::List:
    return "[" + inner(type.elements.front()) + "; " + std::to_string(type.elements.size()) + "]";
  case ResultType::Kind::Tuple:
    for (const ResultType &element : type.elements)
      text += (text.empty() ? "" : ", ") + inner(element);
    return "(" + text + ")";
  }
  return text;
}

/// Whether the type names a struct.
bool hasStruct(const ResultType &type) {
  return type.kind == ResultType::Kind::Struct || std::any_of(type.elements.begin(), type.elements.end(), hasStruct);
}

/// All statements in program order, those inside of expressions included.
std::vector<const Stmt *> statementsOf(const Ast &ast) {
  std::vector<const Block *> blocks;
  for (const FnDecl &fn : ast.functions)
    blocks.push_back(&fn.body);
  for (const auto &expr : ast.getExpressions()) {
    if (const auto *branch = dynAs<IfExpr>(*expr))
      blocks.insert(blocks.end(), {&branch->thenBlock, &branch->elseBlock});
    if (const auto *loop = dynAs<ForExpr>(*expr))
      blocks.push_back(&loop->body);
    if (const auto *loop = dynAs<WhileExpr>(*expr))
      blocks.push_back(&loop->body);
  }
  std::vector<const Stmt *> statements;
  for (const Block *block : blocks)
    statements.insert(statements.end(), block->statements.begin(), block->statements.end());
  std::sort(statements.begin(), statements.end(),
            [](const Stmt *a, const Stmt *b) { return a->range.begin < b->range.begin; });
  return statements;
}

} // namespace

std::vector<AnnotationEdit> listResultEdits(const Ast &ast, std::string_view entry,
                                            const std::vector<ValueReport> &results,
                                            const std::vector<AxisAddition> &additions, AxisTargets which) {
  auto fn = std::find_if(ast.functions.begin(), ast.functions.end(),
                         [&](const FnDecl &decl) { return decl.name.text == entry; });
  if (fn == ast.functions.end() || fn->result)
    return {};
  const Stmt *last = fn->body.statements.empty() ? nullptr : fn->body.statements.back();
  if (!last || last->kind != StmtKind::Return || !last->value)
    return {};
  std::optional<ResultType> type = findResultType(ast, *last->value, results);
  if (!type)
    return {};
  std::vector<size_t> arrays = findWrittenArrays(*type);
  std::vector<AnnotationEdit> edits;
  Range place{fn->body.range.source, fn->body.range.begin, fn->body.range.begin};
  auto write = [&](const std::vector<size_t> &changed, size_t dim, const AxisAddition *addition) {
    std::string text = "-> " + textOf(*type, results, changed, dim, addition);
    edits.push_back({{place, place.str(), "", text, text + " "}});
  };
  if (hasStruct(*type) && which == AxisTargets::Together)
    write({}, 0, nullptr);
  size_t rank = 0;
  for (const ValueReport &value : results)
    rank = std::max(rank, value.shape.size());
  for (const AxisAddition &addition : additions)
    for (size_t dim = 0; dim < rank; ++dim) {
      std::vector<size_t> all;
      for (size_t array : arrays)
        if (canHave(results[array], dim, addition))
          all.push_back(array);
      if (which == AxisTargets::Together && !all.empty())
        write(all, dim, &addition);
      for (size_t one : all)
        if (which == AxisTargets::Apart && all.size() > 1)
          write({one}, dim, &addition);
    }
  return edits;
}

std::vector<AnnotationEdit> listLetEdits(const Ast &ast, const std::vector<ValueReport> &values,
                                         const std::vector<std::string> &places,
                                         const std::vector<AxisAddition> &additions) {
  std::vector<AnnotationEdit> edits;
  for (const Stmt *statement : statementsOf(ast)) {
    if (statement->kind != StmtKind::Let || statement->type || statement->pattern.name.empty())
      continue;
    const Source &source = *statement->range.source;
    size_t first = source.position(statement->range.begin).line, last = source.position(statement->range.end).line;
    bool isNear = std::any_of(places.begin(), places.end(), [&](const std::string &place) {
      size_t line = lineNumberIn(source.getName(), place);
      return first <= line && line <= last;
    });
    if (!isNear)
      continue;
    // A function that is called with several shapes has no type that fits all calls.
    const ValueReport *value = nullptr;
    bool hasOneShape = true;
    for (const ValueReport &candidate : values)
      if (candidate.location == statement->pattern.range.str()) {
        hasOneShape &= !value || value->shape == candidate.shape;
        value = &candidate;
      }
    if (!value || !hasOneShape)
      continue;
    Range place{&source, statement->pattern.range.end, statement->pattern.range.end};
    std::string name(statement->pattern.name);
    for (const AxisAddition &addition : additions)
      for (size_t dim = 0; dim < value->shape.size(); ++dim)
        if (canHave(*value, dim, addition)) {
          std::string text = ": " + typeOf(*value, dim, &addition);
          edits.push_back({{place, statement->pattern.range.str(), name, name + text, text}});
        }
  }
  return edits;
}

} // namespace spmdc
