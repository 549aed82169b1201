//===- EmitStructs.cpp - types as trees, structs, values leaf by leaf -----===//
//
// A type is resolved to a tree with the structure of its values: tuples, lists (`[Block; 4]`) and structs whose leaves
// are array types. So parameters, results and fields need no cases of their own: structures and leaves are compared.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/Emitter.h"
#include "frontend/emit/Leaves.h"
#include "frontend/sema/Suggest.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace spmdc {

/// `[Block; 4]` in `[...; 4]` in ... multiplies: more parts than this are a mistake, and would exhaust memory.
static constexpr size_t maxTypeParts = 100000;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Value Emitter::typeTree(const TypeSyntax &type, const Value *like) {
  typeParts = 0;
  return typePart(type, like);
}

Value Emitter::typePart(const TypeSyntax &type, const Value *like) {
  if (++typeParts > maxTypeParts)
    fail(type.range, "the type has more than " + std::to_string(maxTypeParts) + " parts");
  // The part of `like` at this position.
  auto part = [&](size_t i) { return like && i < like->elements.size() ? &like->elements[i] : nullptr; };
  Value tree;
  tree.range = type.range;
  switch (type.kind) {
  case TypeKind::Array:
    tree.kind = ValueKind::Type;
    tree.type = arrayTypeOf(type);
    return tree;
  case TypeKind::Tuple:
    tree.kind = ValueKind::Tuple;
    for (auto [i, element] : llvm::enumerate(type.elements))
      tree.elements.push_back(typePart(*element, part(i)));
    return tree;
  case TypeKind::Fixed: {
    tree.kind = ValueKind::List;
    int64_t count = sizeOf(*type.count, "the count of '[...; n]'");
    for (int64_t i = 0; i < count; ++i)
      tree.elements.push_back(typePart(*type.elements[0], part(i)));
    return tree;
  }
  case TypeKind::Named:
    return namedType(type, like);
  }
  llvm_unreachable("unknown type");
}

Value Emitter::namedType(const TypeSyntax &type, const Value *like) {
  const StructDecl *decl = resolution.at(type.name.text).structDecl;
  if (!decl)
    failUnknownStruct(type.name, type.range, "type", dtypeNames());
  SizeMap sizes;
  if (!type.sizes.empty() || like) {
    if (!type.sizes.empty() && type.sizes.size() != decl->generics.size()) {
      std::string count =
          std::to_string(decl->generics.size()) + " generic size" + (decl->generics.size() == 1 ? "" : "s");
      report(type.range, "'" + std::string(decl->name.text) + "' has " + count + ", " +
                             std::to_string(type.sizes.size()) + " are given")
          .note(decl->range, "declared here");
      throw Poisoned();
    }
    for (auto [generic, size] : llvm::zip(decl->generics, type.sizes))
      sizes[generic.text] = Value::ofConstant(Constant::ofInt(sizeOf(*size, "a generic size")), size->range);
    // Omitted sizes are those of the value.
    if (type.sizes.empty() && like->isStruct() && like->structDecl == decl)
      solveFields(*decl, *like, sizes);
  }
  Value tree = structType(*decl, sizes, type.range);
  tree.range = type.range;
  return tree;
}

/// The struct with these sizes for its generic ones.
Value Emitter::structType(const StructDecl &decl, const SizeMap &sizes, Range use) {
  std::string quoted = "'" + std::string(decl.name.text) + "'";
  if (llvm::is_contained(openStructs, &decl)) {
    std::string path;
    for (const StructDecl *open : llvm::make_range(llvm::find(openStructs, &decl), openStructs.end()))
      path += std::string(open->name.text) + " -> ";
    report(decl.name.range, "struct " + quoted + " contains itself: " + path + std::string(decl.name.text));
    throw Poisoned();
  }
  for (const Identifier &generic : decl.generics)
    if (!sizes.count(generic.text)) {
      std::string names;
      for (const Identifier &name : decl.generics)
        names += (names.empty() ? "" : ", ") + std::string(name.text);
      report(use, "the size '" + std::string(generic.text) + "' of " + quoted + " is not known here; write " +
                      std::string(decl.name.text) + "<" + names + ">")
          .note(decl.name.range, quoted + " is declared here");
      throw Poisoned();
    }
  if (decl.generics.empty())
    if (auto known = structTypes.find(&decl); known != structTypes.end()) {
      if (known->second.isPoison())
        throw Poisoned();
      return known->second;
    }
  // Fields see consts and the struct's own sizes, no names of its users.
  Frame inside;
  inside.caller = frame;
  inside.callRange = decl.generics.empty() ? Range() : use;
  inside.structDecl = &decl;
  Frame *saved = std::exchange(frame, &inside);
  bindSizes(decl.generics, sizes);
  openStructs.push_back(&decl);
  auto leave = llvm::make_scope_exit([&] {
    frame = saved;
    openStructs.pop_back();
  });
  Value tree;
  tree.kind = ValueKind::Struct;
  tree.structDecl = &decl;
  tree.range = decl.name.range;
  bool isBad = false;
  for (const FieldDecl &field : decl.fields) {
    try {
      tree.elements.push_back(typePart(*field.type, nullptr));
    } catch (const Poisoned &) {
      isBad = true;
    }
  }
  if (decl.generics.empty())
    structTypes[&decl] = isBad ? Value() : tree;
  if (isBad)
    throw Poisoned();
  return tree;
}

/// Structs without generic sizes are checked whether they are used or not.
void Emitter::checkStructs() {
  for (const StructDecl &decl : program.structs) {
    if (!decl.generics.empty())
      continue;
    try {
      typeParts = 0;
      structType(decl, {}, decl.name.range);
    } catch (const Poisoned &) {
    }
  }
}

//===----------------------------------------------------------------------===//
// Generic sizes
//===----------------------------------------------------------------------===//

void Emitter::solveSizes(const TypeSyntax &type, const Value &value, llvm::ArrayRef<Identifier> generics,
                         SizeMap &solved) {
  auto solve = [&](const Expr &size, int64_t known) {
    const auto *name = dynAs<NameExpr>(size);
    if (name && llvm::any_of(generics, [&](const Identifier &g) { return g.text == name->name; }))
      solved.emplace(name->name, Value::ofConstant(Constant::ofInt(known), value.range));
  };
  switch (type.kind) {
  case TypeKind::Array:
    if (value.isData() && value.rank() == static_cast<int64_t>(type.dims.size()))
      for (auto [dim, size] : llvm::zip(type.dims, value.shape()))
        solve(*dim.size, size);
    return; // The check of the argument reports a mismatch.
  case TypeKind::Tuple:
    if (value.isSequence())
      for (auto [element, part] : llvm::zip(type.elements, value.elements))
        solveSizes(*element, part, generics, solved);
    return;
  case TypeKind::Fixed:
    if (!value.isSequence())
      return;
    solve(*type.count, value.elements.size());
    for (const Value &part : value.elements)
      solveSizes(*type.elements[0], part, generics, solved);
    return;
  case TypeKind::Named: {
    const StructDecl *decl = resolution.at(type.name.text).structDecl;
    if (!decl || !value.isStruct() || value.structDecl != decl)
      return;
    SizeMap inner;
    solveFields(*decl, value, inner);
    for (auto [generic, size] : llvm::zip(decl->generics, type.sizes))
      if (auto found = inner.find(generic.text); found != inner.end())
        solve(*size, found->second.constant.i);
    return;
  }
  }
}

void Emitter::solveFields(const StructDecl &decl, const Value &value, SizeMap &solved) {
  for (auto [field, part] : llvm::zip(decl.fields, value.elements))
    solveSizes(*field.type, part, decl.generics, solved);
}

/// Collects the generic sizes that a type names, each once.
static void collectSizes(const TypeSyntax &type, llvm::ArrayRef<Identifier> generics,
                         std::vector<std::string_view> &names) {
  auto visit = [&](auto &self, const Expr &size) -> void {
    const Expr *left = &size; // Iterates: chains of operators are as deep as they are long.
    while (const auto *binary = dynAs<BinaryExpr>(*left)) {
      self(self, *binary->right);
      left = binary->left;
    }
    if (const auto *name = dynAs<NameExpr>(*left)) {
      bool isGeneric = llvm::any_of(generics, [&](const Identifier &g) { return g.text == name->name; });
      if (isGeneric && !llvm::is_contained(names, name->name))
        names.push_back(name->name);
    }
  };
  for (const DimSyntax &dim : type.dims)
    visit(visit, *dim.size);
  for (const Expr *size : type.sizes)
    visit(visit, *size);
  if (type.count)
    visit(visit, *type.count);
  for (const TypeSyntax *element : type.elements)
    collectSizes(*element, generics, names);
}

void Emitter::noteSizes(const TypeSyntax &type, llvm::ArrayRef<Identifier> generics, const SizeMap &solved) {
  if (!diagnostics.hasErrors())
    return; // An unsupported construct in a function without calls is not an error.
  std::vector<std::string_view> names;
  collectSizes(type, generics, names);
  for (std::string_view name : names)
    if (auto size = solved.find(name); size != solved.end() && size->second.range.source)
      diagnostics.last().note(size->second.range,
                              "'" + std::string(name) + "' is " + size->second.constant.str() + " by this argument");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Emitter::declaredAs(const Value &value, const TypeSyntax &type, const std::string &what) {
  return coerceTree(value, typeTree(type, &value), what);
}

static std::string describeTree(const Value &value) {
  return value.isSequence() ? value.describe() + " of " + std::to_string(value.elements.size()) : value.describe();
}

Value Emitter::coerceTree(const Value &value, const Value &type, const std::string &what) {
  if (!isTree(type))
    return coerce(value, type.type, what, type.range);
  bool agrees =
      value.kind == type.kind && value.structDecl == type.structDecl && value.elements.size() == type.elements.size();
  if (!agrees) {
    report(value.range, what + " is " + describeTree(value) + ", but " + describeTree(type) + " is declared")
        .note(type.range, "declared here");
    throw Poisoned();
  }
  Value result = value;
  bool isBad = false;
  for (auto [i, element] : llvm::enumerate(result.elements)) {
    std::string part = type.isStruct() ? "field '" + std::string(type.structDecl->fields[i].name.text) + "' of " + what
                       : type.kind == ValueKind::List ? "element " + std::to_string(i) + " of " + what
                                                      : what;
    try {
      element = coerceTree(element, type.elements[i], part);
    } catch (const Poisoned &) {
      isBad = true;
    }
  }
  if (isBad)
    throw Poisoned();
  return result;
}

Value Emitter::structLiteral(const StructExpr &e) {
  std::string quoted = "'" + std::string(e.name.text) + "'";
  const StructDecl *decl = resolution.at(e.name.text).structDecl;
  std::vector<Value> given;
  for (const Argument &field : e.fields)
    given.push_back(expr(*field.value));
  if (!decl)
    failUnknownStruct(e.name, e.name.range, "struct", {});
  Value value;
  value.kind = ValueKind::Struct;
  value.structDecl = decl;
  value.range = e.range;
  value.elements.resize(decl->fields.size());
  std::vector<const Argument *> first(decl->fields.size());
  bool isBad = false;
  for (auto [argument, part] : llvm::zip(e.fields, given)) {
    size_t i =
        llvm::find_if(decl->fields, [&](auto &f) { return f.name.text == argument.name.text; }) - decl->fields.begin();
    if (i == decl->fields.size()) {
      reportNoField(*decl, argument.name);
      isBad = true;
    } else if (first[i]) {
      report(argument.name.range, "field '" + std::string(argument.name.text) + "' is given twice")
          .note(first[i]->name.range, "first here");
      isBad = true;
    } else {
      first[i] = &argument;
      value.elements[i] = part;
      isBad |= part.isPoison();
    }
  }
  std::string missing;
  size_t missingCount = 0;
  for (auto [field, argument] : llvm::zip(decl->fields, first))
    if (!argument) {
      missing += (missing.empty() ? "'" : ", '") + std::string(field.name.text) + "'";
      ++missingCount;
    }
  if (missingCount > 0) {
    report(e.range, quoted + " needs a value for " + (missingCount == 1 ? "field " : "fields ") + missing)
        .note(decl->range, "declared here");
    isBad = true;
  }
  if (isBad)
    throw Poisoned();
  SizeMap sizes;
  if (!decl->generics.empty())
    solveFields(*decl, value, sizes);
  typeParts = 0;
  Value result;
  try {
    result = coerceTree(value, structType(*decl, sizes, e.range), quoted);
  } catch (const Poisoned &) {
    for (const auto &[name, size] : sizes)
      if (diagnostics.hasErrors())
        diagnostics.last().note(size.range, "'" + std::string(name) + "' is " + size.constant.str() + " by this value");
    throw;
  }
  result.range = e.range;
  return result;
}

void Emitter::reportNoField(const StructDecl &decl, const Identifier &name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const FieldDecl &field : decl.fields) {
    names.push_back(field.name.text);
    list += (list.empty() ? "" : ", ") + std::string(field.name.text);
  }
  std::string hint = didYouMean(name.text, names);
  report(name.range, "struct '" + std::string(decl.name.text) + "' has no field '" + std::string(name.text) + "'" +
                         (!hint.empty()  ? hint
                          : list.empty() ? "; it has none"
                                         : "; it has " + list))
      .note(decl.range, "declared here");
}

//===----------------------------------------------------------------------===//
// Leaf by leaf
//===----------------------------------------------------------------------===//

/// Structs, and lists of them or of arrays (`p.layers`). A list of numbers is not an operand.
static bool hasLeaves(const Value &value) {
  if (value.kind == ValueKind::List)
    return llvm::any_of(value.elements, [](const Value &v) { return v.isArray() || hasLeaves(v); });
  return value.isStruct();
}

std::optional<Value> Emitter::leafByLeaf(llvm::ArrayRef<Value> operands, Range range, std::string_view what,
                                         llvm::function_ref<Value(llvm::ArrayRef<Value>)> apply) {
  const Value *tree = llvm::find_if(operands, hasLeaves);
  if (tree == operands.end())
    return std::nullopt;
  std::vector<std::vector<Value>> leaves;
  for (const Value &operand : operands) {
    leaves.push_back(getLeaves(operand));
    if (hasLeaves(operand)) {
      if (std::optional<std::string> difference = structureDifference(*tree, operand))
        failAbout(range, std::string(what) + " works leaf by leaf, and these have different leaves: " + *difference,
                  operands);
    } else if (isTree(operand) || (operand.isNumeric() && operand.rank() > 0)) {
      fail(operand.range, std::string(what) + " of " + tree->describe() + " and " + describeTree(operand) +
                              ": only a scalar combines with every leaf");
    }
  }
  std::vector<std::string> names = leafNames(*tree);
  std::string saved = currentLeaf;
  auto leave = llvm::make_scope_exit([&] { currentLeaf = saved; });
  std::vector<Value> results;
  for (size_t i = 0; i < names.size(); ++i) {
    currentLeaf = names[i];
    std::vector<Value> parts;
    for (auto [operand, own] : llvm::zip(operands, leaves))
      parts.push_back(hasLeaves(operand) ? own[i] : operand);
    results.push_back(apply(parts));
  }
  Value result = withLeaves(*tree, results);
  result.range = range;
  result.origin = Range();
  return result;
}

} // namespace spmdc
