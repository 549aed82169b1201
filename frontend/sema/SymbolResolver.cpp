//===- SymbolResolver.cpp - resolves the names of one tree ----------------===//

#include "frontend/sema/SymbolResolver.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Parameters.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

size_t SymbolResolver::declare(SymbolKind kind, const Identifier &name, TextSpan declaration, TextSpan scope,
                               std::optional<size_t> parent) {
  return table.add({kind, std::string(name.text), spanOf(name.range), declaration, scope, parent, {}});
}

void SymbolResolver::declare() {
  brokenNames.insert(tree.brokenNames.begin(), tree.brokenNames.end());
  TextSpan everywhere{0, static_cast<uint32_t>(tree.source->getText().size())};
  for (const MeshDecl &mesh : tree.meshes) {
    size_t parent = declare(SymbolKind::Mesh, mesh.name, spanOf(mesh.range), {});
    for (const MeshAxisSyntax &axis : mesh.axes)
      meshAxes.emplace(axis.name.text,
                       declare(SymbolKind::Axis, axis.name, {axis.name.range.begin, axis.size->range.end}, {}, parent));
  }
  for (const ConstDecl &decl : tree.consts) {
    consts.emplace(decl.name.text, &decl);
    constSymbols[&decl] = declare(SymbolKind::Const, decl.name, spanOf(decl.range), everywhere);
  }
  for (const StructDecl &decl : tree.structs) {
    structs.emplace(decl.name.text, &decl);
    size_t parent = structSymbols[&decl] = declare(SymbolKind::Struct, decl.name, spanOf(decl.range), everywhere);
    for (const FieldDecl &field : decl.fields)
      fields[&decl].emplace(field.name.text, declare(SymbolKind::Field, field.name,
                                                     {field.name.range.begin, field.type->range.end}, {}, parent));
  }
  for (const FnDecl &fn : tree.functions) {
    functions.emplace(fn.name.text, &fn);
    functionSymbols[&fn].symbol = table.add({SymbolKind::Function, std::string(fn.name.text), spanOf(fn.name.range),
                                             spanOf(fn.range), everywhere, std::nullopt, spanOf(fn.body.range)});
  }
  for (const FnDecl &fn : tree.functions)
    declareParameters(fn);
}

/// Declares parameters before any body is resolved, since calls name them.
void SymbolResolver::declareParameters(const FnDecl &fn) {
  FunctionSymbols &own = functionSymbols[&fn];
  TextSpan scope{fn.result ? fn.result->range.begin : fn.body.range.begin, fn.body.range.end};
  for (const ParamDecl &param : fn.params) {
    uint32_t end = param.defaultValue ? param.defaultValue->range.end
                   : param.type       ? param.type->range.end
                                      : param.name.range.end;
    own.parameters.push_back(
        declare(SymbolKind::Parameter, param.name, {param.name.range.begin, end}, scope, own.symbol));
    own.byName.emplace(param.name.text, own.parameters.back());
  }
}

void SymbolResolver::run() {
  declare();
  for (const MeshDecl &mesh : tree.meshes)
    for (const MeshAxisSyntax &axis : mesh.axes)
      expr(*axis.size);
  for (const ConstDecl &decl : tree.consts)
    expr(*decl.value);
  for (const StructDecl &decl : tree.structs) {
    scopes.enter(decl.range.end);
    for (const Identifier &generic : decl.generics)
      bind(SymbolKind::GenericSize, generic, spanOf(generic.range), generic.range.end, structSymbols[&decl]);
    for (const FieldDecl &field : decl.fields)
      type(*field.type);
    scopes.leave();
  }
  for (const FnDecl &fn : tree.functions)
    function(fn);
  table.sortUses();
}

/// The types and defaults of parameters see the generic sizes, the type of the result sees the parameters as well, and
/// neither sees names of the body.
void SymbolResolver::function(const FnDecl &fn) {
  const FunctionSymbols &own = functionSymbols[&fn];
  currentFunction = own.symbol;
  scopes.enter(fn.body.range.end);
  for (const Identifier &generic : fn.generics)
    bind(SymbolKind::GenericSize, generic, spanOf(generic.range), generic.range.end, own.symbol);
  for (const ParamDecl &param : fn.params) {
    if (param.type)
      type(*param.type);
    if (param.defaultValue)
      expr(*param.defaultValue);
  }
  for (auto [param, symbol] : llvm::zip(fn.params, own.parameters))
    scopes.declare(param.name.text, symbol, /*mayBeFunction=*/!param.type);
  if (fn.result)
    type(*fn.result);
  scopes.enter(fn.body.range.end);
  block(fn.body);
  scopes.leave();
  scopes.leave();
}

void SymbolResolver::type(const TypeSyntax &syntax) {
  if (syntax.kind == TypeKind::Named)
    useStruct(syntax.name.text);
  for (const DimSyntax &dim : syntax.dims) {
    expr(*dim.size);
    sharding(dim.sharding);
  }
  for (const TypeSyntax *element : syntax.elements)
    type(*element);
  exprs(syntax.sizes);
  if (syntax.count)
    expr(*syntax.count);
}

void SymbolResolver::sharding(const DimShardingSyntax &sharding) {
  for (const Identifier &axis : sharding.axes)
    use(meshAxes, axis.text);
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void SymbolResolver::bind(SymbolKind kind, const Identifier &name, TextSpan declaration, uint32_t from,
                          std::optional<size_t> parent) {
  uint32_t end = scopes.end();
  size_t symbol = declare(kind, name, declaration, {std::min(from, end), end}, parent);
  scopes.declare(name.text, symbol, /*mayBeFunction=*/false);
}

void SymbolResolver::bindPattern(const Pattern &pattern, TextSpan declaration, uint32_t from) {
  if (!pattern.name.empty())
    bind(SymbolKind::Variable, {pattern.name, pattern.range}, declaration, from, currentFunction);
  for (const Pattern &element : pattern.elements)
    bindPattern(element, declaration, from);
}

void SymbolResolver::block(const Block &body) {
  for (const Stmt *stmt : body.statements) {
    if (stmt->value)
      expr(*stmt->value);
    if (stmt->kind != StmtKind::Let)
      continue;
    if (stmt->type)
      type(*stmt->type);
    // Includes the type, if written, but not the value, which may span many lines.
    TextSpan declaration = {stmt->range.begin, stmt->type ? stmt->type->range.end : stmt->pattern.range.end};
    bindPattern(stmt->pattern, declaration, std::max(stmt->range.end, declaration.end));
  }
  if (body.value)
    expr(*body.value);
}

void SymbolResolver::resolveBranch(const Block &body) {
  scopes.enter(body.range.end);
  block(body);
  scopes.leave();
}

void SymbolResolver::loop(const Identifier *counter, const std::vector<Carry> &carries, const Expr *condition,
                          const Block &body) {
  for (const Carry &carry : carries)
    expr(*carry.initial);
  scopes.enter(body.range.end);
  if (counter)
    bind(SymbolKind::Variable, *counter, spanOf(counter->range), body.range.begin, currentFunction);
  for (const Carry &carry : carries)
    bind(SymbolKind::Variable, carry.name, {carry.name.range.begin, carry.initial->range.end}, body.range.begin,
         currentFunction);
  if (condition)
    expr(*condition);
  block(body);
  scopes.leave();
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// The place of a name, which is a part of the text. The range of its expression may include parentheses.
TextSpan SymbolResolver::placeOf(std::string_view name) const {
  auto begin = static_cast<uint32_t>(name.data() - tree.source->getText().data());
  return {begin, begin + static_cast<uint32_t>(name.size())};
}

const NameUse &SymbolResolver::resolve(std::string_view name) {
  auto [place, isNew] = resolution.uses.try_emplace(name.data());
  NameUse &use = place->second;
  if (!isNew)
    return use;
  auto find = [&](const auto &declarations) {
    auto found = declarations.find(name);
    return found == declarations.end() ? nullptr : found->second;
  };
  use.local = scopes.find(name);
  use.visible = scopes.getLast();
  use.constant = find(consts);
  use.structDecl = find(structs);
  use.isDType = isDTypeName(name);
  use.isNone = name == "None";
  use.isBroken = brokenNames.count(name);
  use.fn = find(functions);
  if (!use.fn)
    use.fn = findFunction(prelude, name);
  use.isPrelude = use.fn && use.fn->name.range.source == prelude.source;
  if (!use.fn) {
    use.isTransform = isFunctionTransform(name);
    use.builtin = findBuiltin(name);
  }
  return use;
}

void SymbolResolver::addUse(std::string_view name, size_t symbol) { table.addUse({placeOf(name), symbol, ""}); }

bool SymbolResolver::use(const Names &names, std::string_view name) {
  auto found = names.find(name);
  if (found == names.end())
    return false;
  addUse(name, found->second);
  return true;
}

void SymbolResolver::useValue(std::string_view name) {
  const NameUse &use = resolve(name);
  switch (use.asValue()) {
  case ValueNameKind::Local:
    return addUse(name, use.local->symbol);
  case ValueNameKind::Const:
    return addUse(name, constSymbols[use.constant]);
  case ValueNameKind::Struct:
    return addUse(name, structSymbols[use.structDecl]);
  case ValueNameKind::Broken:
  case ValueNameKind::Function:
  case ValueNameKind::Unknown:
    useFunction(name); // An error, but the user may ask for the declaration.
    return;
  case ValueNameKind::DType:
  case ValueNameKind::None:
    return;
  }
}

bool SymbolResolver::useFunction(std::string_view name) {
  const NameUse &use = resolve(name);
  if (use.local && use.local->mayBeFunction) {
    addUse(name, use.local->symbol);
    return true;
  }
  if (auto own = functionSymbols.find(use.fn); own != functionSymbols.end()) {
    addUse(name, own->second.symbol);
    return true;
  }
  if (!use.fn && !use.builtin && !use.isTransform && name != "shard_map")
    return false;
  table.addUse({placeOf(name), std::nullopt, std::string(name)});
  return true;
}

void SymbolResolver::useStruct(std::string_view name) {
  if (const StructDecl *decl = resolve(name).structDecl)
    addUse(name, structSymbols[decl]);
}

void SymbolResolver::axes(const Expr &e) {
  if (const auto *tuple = dynAs<TupleExpr>(e)) {
    for (const Expr *element : tuple->elements)
      axes(*element);
    return;
  }
  const auto *name = dynAs<NameExpr>(e);
  if (!name || !meshAxes.count(name->name))
    return expr(e);
  // The Emitter asks for it as a value where a parameter whose value is a function hides the operation.
  resolve(name->name);
  use(meshAxes, name->name);
}

void SymbolResolver::functionArgument(const Expr &e) {
  const auto *name = dynAs<NameExpr>(e);
  if (!name || !useFunction(name->name))
    expr(e);
}

bool SymbolResolver::takesFunction(std::string_view name) {
  const NameUse &use = resolve(name);
  return use.isTransform || (name == "shard_map" && !use.fn);
}

const NameUse *SymbolResolver::calledFunction(const CallExpr &e) {
  const Expr *callee = e.callee;
  while (const auto *inner = dynAs<CallExpr>(*callee)) {
    const auto *name = dynAs<NameExpr>(*inner->callee);
    if (!name || !takesFunction(name->name) || inner->arguments.empty())
      return nullptr;
    callee = inner->arguments.front().value;
  }
  const auto *name = dynAs<NameExpr>(*callee);
  return name ? &resolve(name->name) : nullptr;
}

void SymbolResolver::call(const CallExpr &e) {
  const auto *callee = dynAs<NameExpr>(*e.callee);
  if (!callee)
    expr(*e.callee);
  else if (!useFunction(callee->name))
    useValue(callee->name); // `Layer(...)`, `x(...)`: errors about a name that exists.
  const NameUse *function = calledFunction(e);
  bool takesF = callee && takesFunction(callee->name);
  auto own = functionSymbols.find(function ? function->fn : nullptr);
  std::vector<Parameter> known;
  if (function && function->builtin)
    known = parseParameters(function->builtin->parameters);
  for (auto [i, argument] : llvm::enumerate(e.arguments)) {
    std::string_view name = argument.name.text;
    if (!name.empty() && own != functionSymbols.end())
      use(own->second.byName, name);
    bool isAxes = takesF && name == "axis_names";
    for (auto [number, parameter] : llvm::enumerate(known))
      isAxes |= parameter.isAxes && (name.empty() ? number == i : parameter.name == name);
    if (isAxes)
      axes(*argument.value);
    else if (takesF && (name == "f" || (name.empty() && i == 0)))
      functionArgument(*argument.value);
    else
      expr(*argument.value);
  }
}

void SymbolResolver::structLiteral(const StructExpr &e) {
  useStruct(e.name.text);
  const StructDecl *decl = resolve(e.name.text).structDecl;
  for (const Argument &field : e.fields) {
    if (decl)
      use(fields[decl], field.name.text);
    expr(*field.value);
  }
}

void SymbolResolver::exprs(const std::vector<Expr *> &list) {
  for (const Expr *e : list)
    expr(*e);
}

void SymbolResolver::expr(const Expr &whole) {
  // Chains of operators are as deep as they are long.
  std::vector<const Expr *> rights;
  const Expr *left = &whole;
  while (const auto *binary = dynAs<BinaryExpr>(*left)) {
    rights.push_back(binary->right);
    left = binary->left;
  }
  for (const Expr *right : rights)
    expr(*right);
  const Expr &e = *left;
  switch (e.kind) {
  case ExprKind::Name:
    return useValue(as<NameExpr>(e).name);
  case ExprKind::Unary:
    return expr(*as<UnaryExpr>(e).operand);
  case ExprKind::Call:
    return call(as<CallExpr>(e));
  case ExprKind::Index:
    expr(*as<SubscriptExpr>(e).base);
    return exprs(as<SubscriptExpr>(e).indices);
  case ExprKind::Field:
    return expr(*as<FieldExpr>(e).base);
  case ExprKind::Tuple:
    return exprs(as<TupleExpr>(e).elements);
  case ExprKind::List:
    return exprs(as<ListExpr>(e).elements);
  case ExprKind::Slice:
    for (const Expr *part : {as<SliceExpr>(e).low, as<SliceExpr>(e).high, as<SliceExpr>(e).step})
      if (part)
        expr(*part);
    return;
  case ExprKind::StructLiteral:
    return structLiteral(as<StructExpr>(e));
  case ExprKind::Type:
    return type(*as<TypeExpr>(e).type);
  case ExprKind::Partition:
    for (const DimShardingSyntax &dim : as<PartitionExpr>(e).dims)
      sharding(dim);
    return;
  case ExprKind::If:
    expr(*as<IfExpr>(e).condition);
    resolveBranch(as<IfExpr>(e).thenBlock);
    return resolveBranch(as<IfExpr>(e).elseBlock);
  case ExprKind::For:
    expr(*as<ForExpr>(e).low);
    expr(*as<ForExpr>(e).high);
    return loop(&as<ForExpr>(e).variable, as<ForExpr>(e).carries, nullptr, as<ForExpr>(e).body);
  case ExprKind::While:
    return loop(nullptr, as<WhileExpr>(e).carries, as<WhileExpr>(e).condition, as<WhileExpr>(e).body);
  case ExprKind::Integer:
  case ExprKind::Float:
  case ExprKind::Bool:
  case ExprKind::String:
  case ExprKind::None:
  case ExprKind::Ellipsis:
  case ExprKind::Binary:
    return;
  }
}

} // namespace spmdc
