//===- CompilerIdentity.cpp - identifies the build of the compiler --------===//
//
// A build is identified by its GNU build id, which the linker computes as a hash of the complete file; without one, by
// a hash of the file.
//
//===----------------------------------------------------------------------===//

#include "compiler/cache/CompilerIdentity.h"

#include "runtime/artifact/Sha256.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include "llvm/Config/llvm-config.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <span>
#include <string_view>

namespace spmdc {
namespace {

/// The build id in the ELF notes of a segment; empty if there is none.
std::string findBuildId(const char *notes, size_t size, size_t alignment) {
  auto padded = [&](size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    size_t name = sizeof note, content = name + padded(note.n_namesz), end = content + padded(note.n_descsz);
    if (end > size)
      return "";
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, note.n_namesz) == std::string_view("GNU", 4))
      return {notes + content, note.n_descsz};
    notes += end;
    size -= end;
  }
  return "";
}

struct Object {
  ElfW(Addr) address;    ///< An address inside the object.
  std::string id;        ///< Its build id, if it has one.
  std::string file = ""; ///< The file that it was loaded from; empty if no object contains the address.
};

int visit(dl_phdr_info *info, size_t, void *data) {
  auto &object = *static_cast<Object *>(data);
  std::string id;
  bool isHere = false;
  for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD)
      isHere |= object.address >= begin && object.address - begin < segment.p_memsz;
    if (segment.p_type == PT_NOTE && id.empty())
      id = findBuildId(reinterpret_cast<const char *>(begin), segment.p_memsz, segment.p_align == 8 ? 8 : 4);
  }
  if (!isHere)
    return 0;
  object.id = id;
  object.file = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  return 1;
}

/// Identifies the build of the executable or library that contains this address.
std::optional<std::string> buildOf(const void *address) {
  Object object{reinterpret_cast<ElfW(Addr)>(address), ""};
  dl_iterate_phdr(visit, &object);
  if (!object.id.empty())
    return object.id;
  try {
    return spmd::toHex(spmd::sha256({spmd::MappedFile(object.file).bytes()}));
  } catch (const spmd::Error &) {
    return std::nullopt;
  }
}

std::optional<std::string> computeIdentity() {
  std::optional<std::string> own = buildOf(reinterpret_cast<const void *>(&compilerIdentity));
  const void *mathematics = dlsym(RTLD_DEFAULT, "exp");
  std::optional<std::string> library = mathematics ? buildOf(mathematics) : own; // Or it is linked statically.
  if (!own || !library)
    return std::nullopt;
  return "spmdc " SPMDC_VERSION ", LLVM " LLVM_VERSION_STRING ", " + *own + ", " + *library;
}

} // namespace

const std::optional<std::string> &compilerIdentity() {
  // Computed once: the identity cannot change while the process runs, and hashing a large executable takes time.
  static const std::optional<std::string> identity = computeIdentity();
  return identity;
}

} // namespace spmdc
