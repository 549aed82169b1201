//===- ShardingRule.cpp - sharding rules of operations --------------------===//

#include "ir/interfaces/ShardingRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace spmdc {

int64_t ShardingRule::addFactor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return static_cast<int64_t>(factors.size()) - 1;
}

namespace {

/// i, j, ..., z, then z1, z2, ... as Shardy names them.
std::string factorName(int64_t index) {
  constexpr int64_t kLetters = 'z' - 'i' + 1;
  if (index < kLetters)
    return std::string(1, static_cast<char>('i' + index));
  return "z" + std::to_string(index - kLetters + 1);
}

void printValues(llvm::raw_ostream &os, llvm::ArrayRef<ValueFactors> values) {
  os << "(";
  llvm::interleaveComma(values, os, [&](const ValueFactors &value) {
    os << "[";
    llvm::interleaveComma(value, os, [&](const DimFactors &dim) {
      for (int64_t factor : dim)
        os << factorName(factor);
    });
    os << "]";
  });
  os << ")";
}

} // namespace

std::string ShardingRule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printValues(os, operands);
  os << " -> ";
  printValues(os, results);
  os << " {";
  llvm::interleaveComma(llvm::enumerate(factors), os,
                        [&](auto entry) { os << factorName(entry.index()) << "=" << entry.value().size; });
  os << "}";
  auto printKind = [&](FactorKind kind, llvm::StringRef name) {
    bool first = true;
    for (auto [index, factor] : llvm::enumerate(factors)) {
      if (factor.kind != kind)
        continue;
      os << (first ? std::string(" ") + name.str() + "={" : ", ") << factorName(index);
      first = false;
    }
    if (!first)
      os << "}";
  };
  printKind(FactorKind::Reduction, "reduction");
  printKind(FactorKind::Combined, "combined");
  printKind(FactorKind::Permutation, "permutation");
  printKind(FactorKind::NeedReplication, "need_replication");
  printKind(FactorKind::ManualShards, "place");
  return text;
}

ShardingRule ShardingRule::elementwise(llvm::ArrayRef<int64_t> shape, unsigned numOperands, unsigned numResults) {
  ShardingRule rule;
  ValueFactors value;
  for (int64_t size : shape)
    value.push_back({rule.addFactor(size)});
  rule.operands.assign(numOperands, value);
  rule.results.assign(numResults, value);
  return rule;
}

} // namespace spmdc
