//===- SymbolResolver.cpp - fills a SymbolTable ---------------------------===//

#include "frontend/SymbolResolver.h"
#include "frontend/Builtins.h"
#include "frontend/Parameters.h"

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
  TextSpan everywhere{0, static_cast<uint32_t>(program.source->getText().size())};
  for (const MeshDecl &mesh : program.meshes) {
    size_t parent = declare(SymbolKind::Mesh, mesh.name, spanOf(mesh.range), {});
    for (const MeshAxisSyntax &axis : mesh.axes)
      meshAxes.emplace(axis.name.text,
                       declare(SymbolKind::Axis, axis.name, {axis.name.range.begin, axis.size->range.end}, {}, parent));
  }
  for (const ConstDecl &decl : program.consts)
    consts.emplace(decl.name.text, declare(SymbolKind::Const, decl.name, spanOf(decl.range), everywhere));
  for (const StructDecl &decl : program.structs) {
    size_t parent = declare(SymbolKind::Struct, decl.name, spanOf(decl.range), everywhere);
    structs.emplace(decl.name.text, parent);
    for (const FieldDecl &field : decl.fields)
      fields[decl.name.text].emplace(
          field.name.text,
          declare(SymbolKind::Field, field.name, {field.name.range.begin, field.type->range.end}, {}, parent));
  }
  for (const FnDecl &fn : program.functions)
    functions.emplace(fn.name.text, table.add({SymbolKind::Function, std::string(fn.name.text), spanOf(fn.name.range),
                                               spanOf(fn.range), everywhere, std::nullopt, spanOf(fn.body.range)}));
  for (const FnDecl &fn : program.functions)
    declareFunction(fn);
}

/// Declares parameters before any body is resolved, since calls name them.
void SymbolResolver::declareFunction(const FnDecl &fn) {
  for (const ParamDecl &param : fn.params) {
    uint32_t end = param.defaultValue ? param.defaultValue->range.end
                   : param.type       ? param.type->range.end
                                      : param.name.range.end;
    size_t symbol = declare(SymbolKind::Parameter, param.name, {param.name.range.begin, end}, spanOf(fn.body.range),
                            functions[fn.name.text]);
    parameters[fn.name.text].emplace(param.name.text, symbol);
    if (!param.type)
      untypedParameters.insert(symbol);
  }
}

void SymbolResolver::run() {
  declare();
  for (const MeshDecl &mesh : program.meshes)
    for (const MeshAxisSyntax &axis : mesh.axes)
      expr(*axis.size);
  for (const ConstDecl &decl : program.consts)
    expr(*decl.value);
  for (const StructDecl &decl : program.structs) {
    scopes.push_back({{}, decl.range.end});
    for (const Identifier &generic : decl.generics)
      bind(SymbolKind::GenericSize, generic, spanOf(generic.range), generic.range.end, structs[decl.name.text]);
    for (const FieldDecl &field : decl.fields)
      type(*field.type);
    scopes.pop_back();
  }
  for (const FnDecl &fn : program.functions)
    function(fn);
}

void SymbolResolver::function(const FnDecl &fn) {
  currentFunction = functions[fn.name.text];
  scopes.push_back({{}, fn.body.range.end});
  for (const Identifier &generic : fn.generics)
    bind(SymbolKind::GenericSize, generic, spanOf(generic.range), generic.range.end, functions[fn.name.text]);
  for (const ParamDecl &param : fn.params) {
    if (param.type)
      type(*param.type);
    if (param.defaultValue)
      expr(*param.defaultValue);
  }
  if (fn.result)
    type(*fn.result);
  scopes.push_back({parameters[fn.name.text], fn.body.range.end});
  block(fn.body);
  scopes.pop_back();
  scopes.pop_back();
}

void SymbolResolver::type(const TypeSyntax &syntax) {
  if (syntax.kind == TypeKind::Named)
    use(structs, syntax.name.text);
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
  uint32_t end = scopes.back().end;
  scopes.back().names[name.text] = declare(kind, name, declaration, {std::min(from, end), end}, parent);
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
  scopes.push_back({{}, body.range.end});
  block(body);
  scopes.pop_back();
}

void SymbolResolver::loop(const Identifier *counter, const std::vector<Carry> &carries, const Expr *condition,
                          const Block &body) {
  for (const Carry &carry : carries)
    expr(*carry.initial);
  scopes.push_back({{}, body.range.end});
  if (counter)
    bind(SymbolKind::Variable, *counter, spanOf(counter->range), body.range.begin, currentFunction);
  for (const Carry &carry : carries)
    bind(SymbolKind::Variable, carry.name, {carry.name.range.begin, carry.initial->range.end}, body.range.begin,
         currentFunction);
  if (condition)
    expr(*condition);
  block(body);
  scopes.pop_back();
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// The place of a name, which is a part of the text. The range of its expression may include parentheses.
TextSpan SymbolResolver::placeOf(std::string_view name) const {
  auto begin = static_cast<uint32_t>(name.data() - program.source->getText().data());
  return {begin, begin + static_cast<uint32_t>(name.size())};
}

bool SymbolResolver::use(const Names &names, std::string_view name) {
  auto found = names.find(name);
  if (found == names.end())
    return false;
  table.addUse({placeOf(name), found->second, ""});
  return true;
}

bool SymbolResolver::useLocal(std::string_view name) {
  return llvm::any_of(llvm::reverse(scopes), [&](const Scope &scope) { return use(scope.names, name); });
}

void SymbolResolver::useValue(std::string_view name) {
  if (!useLocal(name) && !use(consts, name) && !use(structs, name))
    useFunction(name); // An error, but the user may ask for the declaration.
}

bool SymbolResolver::useFunctionParameter(std::string_view name) {
  for (const Scope &scope : llvm::reverse(scopes))
    if (auto found = scope.names.find(name); found != scope.names.end())
      return untypedParameters.count(found->second) && use(scope.names, name);
  return false;
}

bool SymbolResolver::useFunction(std::string_view name) {
  if (useFunctionParameter(name))
    return true;
  if (use(functions, name))
    return true;
  if (!findFunction(prelude, name) && !findBuiltin(name) && !isFunctionTransform(name) && name != "shard_map")
    return false;
  table.addUse({placeOf(name), std::nullopt, std::string(name)});
  return true;
}

void SymbolResolver::axes(const Expr &e) {
  if (const auto *tuple = dynAs<TupleExpr>(e)) {
    for (const Expr *element : tuple->elements)
      axes(*element);
    return;
  }
  const auto *name = dynAs<NameExpr>(e);
  if (!name || !use(meshAxes, name->name))
    expr(e);
}

void SymbolResolver::functionArgument(const Expr &e) {
  const auto *name = dynAs<NameExpr>(e);
  if (!name || !useFunction(name->name))
    expr(e);
}

static bool takesFunction(std::string_view name) { return isFunctionTransform(name) || name == "shard_map"; }

std::string_view SymbolResolver::calledFunction(const CallExpr &e) const {
  const Expr *callee = e.callee;
  while (const auto *inner = dynAs<CallExpr>(*callee)) {
    const auto *name = dynAs<NameExpr>(*inner->callee);
    if (!name || !takesFunction(name->name) || functions.count(name->name) || inner->arguments.empty())
      return "";
    callee = inner->arguments.front().value;
  }
  const auto *name = dynAs<NameExpr>(*callee);
  return name ? name->name : "";
}

void SymbolResolver::call(const CallExpr &e) {
  const auto *callee = dynAs<NameExpr>(*e.callee);
  if (!callee)
    expr(*e.callee);
  else if (!useFunction(callee->name))
    useValue(callee->name); // `Layer(...)`, `x(...)`: errors about a name that exists.
  std::string_view function = calledFunction(e);
  bool isOwn = functions.count(function);
  bool takesF = callee && takesFunction(function) && !isOwn;
  const Builtin *builtin = isOwn || findFunction(prelude, function) ? nullptr : findBuiltin(function);
  std::vector<Parameter> known = builtin ? parseParameters(builtin->parameters) : std::vector<Parameter>();
  for (auto [i, argument] : llvm::enumerate(e.arguments)) {
    std::string_view name = argument.name.text;
    if (!name.empty() && isOwn)
      use(parameters[function], name);
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
  use(structs, e.name.text);
  for (const Argument &field : e.fields) {
    use(fields[e.name.text], field.name.text);
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
