//===- Bytes.h - reading bytes that may be damaged --------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>

namespace spmdc::stablehlo::portable {

/// Why bytes cannot be read. The first cause is kept, so that readers may go on after it with zeros.
class ReadFailure {
public:
  bool has() const { return !text.empty(); }
  void set(const llvm::Twine &cause) {
    if (text.empty())
      text = cause.str();
  }
  /// `part` is the damaged part of the file, in one word.
  void setDamaged(llvm::StringRef part) { set("its bytes are damaged (" + part + ")"); }
  /// The text would be longer than a source may be.
  void setTooLong() { set("its text is longer than 64 MiB, the limit of a program's size"); }
  const std::string &cause() const { return text; }

private:
  std::string text;
};

/// A position in bytes of MLIR's bytecode, and the end of what may be read. Behind the end every number is 0 and every
/// text empty, and the failure is set: a loop over a count that `count` has checked ends.
class Cursor {
public:
  /// `file` is the begin of the file, from which alignments are counted. `part` names the bytes in messages.
  Cursor(llvm::StringRef bytes, const char *file, llvm::StringRef part, ReadFailure &failure)
      : failure(failure), rest(bytes), file(file), part(part) {}
  /// A part of the same file.
  Cursor(llvm::StringRef bytes, const Cursor &of) : Cursor(bytes, of.file, of.part, of.failure) {}

  bool hasFailed() const { return failure.has(); }
  void fail() { failure.setDamaged(part); }
  bool isAtEnd() const { return rest.empty() || failure.has(); }
  size_t left() const { return rest.size(); }

  uint8_t byte();
  llvm::StringRef take(uint64_t size);
  /// Up to a null byte, which is skipped.
  llvm::StringRef takeTerminated();

  /// A number of one to nine bytes: the zero bits at the end of the first byte count the others.
  uint64_t number();
  /// A number whose lowest bit is a flag.
  uint64_t numberWithFlag(bool &flag);
  /// A number whose lowest bit is its sign.
  int64_t signedNumber();
  /// A number of elements that have at least one byte each.
  uint64_t count();

  struct Section {
    unsigned id = 0;
    llvm::StringRef bytes;
  };
  /// The next section: its kind, length, alignment and bytes.
  Section section();

  ReadFailure &failure;

private:
  llvm::StringRef rest;
  const char *file;
  llvm::StringRef part;
};

} // namespace spmdc::stablehlo::portable
