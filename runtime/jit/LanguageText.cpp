//===- LanguageText.cpp - C++ values as text of the language --------------===//

#include "runtime/jit/LanguageText.h"

#include "runtime/api/Layout.h"
#include "runtime/support/Error.h"

#include <array>
#include <charconv>
#include <cmath>

namespace spmd {
namespace {

/// The axes of one dimension, `_` for none.
std::string dimText(const std::vector<std::string> &axes) {
  if (axes.empty())
    return "_";
  if (axes.size() == 1)
    return axes[0];
  std::string text = "(";
  for (size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", " : "") + axes[i];
  return text + ")";
}

} // namespace

std::string numberText(double number) {
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number < 0 ? "(-inf)" : "inf";
  std::array<char, 64> buffer;
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return std::signbit(number) ? "(" + text + ")" : text;
}

std::string partitionText(const P &spec) {
  std::string text = "P(";
  for (size_t i = 0; i < spec.dim_specs().size(); ++i)
    text += (i ? ", " : "") + dimText(spec.dim_specs()[i].axes());
  return text + ")";
}

std::string openTypeText(DType dtype, const std::vector<int64_t> &shape) {
  std::string text = std::string(dtypeName(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + "]";
}

std::string shardedTypeText(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding) {
  Sharding layout = shardingOf(sharding.spec(), shape.size());
  std::string text = std::string(dtypeName(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::string> axes;
    for (const AxisRef &axis : layout.dims[d]) {
      if (!axis.isFullAxis())
        throw Error("an array is sharded as " + sharding.str() +
                        ", over a part of an axis, for which the language has no syntax; "
                        "pass device_put(array, NamedSharding(mesh, ...)) with whole axes",
                    Error::Kind::Usage);
      axes.push_back(axis.name);
    }
    text += (d ? ", " : "") + std::to_string(shape[d]) + "@" + dimText(axes);
  }
  return text + "]";
}

std::string meshText(const Mesh &mesh) {
  if (mesh.axis_names().empty())
    return "";
  std::string text = "mesh m(";
  for (size_t i = 0; i < mesh.axis_names().size(); ++i)
    text += (i ? ", " : "") + mesh.axis_names()[i] + "=" + std::to_string(mesh.axis_sizes()[i]);
  return text + ")\n";
}

std::string placeText(const std::source_location &where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + ":" + std::to_string(where.column());
}

} // namespace spmd
