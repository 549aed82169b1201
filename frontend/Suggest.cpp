//===- Suggest.cpp - the name that was probably meant ---------------------===//

#include "frontend/Suggest.h"

#include <algorithm>
#include <utility>

namespace spmdc {

namespace {

/// Insertions, deletions, replacements and swaps of neighbours count one each.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforePrevious, previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], beforePrevious[j - 2] + 1);
    }
    beforePrevious = previous;
    std::swap(previous, current);
  }
  return previous[b.size()];
}

/// What NumPy, JAX and Python call it, and its name here.
constexpr std::pair<std::string_view, std::string_view> foreignNames[] = {
    {"float64", "f64"},
    {"float32", "f32"},
    {"float", "f32"},
    {"float16", "f16"},
    {"bfloat16", "bf16"},
    {"int64", "i64"},
    {"int32", "i32"},
    {"int", "i32"},
    {"int8", "i8"},
    {"uint32", "u32"},
    {"uint8", "u8"},
    {"bool_", "bool"},
    {"astype", "cast"},
    {"clip", "clamp"},
    {"select", "where"},
    {"erfinv", "erf_inv"},
    {"arcsin", "asin"},
    {"arccos", "acos"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"isnan", "is_nan"},
    {"isfinite", "is_finite"},
    {"logistic", "sigmoid"},
    {"concat", "concatenate"},
    {"PRNGKey", "key"},
    {"argnums", "wrt"},
    {"in_specs", "in"},
    {"out_specs", "out"},
    {"True", "true"},
    {"False", "false"},
    {"with_sharding_constraint", "shard"},
    {"dim", "axis"},
    {"swish", "silu"},
    {"permute", "transpose"},
    {"remat", "checkpoint"},
};

} // namespace

std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates) {
  for (auto [foreign, own] : foreignNames)
    if (name == foreign && std::find(candidates.begin(), candidates.end(), own) != candidates.end())
      return own;
  size_t limit = std::clamp<size_t>(name.size() / 3, 1, 3);
  std::string_view best;
  for (std::string_view candidate : candidates) {
    // Names of one letter are all near to one another: that says nothing.
    if (name.size() < 2 || candidate.size() > name.size() + limit || name.size() > candidate.size() + limit)
      continue;
    size_t distance = editDistance(name, candidate);
    if (distance > limit || (!best.empty() && distance >= editDistance(name, best)))
      continue;
    best = candidate;
  }
  return best;
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view best = nearestName(name, candidates);
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

} // namespace spmdc
