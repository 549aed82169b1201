//===- Npz.cpp - archives of NumPy arrays ---------------------------------===//

#include "runtime/io/Npz.h"

#include "runtime/io/Npy.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <dlfcn.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

namespace spmd {
namespace {

/// libzip's functions, looked up by name.
struct ZipLibrary {
  void *handle = nullptr;
#define SPMD_ZIP_FUNCTIONS(apply)                                                                                      \
  apply(zip_open) apply(zip_discard) apply(zip_close) apply(zip_get_num_entries) apply(zip_get_name)                   \
      apply(zip_name_locate) apply(zip_stat_index) apply(zip_fopen_index) apply(zip_fread) apply(zip_fseek)            \
          apply(zip_fclose) apply(zip_strerror) apply(zip_file_strerror) apply(zip_error_init_with_code)               \
              apply(zip_error_strerror) apply(zip_error_fini) apply(zip_source_buffer) apply(zip_source_free)          \
                  apply(zip_file_add) apply(zip_set_file_compression) apply(zip_file_set_dostime) apply(zip_get_error) \
                      apply(zip_error_system_type) apply(zip_error_code_system)
#define SPMD_DECLARE(name) decltype(&::name) name = nullptr;
  SPMD_ZIP_FUNCTIONS(SPMD_DECLARE)
#undef SPMD_DECLARE

  ZipLibrary() {
    handle = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      handle = dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL);
    bool complete = handle != nullptr;
#define SPMD_LOOK_UP(name)                                                                                             \
  if (complete)                                                                                                        \
    complete = (name = reinterpret_cast<decltype(name)>(dlsym(handle, #name))) != nullptr;
    SPMD_ZIP_FUNCTIONS(SPMD_LOOK_UP)
#undef SPMD_LOOK_UP
    if (!complete)
      throw Error("reading and writing .npz needs libzip, which was not found; install it (Debian: apt install "
                  "libzip4) or use .npy or .safetensors files");
  }
};

/// Opened at the first use; an opened library stays for the life of the process.
const ZipLibrary &zipLibrary() {
  static const ZipLibrary library;
  return library;
}

Error archiveError(const std::string &path, const std::string &problem) {
  return Error("cannot read '" + path + "': " + problem);
}

/// An open archive; libzip's handles are not thread-safe.
struct Archive {
  explicit Archive(const std::string &path) : path(path), library(zipLibrary()) {
    MappedFile exists(path); // Throws the error for a missing file or a folder.
    int code = 0;
    zip = library.zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (!zip) {
      zip_error_t error;
      library.zip_error_init_with_code(&error, code);
      std::string reason = library.zip_error_strerror(&error);
      library.zip_error_fini(&error);
      throw archiveError(path, reason + "; is it a .npz file written by numpy.savez?");
    }
  }
  ~Archive() { library.zip_discard(zip); }
  Archive(const Archive &) = delete;
  Archive &operator=(const Archive &) = delete;

  std::string path;
  const ZipLibrary &library;
  zip_t *zip = nullptr;
  std::mutex mutex;
};

/// An uncompressed member: any part of it can be read.
class StoredMember final : public ByteSource {
public:
  StoredMember(std::shared_ptr<Archive> archive, zip_uint64_t index, std::string name)
      : archive(std::move(archive)), name(std::move(name)) {
    std::lock_guard lock(this->archive->mutex);
    file = this->archive->library.zip_fopen_index(this->archive->zip, index, 0);
    if (!file)
      throw archiveError(this->name, this->archive->library.zip_strerror(this->archive->zip));
  }
  ~StoredMember() override {
    std::lock_guard lock(archive->mutex);
    archive->library.zip_fclose(file);
  }

  void read(uint64_t offset, uint64_t size, void *target) override {
    std::lock_guard lock(archive->mutex);
    uint64_t absolute = begin + offset;
    if (absolute != position && archive->library.zip_fseek(file, static_cast<zip_int64_t>(absolute), SEEK_SET) != 0)
      throw archiveError(name, archive->library.zip_file_strerror(file));
    zip_int64_t got = archive->library.zip_fread(file, target, size);
    if (got < 0)
      throw archiveError(name, archive->library.zip_file_strerror(file));
    if (static_cast<uint64_t>(got) != size)
      throw archiveError(name, "it ends too early; save or copy it again");
    position = absolute + size;
  }

  void setBegin(uint64_t offset) { begin = offset; }

private:
  std::shared_ptr<Archive> archive;
  std::string name;
  zip_file_t *file = nullptr;
  uint64_t begin = 0, position = 0;
};

class UnpackedMember final : public ByteSource {
public:
  UnpackedMember(std::string bytes, uint64_t begin) : bytes(std::move(bytes)), begin(begin) {}
  void read(uint64_t offset, uint64_t size, void *target) override {
    std::memcpy(target, bytes.data() + begin + offset, size);
  }

private:
  std::string bytes;
  uint64_t begin;
};

/// Decompresses in blocks: memory grows with the bytes that exist, not with the size that the archive claims.
std::string unpack(StoredMember &member, uint64_t size) {
  constexpr uint64_t block = uint64_t(16) << 20;
  std::string bytes;
  while (bytes.size() < size) {
    uint64_t begin = bytes.size(), count = std::min(block, size - begin);
    bytes.resize(begin + count);
    member.read(begin, count, bytes.data() + begin);
  }
  return bytes;
}

class NpzArchive final : public ArrayArchive {
public:
  explicit NpzArchive(const std::string &path) : archive(std::make_shared<Archive>(path)) {
    zip_int64_t count = archive->library.zip_get_num_entries(archive->zip, 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const char *member = archive->library.zip_get_name(archive->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      std::string name = member ? member : "";
      if (name.ends_with(".npy"))
        name.resize(name.size() - 4);
      names.push_back(std::move(name));
    }
  }

  std::vector<std::string> getNames() const override { return names; }

  ArraySource open(const std::string &key) override {
    auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end())
      throw Error(missingKeyMessage(archive->path, key, names));
    auto index = static_cast<zip_uint64_t>(found - names.begin());
    std::string name = archive->path + "[" + key + "]";
    zip_stat_t stat;
    if (archive->library.zip_stat_index(archive->zip, index, 0, &stat) != 0)
      throw archiveError(name, archive->library.zip_strerror(archive->zip));
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_CRC;
    if ((stat.valid & needed) != needed)
      throw archiveError(name, "the archive does not have its size, its compression method, or its checksum");

    auto member = std::make_unique<StoredMember>(archive, index, name);
    if (stat.comp_method == ZIP_CM_STORE) {
      std::string header(std::min<uint64_t>(stat.size, 12), '\0');
      member->read(0, header.size(), header.data());
      uint64_t bytes =
          std::clamp<uint64_t>(npyHeaderBytes(header), header.size(), std::min(stat.size, kMaxNpyHeaderBytes));
      uint64_t start = header.size();
      header.resize(bytes);
      member->read(start, bytes - start, header.data() + start);
      NpyHeader parsed = parseNpyHeader(header, name);
      member->setBegin(parsed.dataOffset);
      ArraySource source(name, std::move(parsed.layout), std::move(member), stat.size - parsed.dataOffset);
      header.resize(parsed.dataOffset);
      source.setChecksum({stat.crc, stat.size, std::move(header)});
      return source;
    }
    std::string bytes = unpack(*member, stat.size);
    if (uint32_t found = crc32Of(bytes); found != stat.crc)
      throw checksumError(name, found, stat.crc);
    NpyHeader parsed = parseNpyHeader(bytes, name);
    uint64_t available = bytes.size() - parsed.dataOffset;
    return ArraySource(name, std::move(parsed.layout),
                       std::make_unique<UnpackedMember>(std::move(bytes), parsed.dataOffset), available);
  }

private:
  std::shared_ptr<Archive> archive;
  std::vector<std::string> names;
};

} // namespace

std::unique_ptr<ArrayArchive> openNpz(const std::string &path) { return std::make_unique<NpzArchive>(path); }

void writeNpz(const std::string &path, const std::vector<NamedArray> &arrays) {
  const ZipLibrary &library = zipLibrary();
  // libzip renames a temporary file of its own to this one, which is then synced and renamed in turn.
  std::string temporary = path + ".part" + std::to_string(getpid());
  auto fail = [&](const std::string &reason) {
    std::filesystem::remove(temporary);
    return Error("cannot write '" + path + "': " + reason);
  };
  auto reasonOf = [&](zip_error_t *error) -> std::string {
    if (library.zip_error_system_type(error) == ZIP_ET_SYS)
      return writeProblem(library.zip_error_code_system(error));
    return library.zip_error_strerror(error);
  };
  int code = 0;
  zip_t *zip = library.zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!zip) {
    zip_error_t error;
    library.zip_error_init_with_code(&error, code);
    std::string reason = reasonOf(&error);
    library.zip_error_fini(&error);
    throw fail(reason);
  }
  std::vector<std::string> members; // They must live until zip_close has read them.
  members.reserve(arrays.size());
  for (const NamedArray &array : arrays) {
    int64_t size = byteSize(array.dtype);
    for (int64_t extent : array.shape)
      size *= extent;
    std::string &bytes = members.emplace_back(npyHeaderText(array.dtype, array.shape, array.format));
    if (size > 0)
      bytes.append(static_cast<const char *>(array.data), static_cast<size_t>(size));
    zip_source_t *source = library.zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
    zip_int64_t index =
        source ? library.zip_file_add(zip, (array.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    bool ok = index >= 0 &&
              library.zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) == 0 &&
              // The earliest date of the format, so that the bytes do not depend on the time of writing.
              library.zip_file_set_dostime(zip, static_cast<zip_uint64_t>(index), 0, 0x21, 0) == 0;
    if (!ok) {
      std::string reason = reasonOf(library.zip_get_error(zip));
      if (source && index < 0)
        library.zip_source_free(source);
      library.zip_discard(zip);
      throw fail(reason);
    }
  }
  if (arrays.empty()) {
    library.zip_discard(zip);
    throw fail("there is no array to write");
  }
  if (library.zip_close(zip) != 0) {
    std::string reason = reasonOf(library.zip_get_error(zip));
    library.zip_discard(zip);
    throw fail(reason);
  }
  try {
    renameDurably(temporary, path);
  } catch (const Error &error) {
    std::filesystem::remove(temporary);
    throw;
  }
}

} // namespace spmd
