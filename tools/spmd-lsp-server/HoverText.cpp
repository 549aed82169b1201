//===- HoverText.cpp - hover texts ----------------------------------------===//

#include "tools/spmd-lsp-server/HoverText.h"
#include "tools/spmd-lsp-server/OperationDocs.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

std::string code(const std::string &text) { return "`" + text + "`"; }

std::string block(const std::string &text) { return "```spmd\n" + text + "\n```\n"; }

/// `sharding P(a, _), f32[2, 4] on each device`; empty if the sharding is unknown.
std::string shardingText(const IndexedLeaf &leaf) {
  if (leaf.sharding.empty())
    return "";
  if (leaf.isLocal)
    return "local array in `shard_map`" + (leaf.sharding == "P()" ? "" : ", sharding " + code(leaf.sharding));
  if (leaf.sharding == "P()")
    return "replicated";
  return "sharding " + code(leaf.sharding) + ", " + code(leaf.localType) + " on each device";
}

/// The sharding of a value, or a list of the types and shardings of its leaves.
std::string instanceText(const IndexedInstance &instance) {
  bool isOne = instance.leaves.size() == 1 && instance.leaves.front().path.empty();
  if (isOne) {
    std::string shardingNote = shardingText(instance.leaves.front());
    return shardingNote.empty() ? "" : shardingNote + "\n";
  }
  std::string text;
  for (const IndexedLeaf &leaf : instance.leaves) {
    std::string shardingNote = shardingText(leaf);
    text += "- `" + leaf.path + "`: " + code(leaf.type) + (shardingNote.empty() ? "" : ", " + shardingNote) + "\n";
  }
  if (instance.leaves.size() == ProgramIndex::maxLeaves)
    text += "- ...\n";
  return text;
}

/// The complete text of a place. If `name` is not empty, the type's line begins with it. Equal instances of a function
/// are listed once.
std::string placeText(const Snapshot &snapshot, const IndexedPlace &place, const std::string &name) {
  std::vector<std::pair<std::string, std::vector<const IndexedInstance *>>> distinct;
  for (const IndexedInstance &instance : place.instances) {
    std::string text = block(name + (name.empty() ? "" : ": ") + instance.description) + "\n" + instanceText(instance);
    auto same = llvm::find_if(distinct, [&](const auto &known) { return known.first == text; });
    if (same == distinct.end())
      same = distinct.insert(distinct.end(), {text, {}});
    same->second.push_back(&instance);
  }
  std::string all;
  for (const auto &[text, instances] : distinct) {
    if (distinct.size() > 1 && !instances.front()->calls.empty()) {
      int line = snapshot.text->positionAt(instances.front()->calls.front()).line + 1;
      all += "In the call on line " + std::to_string(line) + ":\n";
    }
    all += text;
  }
  if (place.instanceCount > place.instances.size())
    all += "\nand in " + std::to_string(place.instanceCount - place.instances.size()) + " other calls\n";
  return all;
}

std::string declarationText(const Snapshot &snapshot, const Symbol &symbol) {
  return snapshot.text->str().substr(symbol.declaration.begin, symbol.declaration.size());
}

/// The value of a compile-time number, `= 256`; empty if its declaration already ends with it.
std::string numberText(const IndexedPlace *place, const std::string &declaration) {
  if (!place || place->instances.empty())
    return "";
  const std::string &number = place->instances.front().description;
  llvm::StringRef written = llvm::StringRef(declaration).rsplit('=').second.trim();
  return written == number ? "" : "\n= " + number + "\n";
}

std::string symbolText(const Snapshot &snapshot, const Symbol &symbol, TextSpan use) {
  const IndexedPlace *place = snapshot.index->find(use);
  if (!place)
    place = snapshot.index->find(symbol.place);
  switch (symbol.kind) {
  case SymbolKind::Axis: {
    std::string declaration = declarationText(snapshot, symbol);
    const std::string &mesh = snapshot.symbols->getSymbols()[*symbol.parent].name;
    return block("axis " + declaration + " // of mesh " + mesh) +
           numberText(snapshot.index->find(symbol.place), declaration);
  }
  case SymbolKind::Const:
  case SymbolKind::Field:
  case SymbolKind::Function:
  case SymbolKind::Mesh:
  case SymbolKind::Struct: {
    std::string text = block(declarationText(snapshot, symbol));
    if (std::string comment = commentAbove(snapshot.text->str(), symbol.declaration.begin); !comment.empty())
      text += "\n" + comment + "\n";
    return text + (symbol.kind == SymbolKind::Const
                       ? numberText(snapshot.index->find(symbol.place), declarationText(snapshot, symbol))
                       : "");
  }
  case SymbolKind::GenericSize:
  case SymbolKind::Parameter:
  case SymbolKind::Variable:
    // A function without calls has no instances: show the declaration.
    return place ? placeText(snapshot, *place, symbol.name) : block(declarationText(snapshot, symbol));
  }
  llvm_unreachable("unknown symbol");
}

} // namespace

std::string typeText(const IndexedPlace &place) {
  std::vector<std::string> types;
  for (const IndexedInstance &instance : place.instances)
    if (!llvm::is_contained(types, instance.description))
      types.push_back(instance.description);
  std::string text;
  for (const std::string &type : types)
    text += (text.empty() ? "" : " or ") + type;
  return text;
}

std::optional<mlir::lsp::Hover> hoverAt(const Snapshot &snapshot, mlir::lsp::Position position) {
  uint32_t offset = snapshot.text->offsetAt(position);
  TextSpan place = {offset, offset};
  std::string text;
  const SymbolUse *use = snapshot.symbols->findUse(offset);
  const Symbol *symbol = use && use->symbol ? &snapshot.symbols->getSymbols()[*use->symbol] : nullptr;
  if (use) {
    place = use->place;
    text = symbol ? symbolText(snapshot, *symbol, use->place) : operationDoc(use->operation);
  }
  // The name of a called function or of a field has no value itself: add the value of the call, or of the `p.w` that
  // ends with the field.
  TextSpan around;
  const IndexedPlace *value = snapshot.index->findAround(place, &around);
  bool isCalled = use && (!symbol || symbol->kind == SymbolKind::Function) && around.begin == place.begin;
  bool isField = symbol && symbol->kind == SymbolKind::Field && around.end == place.end;
  if (value && (!use || isCalled || isField)) {
    text += (text.empty() ? "" : "\n---\n") + placeText(snapshot, *value, "");
    place = use ? place : around;
  }
  if (text.empty())
    return std::nullopt;
  mlir::lsp::Hover hover(snapshot.text->rangeOf(place));
  hover.contents.value = std::move(text);
  return hover;
}

} // namespace spmdc
