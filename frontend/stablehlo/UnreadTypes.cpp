//===- UnreadTypes.cpp - types that no program here may have --------------===//

#include "frontend/stablehlo/UnreadTypes.h"

#include "frontend/stablehlo/narrow/NarrowTypes.h"

using llvm::StringRef;

namespace spmdc::stablehlo {

/// The first type of a tensor with a dimension `?`; npos if there is none.
static size_t findDynamicShape(StringRef text) {
  constexpr StringRef kTensor = "tensor<";
  for (size_t at = text.find(kTensor); at != StringRef::npos; at = text.find(kTensor, at + 1))
    if (text.substr(at + kTensor.size()).ltrim("0123456789x").starts_with("?"))
      return at;
  return StringRef::npos;
}

std::optional<UnreadType> findUnreadType(StringRef text) {
  std::optional<UnreadType> first;
  auto add = [&](size_t offset, const std::string &message) {
    if (offset != StringRef::npos && (!first || offset < first->offset))
      first = {offset, message};
  };
  if (StringRef element = findUnreadElement(text); !element.empty())
    add(element.data() - text.data(), "the program has elements of type '" + element.str() +
                                          "', which is not supported; use one of " + listNarrowTypes());
  if (size_t at = findDynamicShape(text); at != StringRef::npos) {
    StringRef type = text.substr(at, text.substr(at).find('>') + 1);
    add(at, "the program has dynamic shapes such as " + type.str() + "; " + kStaticShapes);
  }
  add(text.find("!stablehlo.token"),
      std::string("the program orders its effects by tokens, which is not supported; ") + kUnorderedEffects);
  return first;
}

} // namespace spmdc::stablehlo
