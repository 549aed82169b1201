#include "runtime/coordinator/OutputPrefixer.h"

#include "runtime/coordinator/OutputThread.h"

namespace spmd::coordinator {

constexpr size_t maxLine = 65536;

void OutputPrefixer::flush(std::string_view piece) {
  target.add((atLineStart ? prefix : "") + std::string(piece));
  atLineStart = piece.back() == '\n';
}

void OutputPrefixer::add(std::string_view bytes) {
  for (;;) {
    size_t end = bytes.find('\n');
    if (end == std::string_view::npos)
      break;
    line += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    flush(line);
    line.clear();
  }
  line += bytes;
  if (line.size() >= maxLine) {
    flush(line);
    line.clear();
  }
}

void OutputPrefixer::finish() {
  if (!line.empty())
    flush(line + "\n");
  else if (!atLineStart)
    flush("\n");
  line.clear();
}

} // namespace spmd::coordinator
