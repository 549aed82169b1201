//===- LinkObject.cpp - an object file to a shared object -----------------===//
//
// lld reads and writes files by name; memfds and pipes have one, /proc/self/fd/N.
//
// The kernels may call libm (functions of f64). The shared object must then name libm as a dependency, or a process
// that has not loaded libm could not open it. The machine that links may have no libm to link with: it suffices that
// the linker finds a shared object named libm.so.6 that defines the missing symbols.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/LinkObject.h"

#include "runtime/support/BackgroundThread.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace spmdc {
namespace {

/// A file in memory, with a name that lld can open.
class MemoryFile {
public:
  explicit MemoryFile(llvm::StringRef contents = {}) : fd(memfd_create("spmdc", MFD_CLOEXEC)) {
    size_t written = 0;
    while (fd >= 0 && written < contents.size()) {
      ssize_t count = ::write(fd, contents.data() + written, contents.size() - written);
      if (count <= 0)
        break;
      written += static_cast<size_t>(count);
    }
    if (fd < 0 || written < contents.size())
      problem = spmd::writeProblem(errno);
  }
  ~MemoryFile() {
    if (fd >= 0)
      ::close(fd);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  /// Why the file could not be created; empty on success.
  const std::string &getProblem() const { return problem; }
  std::string getPath() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd = -1;
  std::string problem;
};

/// The linker's output: a pipe that a thread reads. lld replaces a regular file by renaming another file over it, which
/// an unnamed file does not support; to a pipe it writes directly.
class OutputPipe {
public:
  /// Throws spmd::Error if the system refuses a pipe or a thread.
  OutputPipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw spmd::Error(std::string("cannot create a pipe for the linker's output: ") + std::strerror(errno));
    readEnd = spmd::UniqueFd(ends[0]);
    writeEnd = spmd::UniqueFd(ends[1]);
    reader = spmd::BackgroundThread("spmd-link", [this] {
      char chunk[1 << 16];
      for (ssize_t count; (count = ::read(readEnd.get(), chunk, sizeof chunk)) > 0;)
        contents.append(chunk, static_cast<size_t>(count));
    });
  }
  ~OutputPipe() { writeEnd.reset(); } // End of file ends the thread.
  OutputPipe(const OutputPipe &) = delete;
  OutputPipe &operator=(const OutputPipe &) = delete;

  std::string getPath() const { return "/proc/self/fd/" + std::to_string(writeEnd.get()); }
  /// Closes the pipe and returns all that was written.
  std::string finish() {
    writeEnd.reset();
    reader.join();
    return std::move(contents);
  }

private:
  spmd::UniqueFd readEnd, writeEnd;
  std::string contents;
  spmd::BackgroundThread reader;
};

/// Runs the linker; on failure `errors` holds its messages.
std::string link(std::vector<std::string> inputs, std::vector<std::string> options, std::string &errors) {
  // The linker keeps its state in global variables.
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  std::optional<OutputPipe> output;
  try {
    output.emplace();
  } catch (const spmd::Error &error) {
    errors = error.what();
    return {};
  }
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--threads=1",
                                        "--no-mmap-output-file",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "-z",
                                        "now",
                                        "--gc-sections",
                                        "-O1",
                                        "--allow-shlib-undefined",
                                        "-o",
                                        output->getPath()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string out;
  llvm::raw_string_ostream outStream(out), errorStream(errors);
  lld::Result result = lld::lldMain(pointers, outStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0)
    errors.clear();
  return result.retCode == 0 ? output->finish() : std::string();
}

/// Adds the names that the object uses and does not define.
llvm::Error addUndefinedSymbols(llvm::StringRef object, std::set<std::string> &names) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernels"));
  if (!file)
    return file.takeError();
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags)
      return flags.takeError();
    if (!name)
      return name.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty())
      names.insert(name->str());
  }
  return llvm::Error::success();
}

} // namespace

mlir::FailureOr<std::string> linkSharedObject(llvm::ArrayRef<std::string> objects, mlir::Location loc) {
  auto fail = [&](const llvm::Twine &message) -> mlir::FailureOr<std::string> {
    mlir::emitError(loc) << "cannot link the kernels: " << message;
    return mlir::failure();
  };
  std::set<std::string> missing;
  std::deque<MemoryFile> files;
  std::vector<std::string> inputs;
  for (const std::string &object : objects) {
    if (llvm::Error error = addUndefinedSymbols(object, missing))
      return fail(llvm::toString(std::move(error)));
    if (const std::string &problem = files.emplace_back(object).getProblem(); !problem.empty())
      return fail("cannot create a memory file for the object file: " + problem);
    inputs.push_back(files.back().getPath());
  }
  std::string errors;
  std::optional<MemoryFile> library;
  if (!missing.empty()) {
    // The linker needs an input: a byte of data.
    MemoryFile nothing("0");
    std::vector<std::string> options = {"-soname=libm.so.6", "-m", "elf_x86_64", "--format=binary"};
    for (const std::string &name : missing)
      options.push_back("--defsym=" + name + "=0");
    std::string stub = link({nothing.getPath()}, options, errors);
    if (stub.empty())
      return fail(errors);
    library.emplace(stub);
    if (const std::string &problem = library->getProblem(); !problem.empty())
      return fail("cannot create a memory file for the linker's input: " + problem);
    inputs.push_back(library->getPath());
  }
  std::string shared = link(inputs, {}, errors);
  if (shared.empty())
    return fail(errors);
  return shared;
}

} // namespace spmdc
