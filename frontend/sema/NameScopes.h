//===- NameScopes.h - the scopes around a place -----------------*- C++ -*-===//
#pragma once

#include "frontend/sema/NameResolution.h"

namespace spmdc {

/// The scopes that are open while a tree is walked. A name refers to its last declaration in the innermost scope that
/// has one; scopes may declare a name several times, and hide those of outer scopes.
class NameScopes {
public:
  /// `storage` owns the names.
  explicit NameScopes(std::deque<LocalName> &storage) : storage(storage) {}

  /// `end`: where the scope ends in the text.
  void enter(uint32_t end) { ends.push_back(end); }
  void leave() {
    for (; last && last->depth == ends.size(); last = last->previous)
      byName[last->name].pop_back();
    ends.pop_back();
  }
  uint32_t end() const { return ends.back(); }

  void declare(std::string_view name, size_t symbol, bool mayBeFunction) {
    storage.push_back({name, symbol, mayBeFunction, static_cast<unsigned>(ends.size()), last});
    last = &storage.back();
    byName[name].push_back(last);
  }
  /// Null if no open scope declares the name.
  const LocalName *find(std::string_view name) const {
    auto found = byName.find(name);
    return found == byName.end() || found->second.empty() ? nullptr : found->second.back();
  }
  const LocalName *getLast() const { return last; }

private:
  std::deque<LocalName> &storage;
  std::vector<uint32_t> ends; ///< Innermost last.
  std::map<std::string_view, std::vector<const LocalName *>> byName;
  const LocalName *last = nullptr;
};

} // namespace spmdc
