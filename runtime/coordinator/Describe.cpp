#include "runtime/coordinator/Describe.h"

namespace spmd::coordinator {

std::string describeProcesses(const std::vector<int32_t> &ids) {
  std::vector<std::string> ranges;
  for (size_t begin = 0; begin != ids.size();) {
    size_t end = begin + 1;
    while (end != ids.size() && ids[end] == ids[end - 1] + 1)
      ++end;
    if (end - begin >= 3)
      ranges.push_back(std::to_string(ids[begin]) + "-" + std::to_string(ids[end - 1]));
    else
      for (size_t i = begin; i != end; ++i)
        ranges.push_back(std::to_string(ids[i]));
    begin = end;
  }
  std::string text = ids.size() == 1 ? "process " : "processes ";
  for (size_t i = 0; i != ranges.size(); ++i) {
    if (i != 0)
      text += i + 1 == ranges.size() ? " and " : ", ";
    text += ranges[i];
  }
  return text;
}

std::string formatSeconds(int64_t milliseconds) {
  int64_t tenths = (milliseconds + 50) / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0)
    text += "." + std::to_string(tenths % 10);
  return text + " s";
}

} // namespace spmd::coordinator
