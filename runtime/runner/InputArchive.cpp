//===- InputArchive.cpp - an archive of arguments -------------------------===//

#include "runtime/runner/InputArchive.h"

#include "runtime/io/Npz.h"
#include "runtime/io/Safetensors.h"

#include <algorithm>
#include <set>

namespace spmd {

/// Whether a parameter's name may be that of a key.
static bool isNameOf(std::string_view key, std::string_view parameter) {
  return std::ranges::equal(key, parameter, [](unsigned char k, unsigned char p) {
    bool isWritten = k >= 0x80 || (k >= '0' && k <= '9') || ((k | 0x20) >= 'a' && (k | 0x20) <= 'z') || k == '.';
    return k == p || (p == '_' && !isWritten);
  });
}

InputArchive::InputArchive(const std::string &path, std::string name) : name(std::move(name)) {
  if (path.ends_with(".npz"))
    archive = openNpz(path);
  else
    archive = openSafetensors(path);
}

ArraySource InputArchive::open(const std::string &key) {
  std::vector<std::string> names = archive->getNames();
  std::string found = key;
  if (std::ranges::find(names, key) == names.end()) {
    auto isKey = [&](const std::string &one) { return isNameOf(one, key); };
    if (std::ranges::count_if(names, isKey) == 1)
      found = *std::ranges::find_if(names, isKey);
  }
  arrays[key] = found;
  return archive->open(found);
}

std::vector<std::string> InputArchive::listUnread(const std::vector<ValueInfo> &params) const {
  std::set<std::string> known;
  for (const auto &[key, array] : arrays)
    known.insert(array);
  std::vector<std::string> unread = archive->getNames();
  std::erase_if(unread, [&](const std::string &array) {
    return known.contains(array) || std::ranges::any_of(params, [&](const ValueInfo &param) {
             std::string_view leaf = param.name;
             return leaf.starts_with(name + ".") && isNameOf(array, leaf.substr(name.size() + 1)) &&
                    !arrays.contains(std::string(leaf.substr(name.size() + 1)));
           });
  });
  return unread;
}

} // namespace spmd
