//===- IndexOperations.cpp - x[...] ---------------------------------------===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

namespace {

/// Returns a slice in Python's syntax, and the number of elements that it takes.
std::string sliceText(ProgramBuilder &b, int64_t size, int64_t &count) {
  int64_t step = b.random.pick({1, 1, 1, 1, 2, 3, -1, -2});
  // Bounds that count from the end, and bounds out of range, which are clipped.
  auto bound = [&](int64_t &value) -> std::string {
    if (b.random.chance(30))
      return "";
    value = b.random.integer(-1, size + 1);
    int64_t written = value < size && value >= 0 && b.random.chance(30) ? value - size : std::max<int64_t>(value, 0);
    value = std::max<int64_t>(value, 0);
    return std::to_string(written);
  };
  int64_t low = step > 0 ? 0 : size - 1, high = step > 0 ? size : -1;
  std::string text = bound(low) + ":";
  text += bound(high);
  if (step != 1)
    text += ":" + std::to_string(step);
  if (step > 0) {
    low = std::min(low, size);
    high = std::min(high, size);
    count = high > low ? (high - low + step - 1) / step : 0;
  } else {
    low = std::min(low, size - 1);
    high = std::min(high, size - 1);
    count = low > high ? (low - high - step - 1) / -step : 0;
  }
  return text;
}

bool makeIndex(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return b.rankOf(v) > 0; });
  if (!x)
    return false;
  Shape shape;
  std::string text;
  int64_t rank = b.rankOf(*x), hidden = b.random.chance(15) ? b.random.integer(0, rank) : rank;
  auto add = [&](const std::string &item) { text += (text.empty() ? "" : ", ") + item; };
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = b.shapeOf(*x)[dim];
    if (dim == hidden) { // `...` replaces the others.
      add("...");
      shape.append(b.shapeOf(*x).begin() + dim, b.shapeOf(*x).end());
      break;
    }
    if (shape.size() < 4 && b.random.chance(10)) {
      add("None");
      shape.push_back(1);
    }
    if (size > 0 && b.random.chance(25)) {
      add(std::to_string(b.random.integer(-size, size - 1)));
    } else if (b.random.chance(35)) {
      add(":");
      shape.push_back(size);
    } else {
      int64_t count = 0;
      std::string slice = sliceText(b, size, count);
      // Empty arrays make empty programs: few are enough.
      if (count == 0 && size > 0 && b.random.chance(90)) {
        slice = ":";
        count = size;
      }
      add(slice);
      shape.push_back(count);
    }
  }
  return b.let("$0[" + text + "]", {*x}, b.dtypeOf(*x), shape, b.of(*x)).has_value();
}

} // namespace

std::vector<Operation> indexOperations() { return {{"index", 14, makeIndex}}; }

} // namespace spmdc
