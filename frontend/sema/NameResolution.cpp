//===- NameResolution.cpp - what the names of a program refer to ----------===//

#include "frontend/sema/NameResolution.h"
#include "frontend/sema/SymbolResolver.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace spmdc {

ValueNameKind NameUse::asValue() const {
  return local                          ? ValueNameKind::Local
         : constant                     ? ValueNameKind::Const
         : isDType                      ? ValueNameKind::DType
         : isNone                       ? ValueNameKind::None
         : structDecl                   ? ValueNameKind::Struct
         : isBroken                     ? ValueNameKind::Broken
         : fn || isTransform || builtin ? ValueNameKind::Function
                                        : ValueNameKind::Unknown;
}

CalledNameKind NameUse::asCalled() const {
  return isBroken      ? CalledNameKind::Broken
         : fn          ? CalledNameKind::Function
         : isTransform ? CalledNameKind::Transform
         : builtin     ? CalledNameKind::Operation
                       : CalledNameKind::Unknown;
}

std::vector<const LocalName *> NameUse::visibleLocals() const {
  std::vector<const LocalName *> names;
  for (const LocalName *name = visible; name; name = name->previous)
    names.push_back(name);
  std::sort(names.begin(), names.end(), [](const LocalName *a, const LocalName *b) {
    return std::tie(b->depth, a->name, b->symbol) < std::tie(a->depth, b->name, a->symbol);
  });
  return names;
}

NameResolution::NameResolution(const Ast &program, const Ast &prelude) {
  SymbolResolver(program, prelude, table, *this).run();
  for (const ConstDecl &decl : program.consts)
    consts.emplace(decl.name.text, &decl);
  SymbolTable unused; // Editors do not show the prelude.
  SymbolResolver(prelude, prelude, unused, *this).run();
}

const NameUse &NameResolution::at(std::string_view name) const {
  auto found = uses.find(name.data());
  assert(found != uses.end() && "SymbolResolver visits all names of the tree");
  return found->second;
}

} // namespace spmdc
