//===- RunningProductsHelper.cpp - registers of running products ----------===//

#include "tests/passes/gpu/RunningProductsHelper.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <cctype>
#include <deque>
#include <utility>

using llvm::StringRef;

namespace spmdc {
namespace {

/// The registers of one committed group.
struct Group {
  llvm::StringSet<> results, factors;
};

/// Calls the function with each register of the text, as `%f12`.
template <typename Function> void forEachRegister(StringRef text, Function function) {
  for (size_t at = text.find('%'); at != StringRef::npos; at = text.find('%', at + 1))
    function(
        text.substr(at).take_while([](char c) { return c == '%' || std::isalnum(static_cast<unsigned char>(c)); }));
}

/// The registers that an instruction writes: those of its first operand, also of a list in braces.
StringRef targetsOf(StringRef instruction) {
  if (instruction.starts_with("@"))
    instruction = instruction.split(' ').second.ltrim();
  if (instruction.starts_with("st.") || instruction.starts_with("bra"))
    return "";
  StringRef operands = instruction.drop_until([](char c) { return c == ' ' || c == '\t'; }).ltrim();
  return operands.starts_with("{") ? operands.take_until([](char c) { return c == '}'; })
                                   : operands.take_until([](char c) { return c == ','; });
}

} // namespace

std::string findTouchedRegisters(StringRef ptx) {
  std::deque<Group> running;
  Group open;
  llvm::StringSet<> written; // Since the last fence.
  bool hasFence = false;
  llvm::SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.trim();
    if (line.starts_with("wgmma.fence")) {
      written.clear();
      hasFence = true;
    } else if (StringRef product = line; product.consume_front("wgmma.mma_async")) {
      auto [results, rest] = product.split('}');
      bool isFenced = hasFence;
      auto add = [&](StringRef registers, llvm::StringSet<> &names) {
        forEachRegister(registers, [&](StringRef name) {
          names.insert(name);
          isFenced &= !written.contains(name);
        });
      };
      add(results, open.results);
      if (rest.ltrim(", ").starts_with("{"))
        add(rest.split('}').first, open.factors);
      if (!isFenced)
        return line.str();
    } else if (line.starts_with("wgmma.commit_group")) {
      running.push_back(std::exchange(open, {}));
    } else if (size_t left = 0; line.consume_front("wgmma.wait_group.sync.aligned ")) {
      line.take_until([](char c) { return c == ';'; }).getAsInteger(10, left);
      while (running.size() > left)
        running.pop_front();
    } else if (!line.starts_with(".") && !line.starts_with("//")) {
      forEachRegister(targetsOf(line), [&](StringRef name) { written.insert(name); });
      bool isTouched = false;
      for (const Group &group : running) {
        forEachRegister(line, [&](StringRef name) { isTouched |= group.results.contains(name); });
        forEachRegister(targetsOf(line), [&](StringRef name) { isTouched |= group.factors.contains(name); });
      }
      if (isTouched)
        return line.str();
    }
  }
  return "";
}

} // namespace spmdc
