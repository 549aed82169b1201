//===- UnwrittenTypes.cpp - types that a person may still write -----------===//

#include "tools/spmdc/UnwrittenTypes.h"

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

/// `f32[4096@(a, b), 512]`; with no addition nothing is said of shardings.
std::string typeOf(const ValueReport &value, size_t changed = 0, const AxisAddition *addition = nullptr) {
  std::string text;
  for (size_t dim = 0; dim < value.shape.size(); ++dim) {
    text += (dim ? ", " : "") + std::to_string(value.shape[dim]);
    if (addition && dim == changed)
      text += writeDim(addition->on(axesOf(value, dim)), /*isOpen=*/false, /*priority=*/-1, /*isPartition=*/false);
  }
  return std::string(spmd::dtypeName(value.dtype)) + (text.empty() ? "" : "[" + text + "]");
}

/// One type among those that the entry gives: an array's, or a struct's with several arrays.
struct Part {
  std::string structName; ///< Empty for an array.
  size_t first = 0;       ///< Its first array.
};

/// Follows types through results that bear the names of their arrays (`p.w`, `p.layers.0.w`).
class TypeWalk {
public:
  TypeWalk(const Ast &ast, const std::vector<ValueReport> &results, size_t next)
      : ast(ast), results(results), next(next) {}

  /// Whether the next results are the arrays of the struct, and steps over them.
  bool take(const StructDecl &decl, const std::string &path) {
    return std::all_of(decl.fields.begin(), decl.fields.end(), [&](const FieldDecl &field) {
      return take(*field.type, path + "." + std::string(field.name.text));
    });
  }

  size_t getNext() const { return next; }

private:
  bool take(const TypeSyntax &type, const std::string &path) {
    switch (type.kind) {
    case TypeKind::Array:
      return next < results.size() && results[next++].name == path;
    case TypeKind::Tuple:
      for (size_t i = 0; i < type.elements.size(); ++i)
        if (!take(*type.elements[i], path + "." + std::to_string(i)))
          return false;
      return true;
    case TypeKind::Fixed:
      for (size_t i = 0; next < results.size() && results[next].name.starts_with(path + "." + std::to_string(i)); ++i)
        if (!take(*type.elements.front(), path + "." + std::to_string(i)))
          return false;
      return true;
    case TypeKind::Named:
      break;
    }
    auto decl = std::find_if(ast.structs.begin(), ast.structs.end(),
                             [&](const StructDecl &known) { return known.name.text == type.name.text; });
    return decl != ast.structs.end() && take(*decl, path);
  }

  const Ast &ast;
  const std::vector<ValueReport> &results;
  size_t next; ///< Result.
};

/// The struct whose arrays begin with this result, and the result behind them.
std::optional<std::pair<std::string, size_t>> findStruct(const Ast &ast, const std::vector<ValueReport> &results,
                                                         size_t first) {
  std::string path = results[first].name.substr(0, results[first].name.find('.'));
  for (const StructDecl &decl : ast.structs) {
    TypeWalk walk(ast, results, first);
    // A generic struct's name alone is no type.
    if (decl.generics.empty() && walk.take(decl, path))
      return std::pair(std::string(decl.name.text), walk.getNext());
  }
  return std::nullopt;
}

/// Nothing where a type has no name.
std::vector<Part> partsOf(const Ast &ast, const std::vector<ValueReport> &results) {
  std::vector<Part> parts;
  for (size_t i = 0; i < results.size();) {
    if (results[i].name.find('.') == std::string::npos) {
      parts.push_back({"", i++});
      continue;
    }
    auto found = findStruct(ast, results, i);
    if (!found)
      return {};
    parts.push_back({found->first, i});
    i = found->second;
  }
  return parts;
}

/// The types of all parts, with axes more on a dimension of some arrays.
std::string typesOf(const std::vector<Part> &parts, const std::vector<ValueReport> &results,
                    const std::vector<size_t> &changed, size_t dim, const AxisAddition *addition) {
  std::string text;
  for (const Part &part : parts) {
    bool isChanged = std::find(changed.begin(), changed.end(), part.first) != changed.end();
    text += text.empty() ? "" : ", ";
    text +=
        part.structName.empty() ? typeOf(results[part.first], dim, isChanged ? addition : nullptr) : part.structName;
  }
  return parts.size() == 1 ? text : "(" + text + ")";
}

/// All statements, also those within expressions.
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
                                            const std::vector<AxisAddition> &additions, CutResults which) {
  auto fn = std::find_if(ast.functions.begin(), ast.functions.end(),
                         [&](const FnDecl &decl) { return decl.name.text == entry; });
  if (fn == ast.functions.end() || fn->result)
    return {};
  std::vector<Part> parts = partsOf(ast, results);
  if (parts.empty())
    return {};
  std::vector<AnnotationEdit> edits;
  Range place{fn->body.range.source, fn->body.range.begin, fn->body.range.begin};
  auto write = [&](const std::vector<size_t> &changed, size_t dim, const AxisAddition *addition) {
    std::string text = "-> " + typesOf(parts, results, changed, dim, addition);
    edits.push_back({{place, place.str(), "", text, text + " "}});
  };
  bool hasStruct = std::any_of(parts.begin(), parts.end(), [](const Part &part) { return !part.structName.empty(); });
  if (hasStruct && which == CutResults::Together)
    write({}, 0, nullptr);
  size_t rank = 0;
  for (const ValueReport &value : results)
    rank = std::max(rank, value.shape.size());
  for (const AxisAddition &addition : additions)
    for (size_t dim = 0; dim < rank; ++dim) {
      std::vector<size_t> all;
      for (const Part &part : parts)
        if (part.structName.empty() && canHave(results[part.first], dim, addition))
          all.push_back(part.first);
      if (which == CutResults::Together && !all.empty())
        write(all, dim, &addition);
      for (size_t one : all)
        if (which == CutResults::Apart && all.size() > 1)
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
    // In a function that is called with several shapes no type is right for all.
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
