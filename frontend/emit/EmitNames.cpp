//===- EmitNames.cpp - values of names, unknown names ---------------------===//
//
// SymbolResolver decides what a name refers to. This file gives the value that it has in the current call, and reports
// names that refer to nothing: where they are evaluated, with the calls around, since functions without calls and types
// are not checked.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Emitter.h"
#include "frontend/sema/Suggest.h"
#include "frontend/syntax/Parser.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

static std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const Value *Emitter::localValue(const NameUse &use) const {
  return frame && use.local ? frame->find(use.local->name) : nullptr;
}

void Emitter::bindSizes(llvm::ArrayRef<Identifier> generics, const SizeMap &sizes) {
  for (const Identifier &generic : generics)
    if (auto size = sizes.find(generic.text); size != sizes.end())
      frame->bind(generic.text, size->second);
}

Value Emitter::name(const NameExpr &expr) {
  const NameUse &use = resolution.at(expr.name);
  Value value;
  switch (use.asValue()) {
  case ValueNameKind::Local: {
    // The default of a parameter may name a generic size that only a later argument determines.
    const Value *local = localValue(use);
    if (!local)
      failUnknownName(expr);
    value = *local;
    break;
  }
  case ValueNameKind::Const:
    value = constant(*use.constant);
    break;
  case ValueNameKind::DType:
    value.kind = ValueKind::Type;
    value.type = arrayType({}, *spmd::parseDType(expr.name));
    break;
  case ValueNameKind::None:
    value.kind = ValueKind::None;
    break;
  case ValueNameKind::Struct:
    typeParts = 0;
    value = structType(*use.structDecl, {}, expr.range);
    break;
  case ValueNameKind::Broken:
    throw Poisoned();
  case ValueNameKind::Function:
    fail(expr.range, quote(expr.name) + " is a function; write " + std::string(expr.name) +
                         "(...) to call it (only a parameter without a type takes a function itself)");
  case ValueNameKind::Unknown:
    failUnknownName(expr);
  }
  value.range = expr.range;
  return value;
}

//===----------------------------------------------------------------------===//
// Unknown names
//===----------------------------------------------------------------------===//

void Emitter::failUnknownName(const NameExpr &expr) {
  if (llvm::any_of(meshAxes, [&](const spmd::MeshAxis &axis) { return axis.name == expr.name; }))
    fail(expr.range,
         quote(expr.name) + " is a mesh axis, not a value; P(" + std::string(expr.name) + ") is the sharding over it");
  std::map<std::string_view, Range> declared;
  std::vector<std::string_view> names;
  for (const LocalName *local : resolution.at(expr.name).visibleLocals())
    if (const Value *value = frame ? frame->find(local->name) : nullptr) {
      names.push_back(local->name);
      declared.emplace(local->name, value->origin);
    }
  if (!frame || !frame->isPrelude)
    for (const auto &[name, decl] : resolution.getConsts()) {
      names.push_back(name);
      declared.emplace(name, decl->name.range);
    }
  llvm::append_range(names, dtypeNames());
  names.insert(names.end(), {"true", "false"});
  std::string message = unknownName("name", expr.name, names, /*isCalled=*/false);
  Diagnostic &error = report(expr.range, message);
  std::string_view nearest = nearestName(expr.name, names);
  if (auto meant = declared.find(nearest);
      meant != declared.end() && meant->second.source && message.ends_with(didYouMean(expr.name, names)))
    error.note(meant->second, quote(nearest) + " is declared here");
  throw Poisoned();
}

std::vector<std::string_view> Emitter::functionNames() const {
  std::vector<std::string_view> names;
  for (const FnDecl &fn : program.functions)
    names.push_back(fn.name.text);
  for (const FnDecl &fn : prelude.functions)
    names.push_back(fn.name.text);
  llvm::append_range(names, builtinNames());
  return names;
}

void Emitter::failUnknownFunction(std::string_view name, Range where) {
  std::vector<std::string_view> names = functionNames();
  std::string message = unknownName("function", name, names, /*isCalled=*/true);
  Diagnostic &error = report(where, message);
  const FnDecl *meant = findFunction(program, nearestName(name, names));
  if (meant && message.ends_with(didYouMean(name, names)))
    error.note(meant->name.range, quote(meant->name.text) + " is declared here");
  throw Poisoned();
}

/// A called name that is not that of a function.
void Emitter::failNotFunction(const NameExpr &callee) {
  const NameUse &use = resolution.at(callee.name);
  std::string quoted = quote(callee.name);
  if (const Value *local = localValue(use)) {
    if (local->isPoison())
      throw Poisoned();
    fail(callee.range, quoted + " is a value, not a function");
  }
  if (use.structDecl) {
    std::string fields;
    for (const FieldDecl &field : use.structDecl->fields)
      fields += (fields.empty() ? " " : ", ") + std::string(field.name.text) + ": ...";
    fail(callee.range, quoted + " is a struct; write " + std::string(callee.name) + " {" + fields + " }");
  }
  if (use.isDType)
    fail(callee.range, quoted + " is a type; cast(x, " + std::string(callee.name) + ") converts to it");
  if (callee.name == "not")
    fail(callee.range, quoted + " is written '!'");
  failUnknownFunction(callee.name, callee.range);
}

void Emitter::failUnknownStruct(const Identifier &name, Range where, std::string_view what,
                                std::vector<std::string_view> known) {
  if (resolution.at(name.text).isBroken)
    throw Poisoned();
  for (const StructDecl &decl : program.structs)
    known.push_back(decl.name.text);
  fail(where, "unknown " + std::string(what) + " " + quote(name.text) + didYouMean(name.text, known));
}

void Emitter::failUnknownAxis(const Identifier &axis) {
  if (program.hasBrokenMesh)
    throw Poisoned();
  std::string message = "unknown axis " + quote(axis.text);
  if (!hasMesh)
    fail(axis.range, message + "; the program has no mesh: declare one with 'mesh m(" + std::string(axis.text) +
                         "=...)' or --mesh");
  if (meshAxes.empty())
    fail(axis.range, message + "; the mesh has no axes");
  Diagnostic &error = report(axis.range, message + listedAxes());
  if (!program.meshes.empty())
    error.note(program.meshes.front().range, "the mesh is declared here");
  throw Poisoned();
}

} // namespace spmdc
