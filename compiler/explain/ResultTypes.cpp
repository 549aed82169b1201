//===- ResultTypes.cpp - the types of what an entry gives -----------------===//

#include "compiler/explain/ResultTypes.h"

#include <algorithm>

namespace spmdc {
namespace {

/// Whether a name is that of an array within what the path leads to.
bool isWithin(const std::string &name, const std::string &path) {
  return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
}

/// Whether an array may be of the type, as far as that is written in literals.
bool fits(const ValueReport &array, const TypeSyntax &type) {
  if (type.name.text != spmd::dtypeName(array.dtype) || type.dims.size() != array.shape.size())
    return false;
  for (size_t dim = 0; dim < type.dims.size(); ++dim)
    if (const auto *size = dynAs<IntegerExpr>(*type.dims[dim].size); size && size->value != array.shape[dim])
      return false;
  return true;
}

/// What no tuple of the result is around any more.
struct Part {
  std::string name;
  ResultType type;
};

/// Goes over the arrays from the first to the last.
class ArrayWalk {
public:
  ArrayWalk(const Ast &ast, const std::vector<ValueReport> &arrays) : ast(ast), arrays(arrays) {}

  bool isAtEnd() const { return next == arrays.size(); }

  /// The part of the result that begins with the next array, and that bears its name or number.
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

  /// Whether the next arrays are those of the struct, and steps over them.
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

/// Puts the parts into the tuples that are written in what is returned. One expression may give a tuple of several.
class Nesting {
public:
  Nesting(const Expr &returned, std::vector<Part> parts) : returned(returned), parts(std::move(parts)) {
    collectLeaves(returned, leaves);
  }

  std::optional<ResultType> find() {
    if (leaves.empty() || parts.size() < leaves.size())
      return std::nullopt;
    size_t surplus = parts.size() - leaves.size();
    // What bears a name was returned by itself, under this name. Where several places are left for the tuple, the first
    // is as good as another: what it gives is compiled before it is proposed.
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
  std::vector<const Expr *> leaves; ///< Of the written tuples.
  const Expr *tuple = nullptr;      ///< The leaf that gives more than one part, where one does.
  size_t next = 0;                  ///< Part.
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
