//===- MeshOverride.cpp - a mesh given by an option -----------------------===//

#include "frontend/MeshOverride.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>
#include <map>

namespace spmdc {

void overrideMesh(const FrontendOptions &options, std::vector<spmd::MeshAxis> &axes, Range declaration,
                  Diagnostics &diagnostics) {
  const Source &source = diagnostics.addSource(options.meshOption, options.meshOverride);
  std::string_view text = source.getText();
  bool declares = axes.empty();
  std::map<std::string_view, Range> seen;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string_view item = text.substr(begin, end - begin);
    Range range{&source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    begin = end + 1;
    size_t equal = item.find('=');
    int64_t size = 0;
    const char *digits = item.data() + std::min(equal + 1, item.size()), *itemEnd = item.data() + item.size();
    auto [rest, error] = std::from_chars(digits, itemEnd, size);
    if (equal == std::string_view::npos || equal == 0 || error != std::errc() || rest != itemEnd || size < 1) {
      diagnostics.error(range, "expected NAME=SIZE with a positive size");
      continue;
    }
    std::string name(item.substr(0, equal));
    if (auto [first, isNew] = seen.emplace(item.substr(0, equal), range); !isNew) {
      diagnostics.error(range, "axis '" + name + "' is named twice").note(first->second, "first here");
      continue;
    }
    auto known = llvm::find_if(axes, [&](const spmd::MeshAxis &axis) { return axis.name == name; });
    if (declares) {
      axes.push_back({name, size});
    } else if (known == axes.end()) {
      std::string list;
      for (const spmd::MeshAxis &axis : axes)
        list += (list.empty() ? "" : ", ") + axis.name;
      Diagnostic &error = diagnostics.error(range, "unknown axis '" + name + "'; the mesh has " + list);
      if (declaration.source)
        error.note(declaration, "declared here");
    } else {
      known->size = size;
    }
  }
}

} // namespace spmdc
