//===- Annotations.cpp - the places of shardings in a program -------------===//

#include "frontend/syntax/Annotations.h"

#include <algorithm>
#include <map>
#include <set>

namespace spmdc {
namespace {

AnnotatedDim dimOf(const DimShardingSyntax &sharding) {
  AnnotatedDim dim;
  dim.whole = dim.suffix = sharding.range;
  for (const Identifier &axis : sharding.axes)
    dim.axes.emplace_back(axis.text);
  dim.isOpen = sharding.isOpen;
  dim.priority = sharding.priority;
  return dim;
}

/// These types and all types in them, including fields of structs.
std::set<const TypeSyntax *> partsOf(const Ast &ast, std::vector<const TypeSyntax *> pending) {
  std::map<std::string_view, const StructDecl *> structs;
  for (const StructDecl &decl : ast.structs)
    structs.emplace(decl.name.text, &decl);
  std::set<const TypeSyntax *> found;
  while (!pending.empty()) {
    const TypeSyntax *type = pending.back();
    pending.pop_back();
    if (!type || !found.insert(type).second)
      continue;
    pending.insert(pending.end(), type->elements.begin(), type->elements.end());
    if (auto decl = structs.find(type->name.text); type->kind == TypeKind::Named && decl != structs.end())
      for (const FieldDecl &field : decl->second->fields)
        pending.push_back(field.type);
  }
  return found;
}

} // namespace

std::vector<Annotation> listAnnotations(const Ast &ast, std::string_view entry) {
  std::vector<const TypeSyntax *> params, result;
  for (const FnDecl &fn : ast.functions) {
    if (fn.name.text != entry)
      continue;
    for (const ParamDecl &param : fn.params)
      params.push_back(param.type);
    result.push_back(fn.result);
  }
  std::set<const TypeSyntax *> parameterParts = partsOf(ast, params), resultParts = partsOf(ast, result);
  std::vector<Annotation> annotations;
  for (const auto &type : ast.getTypes()) {
    if (type->kind != TypeKind::Array || type->dims.empty())
      continue;
    bool isParameter = parameterParts.count(type.get()) > 0;
    bool isSignature = isParameter || resultParts.count(type.get()) > 0;
    Annotation annotation{type->range, /*isPartition=*/false, isSignature, isParameter, {}};
    for (const DimSyntax &syntax : type->dims) {
      AnnotatedDim dim = dimOf(syntax.sharding);
      Range size = syntax.size->range;
      dim.whole = size.to(syntax.sharding.range);
      dim.suffix = {size.source, size.end, syntax.sharding.range.end};
      annotation.dims.push_back(std::move(dim));
    }
    annotations.push_back(std::move(annotation));
  }
  for (const auto &expr : ast.getExpressions()) {
    const auto *call = dynAs<CallExpr>(*expr);
    const auto *callee = call ? dynAs<NameExpr>(*call->callee) : nullptr;
    if (!callee || callee->name != "shard")
      continue;
    for (const Argument &argument : call->arguments) {
      const auto *partition = argument.value ? dynAs<PartitionExpr>(*argument.value) : nullptr;
      if (!partition)
        continue;
      Annotation annotation{partition->range, /*isPartition=*/true, /*isSignature=*/false, /*isParameter=*/false, {}};
      for (const DimShardingSyntax &dim : partition->dims)
        annotation.dims.push_back(dimOf(dim));
      annotations.push_back(std::move(annotation));
    }
  }
  std::sort(annotations.begin(), annotations.end(),
            [](const Annotation &a, const Annotation &b) { return a.range.begin < b.range.begin; });
  return annotations;
}

std::string writeDim(const std::vector<std::string> &axes, bool isOpen, int64_t priority, bool isPartition) {
  std::string text;
  for (const std::string &axis : axes)
    text += (text.empty() ? "" : ", ") + axis;
  if (axes.size() > 1)
    text = "(" + text + ")";
  if (axes.empty())
    text = isOpen ? (isPartition ? "?" : "") : "_";
  else if (isOpen)
    text += "?";
  if (priority >= 0 && !text.empty())
    text += "!" + std::to_string(priority);
  return isPartition || text.empty() ? text : "@" + text;
}

} // namespace spmdc
