//===- VhloOperations.cpp - the operations of VHLO ------------------------===//

#include "frontend/stablehlo/portable/VhloOperations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using llvm::StringRef;

namespace spmdc::stablehlo::portable {

namespace {

struct Row {
  StringRef name, attributes;
};

constexpr Row kRows[] = {
#define OPERATION(name, attributes) {name, attributes},
#include "frontend/stablehlo/portable/VhloOperations.def"
#undef OPERATION
};

using Table = llvm::StringMap<llvm::SmallVector<StringRef>>;

Table makeTable() {
  Table table;
  for (const Row &row : kRows) {
    llvm::SmallVector<StringRef> &names = table[row.name];
    row.attributes.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    llvm::sort(names); // Properties are in the order of the alphabet.
  }
  return table;
}

} // namespace

std::optional<llvm::SmallVector<StringRef>> attributesOf(StringRef name) {
  static const Table table = makeTable();
  auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

std::string nameInStablehlo(StringRef vhloName, bool isInFunction) {
  StringRef name = vhloName.take_front(vhloName.rfind("_v"));
  bool isOfFunctions = name == "func" || name == "call" || (name == "return" && isInFunction);
  return (isOfFunctions ? "func." : "stablehlo.") + name.str();
}

} // namespace spmdc::stablehlo::portable
