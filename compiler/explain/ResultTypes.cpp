//===- ResultTypes.cpp - the inferred result types of an entry ------------===//

#include "compiler/explain/ResultTypes.h"

#include <algorithm>

namespace spmdc {
namespace {

/// Whether the array `name` is `path` itself or inside it (`p.w` is inside `p`).
bool isWithin(const std::string &name, const std::string &path) {
  return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
}

/// Whether an array matches a type, as far as the type's sizes are literals.
bool fits(const ValueReport &array, const TypeSyntax &type) {
  if (type.name.text != spmd::dtypeName(array.dtype) || type.dims.size() != array.shape.size())
    return false;
  for (size_t dim = 0; dim < type.dims.size(); ++dim)
    if (const auto *size = dynAs<IntegerExpr>(*type.dims[dim].size); size && size->value != array.shape[dim])
      return false;
  return true;
}

/// An element of the result inside all its tuples: an array, a struct or a list.
struct Part {
  std::string name;
  ResultType type;
};

/// Groups the arrays of the result, in order, into parts.
class ArrayWalk {
public:
  ArrayWalk(const Ast &ast, const std::vector<ValueReport> &arrays) : ast(ast), arrays(arrays) {}

  bool isAtEnd() const { return next == arrays.size(); }

  /// The part that begins with the next array; its name is the first component of the array's name.
  std::optional<Part> takePart() {
    std::string name = arrays[next].name.substr(0, arrays[next].name.find('.'));
    std::optional<ResultType> type = takeType(name);
    return type ? std::optional(Part{name, std::move(*type)}) : std::nullopt;
  }

private:
  bool isNextWithin(const std::string &path) const { return !isAtEnd() && isWithin(arrays[next].name, path); }

  std::optional<ResultType> takeType(const std::string &path) {
    if (arrays[next].name == path)
      return ResultType{ResultType::Kind::Array, next++, "", {}};
    size_t first = next;
    for (const StructDecl &decl : ast.structs) {
      if (take(decl, path) && next > first)
        return ResultType{ResultType::Kind::Struct, 0, std::string(decl.name.text), {}};
      next = first;
    }
    ResultType list{ResultType::Kind::List, 0, "", {}};
    for (std::string element = path + ".0"; isNextWithin(element);
         element = path + "." + std::to_string(list.elements.size())) {
      std::optional<ResultType> type = takeType(element);
      if (!type)
        return std::nullopt;
      list.elements.push_back(std::move(*type));
    }
    return list.elements.empty() ? std::nullopt : std::optional(std::move(list));
  }

  /// Consumes the next arrays if they match the fields of the struct; false if they do not.
  bool take(const StructDecl &decl, const std::string &path) {
    return std::all_of(decl.fields.begin(), decl.fields.end(), [&](const FieldDecl &field) {
      return take(*field.type, path + "." + std::string(field.name.text));
    });
  }

  bool take(const TypeSyntax &type, const std::string &path) {
    switch (type.kind) {
    case TypeKind::Array:
      return !isAtEnd() && arrays[next].name == path && fits(arrays[next++], type);
    case TypeKind::Tuple:
      for (size_t i = 0; i < type.elements.size(); ++i)
        if (!take(*type.elements[i], path + "." + std::to_string(i)))
          return false;
      return true;
    case TypeKind::Fixed:
      for (size_t i = 0; isNextWithin(path + "." + std::to_string(i)); ++i)
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
  const std::vector<ValueReport> &arrays;
  size_t next = 0;
};

void collectLeaves(const Expr &expr, std::vector<const Expr *> &leaves) {
  if (const auto *tuple = dynAs<TupleExpr>(expr))
    for (const Expr *element : tuple->elements)
      collectLeaves(*element, leaves);
  else
    leaves.push_back(&expr);
}

/// Nests the parts as the returned expression nests its tuples. One leaf of that expression may itself return a tuple.
class Nesting {
public:
  Nesting(const Expr &returned, std::vector<Part> parts) : returned(returned), parts(std::move(parts)) {
    collectLeaves(returned, leaves);
  }

  std::optional<ResultType> find() {
    if (leaves.empty() || parts.size() < leaves.size())
      return std::nullopt;
    size_t surplus = parts.size() - leaves.size();
    // A part with a name is a leaf that is this variable. If several leaves may be the tuple, the first one is taken: a
    // wrong type does not compile, and the search then drops the edit.
    for (const Expr *leaf : leaves)
      if (isPossible(*leaf, surplus)) {
        tuple = leaf;
        return nest(returned);
      }
    return std::nullopt;
  }

private:
  bool isPossible(const Expr &several, size_t surplus) const {
    size_t part = 0;
    for (const Expr *leaf : leaves) {
      bool isTuple = leaf == &several && surplus;
      const auto *name = dynAs<NameExpr>(*leaf);
      for (size_t end = part + (isTuple ? surplus : 0); part <= end; ++part) {
        bool isNumbered = parts[part].name == std::to_string(part);
        if (!isNumbered && (isTuple || !name || name->name != parts[part].name))
          return false;
      }
    }
    return true;
  }

  ResultType nest(const Expr &expr) {
    ResultType type{ResultType::Kind::Tuple, 0, "", {}};
    if (const auto *written = dynAs<TupleExpr>(expr)) {
      for (const Expr *element : written->elements)
        type.elements.push_back(nest(*element));
      return type;
    }
    size_t surplus = &expr == tuple ? parts.size() - leaves.size() : 0;
    if (!surplus)
      return parts[next++].type;
    for (size_t end = next + surplus + 1; next < end;)
      type.elements.push_back(parts[next++].type);
    return type;
  }

  const Expr &returned;
  std::vector<Part> parts;
  std::vector<const Expr *> leaves; ///< The expressions inside the returned tuples.
  const Expr *tuple = nullptr;      ///< The leaf that returns several parts; unused if each returns one.
  size_t next = 0;                  ///< Index of the next part.
};

} // namespace

std::optional<ResultType> findResultType(const Ast &ast, const Expr &returned, const std::vector<ValueReport> &arrays) {
  std::vector<Part> parts;
  ArrayWalk walk(ast, arrays);
  while (!walk.isAtEnd()) {
    std::optional<Part> part = walk.takePart();
    if (!part)
      return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return Nesting(returned, std::move(parts)).find();
}

std::vector<size_t> findWrittenArrays(const ResultType &type) {
  if (type.kind == ResultType::Kind::Array)
    return {type.array};
  std::vector<size_t> arrays;
  for (const ResultType &element : type.elements) {
    std::vector<size_t> within = findWrittenArrays(element);
    arrays.insert(arrays.end(), within.begin(), within.end());
    if (type.kind == ResultType::Kind::List)
      break;
  }
  return arrays;
}

} // namespace spmdc
