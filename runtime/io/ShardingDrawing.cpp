//===- ShardingDrawing.cpp - the box drawing of a sharding ----------------===//
//
// Sizes of the boxes are those of jax.debug.visualize_sharding: a square array is 10 lines high and 25 columns wide, a
// block gets its fraction of that, and no box is narrower than 9.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/ShardingDrawing.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <map>
#include <set>

namespace spmd {
namespace {

constexpr int64_t kBaseHeight = 10;
constexpr double kHeightToWidth = 2.5;
constexpr int64_t kMinWidth = 9, kMaxWidth = 80;

struct Box {
  std::set<int64_t> devices;
  int64_t rows = 0, columns = 0; ///< Size of the block, in elements.
};

std::string entryOf(const Box &box, const std::string &platform) {
  std::string text = platform + " ", separator;
  for (int64_t device : box.devices) {
    text += separator + std::to_string(device);
    separator = ",";
  }
  return text;
}

std::string repeated(const std::string &text, int64_t count) {
  std::string result;
  for (int64_t i = 0; i < count; ++i)
    result += text;
  return result;
}

/// Centres a text in a column, with the odd space on the right.
std::string centred(const std::string &text, int64_t width) {
  int64_t space = width - static_cast<int64_t>(text.size());
  return std::string(space / 2, ' ') + text + std::string(space - space / 2, ' ');
}

/// Returns the width or height of a box as JAX pads its text.
int64_t paddedWidth(int64_t wanted, int64_t text) {
  int64_t space = std::clamp(wanted, kMinWidth, kMaxWidth) - text - 2;
  return text + std::max<int64_t>(space, 0);
}
int64_t paddedHeight(int64_t wanted) { return 1 + std::max<int64_t>(wanted - 2, 0); }

} // namespace

std::string drawSharding(const MeshShape &mesh, const std::vector<int64_t> &devices, const std::vector<int64_t> &shape,
                         const Sharding &sharding, const std::string &platform) {
  if (shape.empty() || shape.size() > 2)
    throw Error("an array of " + std::to_string(shape.size()) +
                " dimensions cannot be drawn; draw one of one or two dimensions");
  // Blocks by (row, column) of their first element; an array of one dimension is one row of blocks.
  std::map<std::pair<int64_t, int64_t>, Box> boxes;
  std::set<int64_t> empty, rowStarts, columnStarts;
  for (int64_t position = 0; position < static_cast<int64_t>(devices.size()); ++position) {
    std::vector<ShardRange> ranges = ownedRanges(mesh, shape, sharding, position);
    if (ranges.size() == 1)
      ranges.insert(ranges.begin(), ShardRange{0, 1});
    if (ranges[0].size == 0 || ranges[1].size == 0) {
      empty.insert(devices[position]);
      continue;
    }
    Box &box = boxes[{ranges[0].start, ranges[1].start}];
    box.devices.insert(devices[position]);
    box.rows = ranges[0].size;
    box.columns = ranges[1].size;
    rowStarts.insert(ranges[0].start);
    columnStarts.insert(ranges[1].start);
  }

  double rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape.back());
  bool isMatrix = shape.size() == 2;
  auto baseWidth = static_cast<int64_t>(kBaseHeight * (isMatrix ? columns / rows : 1 / rows));
  auto widthOf = [&](const Box &box) {
    double share = static_cast<double>(box.columns) / columns * static_cast<double>(baseWidth);
    auto wanted = static_cast<int64_t>(isMatrix ? share * kHeightToWidth : share);
    return paddedWidth(wanted, static_cast<int64_t>(entryOf(box, platform).size()));
  };
  auto heightOf = [&](const Box &box) {
    return isMatrix ? paddedHeight(static_cast<int64_t>(static_cast<double>(box.rows) / rows * kBaseHeight)) : 1;
  };
  std::map<int64_t, int64_t> widths, heights;
  for (const auto &[place, box] : boxes) {
    widths[place.second] = std::max(widths[place.second], widthOf(box));
    heights[place.first] = std::max(heights[place.first], heightOf(box));
  }

  auto rule = [&](const char *left, const char *middle, const char *right) {
    std::string line = left, separator;
    for (int64_t column : columnStarts) {
      line += separator + repeated("─", widths[column]);
      separator = middle;
    }
    return line + right + "\n";
  };
  std::string text;
  for (int64_t row : rowStarts) {
    text += text.empty() ? rule("┌", "┬", "┐") : rule("├", "┼", "┤");
    int64_t textLine = (heights[row] - 1) / 2;
    for (int64_t line = 0; line < heights[row]; ++line) {
      for (int64_t column : columnStarts) {
        auto box = boxes.find({row, column});
        bool hasText = line == textLine && box != boxes.end();
        text += "│" + centred(hasText ? entryOf(box->second, platform) : "", widths[column]);
      }
      text += "│\n";
    }
  }
  if (!boxes.empty())
    text += rule("└", "┴", "┘");
  if (!empty.empty())
    text += "empty: " + entryOf(Box{empty, 0, 0}, platform) + "\n";
  return text;
}

} // namespace spmd
