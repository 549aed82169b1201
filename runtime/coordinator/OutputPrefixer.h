//===- OutputPrefixer.h - whole lines of many children ----------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace spmd::coordinator {

class OutputThread;

/// Cuts one stream of a child into lines and writes each, prefix included, with one write where that is possible.
/// A line longer than 64 KiB is passed on in pieces, the first of which has the prefix.
class OutputPrefixer {
public:
  OutputPrefixer(std::string prefix, OutputThread &target) : prefix(std::move(prefix)), target(target) {}

  void add(std::string_view bytes);
  /// The stream has ended: what is left of a last line gets its line end.
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
