//===- DrawHelper.cpp - random arrays -------------------------------------===//

#include "tests/runtime/device/cuda/DrawHelper.h"

#include "runtime/support/Elements.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace spmd::cuda {
namespace {

template <typename Draw> std::vector<char> drawWith(DType dtype, int64_t count, const Draw &draw) {
  std::vector<char> bytes(count * byteSize(dtype));
  visitElement(dtype, [&](auto element) {
    using Stored = typename decltype(element)::Stored;
    for (int64_t i = 0; i < count; ++i) {
      Stored stored = draw(element);
      std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
    }
  });
  return bytes;
}

} // namespace

std::vector<char> drawElements(std::mt19937 &random, DType dtype, int64_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  const double specials[] = {0.0, -0.0, kInfinity, -kInfinity, kNan, -kNan, 1.0, -1.0};
  bool hasTies = random() % 2;
  return drawWith(dtype, count, [&](auto element) -> typename decltype(element)::Stored {
    using Stored = typename decltype(element)::Stored;
    if (dtype == DType::Bool)
      return static_cast<Stored>(random() % 2);
    if (isFloat(dtype)) {
      double value = random() % 4 == 0 ? specials[random() % 8]
                     : hasTies         ? static_cast<double>(random() % 7) - 3
                               : std::ldexp(static_cast<double>(random()) - 2e9, static_cast<int>(random() % 60) - 60);
      return element.store(value);
    }
    uint64_t bits = hasTies ? random() % 5 - 2 : static_cast<uint64_t>(random()) << 32 | random();
    return static_cast<Stored>(bits);
  });
}

std::vector<char> drawNumbers(std::mt19937 &random, DType dtype, int64_t count) {
  return drawWith(dtype, count, [&](auto element) -> typename decltype(element)::Stored {
    if (isFloat(dtype))
      return element.store((static_cast<double>(random()) - 2e9) * std::ldexp(1e-9, static_cast<int>(random() % 12)));
    return element.store(dtype == DType::Bool ? random() % 3 == 0 : static_cast<int64_t>(random()) * 3);
  });
}

std::vector<char> drawSmall(std::mt19937 &random, DType dtype, int64_t count) {
  return drawWith(dtype, count, [&](auto element) -> typename decltype(element)::Stored {
    if (dtype == DType::Bool)
      return element.store(random() % 8 == 0);
    return element.store(isFloat(dtype) ? static_cast<int64_t>(random() % 9) - 4
                                        : static_cast<int64_t>(random()) << random() % 32);
  });
}

std::vector<char> makeIndices(DType dtype, const std::vector<int64_t> &values) {
  std::vector<char> bytes(values.size() * byteSize(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + i * byteSize(dtype), &values[i], byteSize(dtype));
  return bytes;
}

std::vector<char> drawIndices(std::mt19937 &random, DType dtype, int64_t count, int64_t rows, int64_t spread) {
  std::vector<int64_t> values(count);
  for (int64_t &value : values) {
    uint32_t kind = random() % 16;
    value = kind == 0   ? -1
            : kind == 1 ? rows
            : kind == 2
                ? (dtype == DType::I64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min())
            : kind < 5 ? static_cast<int64_t>(random() % rows)
                       : static_cast<int64_t>(random() % std::min(spread, rows));
  }
  return makeIndices(dtype, values);
}

} // namespace spmd::cuda
