//===- OutputPrefixer.h - prefixes lines of output --------------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace spmd::coordinator {

class OutputThread;

/// Splits one stream of a child into lines, and writes each with its prefix, in one write if possible. A line longer
/// than 64 KiB is written in several chunks, the first of which has the prefix.
class OutputPrefixer {
public:
  OutputPrefixer(std::string prefix, OutputThread &target) : prefix(std::move(prefix)), target(target) {}

  void add(std::string_view bytes);
  /// The stream has ended: an incomplete last line gets a line end.
  void finish();
  const OutputThread &getTarget() const { return target; }

private:
  void flush(std::string_view piece);

  std::string prefix;
  OutputThread &target;
  std::string line;
  bool atLineStart = true;
};

} // namespace spmd::coordinator
