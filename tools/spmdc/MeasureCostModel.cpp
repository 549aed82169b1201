//===- MeasureCostModel.cpp - a cost model of the running devices ---------===//
//
// The measured programs are ordinary ones: each is a loop of one collective. Its time per iteration is that of the
// collective with all overheads of the runtime.
//
//===----------------------------------------------------------------------===//

#include "tools/spmdc/MeasureCostModel.h"

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/sharding/RingBytes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace spmdc {
namespace {

/// Bytes on each device.
constexpr std::array<int64_t, 4> kSizes = {4 << 10, 64 << 10, 1 << 20, 8 << 20};
constexpr int kRuns = 5;
/// A smaller overlap is measurement noise.
constexpr double kLeastOverlap = 0.1;

std::string meshText(const spmd::MeshShape &mesh) {
  std::string text = "mesh m(";
  for (const spmd::MeshAxis &axis : mesh.axes)
    text += (text.back() == '(' ? "" : ", ") + axis.name + "=" + std::to_string(axis.size);
  return text + ")\n";
}

/// `P((a, b))`.
std::string allAxes(const spmd::MeshShape &mesh) {
  std::string text = "P((";
  for (const spmd::MeshAxis &axis : mesh.axes)
    text += (text.back() == '(' ? "" : ", ") + axis.name;
  return text + "))";
}

/// The seconds of one iteration in each of kRuns runs, sorted. A first run, which compiles, is not measured.
std::vector<double> timeRuns(const std::string &source, int64_t iterations) {
  spmd::Function function = spmd::jit(source, {.file_name = "<measure>"});
  std::vector<double> seconds;
  for (int run = 0; run <= kRuns; ++run) {
    auto start = std::chrono::steady_clock::now();
    for (const spmd::Array &result : function())
      result.block_until_ready();
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (run > 0)
      seconds.push_back(elapsed.count() / static_cast<double>(iterations));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

/// The median seconds of one iteration.
double timeLoop(const std::string &source, int64_t iterations) { return timeRuns(source, iterations)[kRuns / 2]; }

/// A program with a loop over `body`, a function of a local array `x` of `count` elements that returns such an array.
/// The program returns one number, so that the cost of the call is negligible.
std::string loopOf(const spmd::MeshShape &mesh, const std::string &body, int64_t count, int64_t iterations) {
  std::string p = allAxes(mesh);
  return meshText(mesh) + "fn body(x) { return " + body + "; }\n" + "fn main() {\n  let start = shard(zeros([" +
         std::to_string(count * mesh.deviceCount()) + "]), " + p + ");\n  let end = for i in 0.." +
         std::to_string(iterations) + " carry (x = start) { yield shard_map(body, in=" + p + ", out=" + p +
         ")(x); };\n  return end[0];\n}\n";
}

/// `(0, 1), (1, 2), (2, 0)`: each device sends to the next.
std::string ringPairs(int64_t size) {
  std::string pairs;
  for (int64_t i = 0; i < size; ++i)
    pairs += (i ? ", (" : "(") + std::to_string(i) + ", " + std::to_string((i + 1) % size) + ")";
  return pairs;
}

/// Measures the fraction of a transfer that overlaps with computation: times a permute of 4 MiB, a matrix product, and
/// both in one loop, independent of each other. Takes the shortest of the runs, because other load on the machine can
/// make the overlap look smaller or larger.
double measureOverlap(const spmd::MeshShape &mesh, const spmd::MeshAxis &axis) {
  constexpr int64_t count = 1 << 20, size = 512, iterations = 20;
  std::string p = allAxes(mesh);
  auto time = [&](bool isMoved, bool isMultiplied) {
    auto start = [&](int64_t elements) {
      return "shard(zeros([" + std::to_string(elements * mesh.deviceCount()) + "]), " + p + ")";
    };
    auto mapped = [&](const char *function, const char *value, bool isUsed) {
      return isUsed ? "shard_map(" + std::string(function) + ", in=" + p + ", out=" + p + ")(" + value + ")"
                    : std::string(value);
    };
    return timeRuns(meshText(mesh) + "fn move(x) { return ppermute(x, " + axis.name + ", [" + ringPairs(axis.size) +
                        "]); }\nfn multiply(y) { return reshape(reshape(y, [512, 512]) @ full(f32[512, 512], 0.001), "
                        "[512 * 512]); }\nfn main() {\n  let (u, v) = for i in 0.." +
                        std::to_string(iterations) + " carry (x = " + start(count) + ", y = " + start(size * size) +
                        ") { yield (" + mapped("move", "x", isMoved) + ", " + mapped("multiply", "y", isMultiplied) +
                        "); };\n  return (u[0], v[0]);\n}\n",
                    iterations)
        .front();
  };
  double transfer = time(true, false), product = time(false, true), both = time(true, true);
  double overlap = std::clamp((transfer + product - both) / std::min(transfer, product), 0.0, 1.0);
  return overlap < kLeastOverlap ? 0 : std::round(overlap * 100) / 100;
}

LinkRates measureAxis(const spmd::MeshShape &mesh, const spmd::MeshAxis &axis) {
  std::vector<CostModel::Sample> samples;
  auto group = static_cast<double>(axis.size);
  for (int64_t bytes : kSizes) {
    int64_t iterations = std::clamp<int64_t>((8 << 20) / bytes, 4, 200);
    // A multiple of the group size, so that all_to_all splits it evenly.
    int64_t count = bytes / 4 / axis.size * axis.size;
    auto sent = static_cast<double>(count * 4);
    auto add = [&](const char *collective, const std::string &body, double wireBytes) {
      double seconds = timeLoop(loopOf(mesh, body, count, iterations), iterations);
      samples.push_back({CostModel::stepsOf(collective), wireBytes, seconds});
    };
    add("all_reduce", "pmax(x, " + axis.name + ")", spmd::allReduceBytes(group, sent));
    add("all_to_all", "all_to_all(x, " + axis.name + ", split_axis=0, concat_axis=0, tiled=true)",
        spmd::gatherBytes(group, sent));
    add("collective_permute", "ppermute(x, " + axis.name + ", [" + ringPairs(axis.size) + "])", sent);
  }
  LinkRates rates = CostModel::fit(samples);
  rates.overlap = measureOverlap(mesh, axis);
  return rates;
}

double measureFlops(const spmd::MeshShape &mesh) {
  constexpr int64_t size = 512, iterations = 20;
  std::string body = "reshape(reshape(x, [512, 512]) @ full(f32[512, 512], 0.001), [512 * 512])";
  return 2.0 * size * size * size / timeLoop(loopOf(mesh, body, size * size, iterations), iterations);
}

double measureMemory(const spmd::MeshShape &mesh) {
  constexpr int64_t count = 2 << 20, iterations = 10;
  // Each element is read once and written once.
  return 2.0 * 4 * count / timeLoop(loopOf(mesh, "x * 0.5 + 1.0", count, iterations), iterations);
}

/// Rounds to three significant digits, about the accuracy of the measurement.
double rounded(double value) {
  double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1e-3))) - 2);
  return std::round(value / unit) * unit;
}

LinkRates rounded(LinkRates rates) {
  rates.latencyMicroseconds = std::round(rates.latencyMicroseconds * 1e3) / 1e3;
  rates.bytesPerSecond = rounded(rates.bytesPerSecond);
  return rates;
}

} // namespace

CostModel measureCostModel(const spmd::MeshShape &mesh) {
  CostModel model;
  spmd::MeshShape whole = mesh;
  bool isNamed = !mesh.axes.empty();
  if (!isNamed)
    whole.axes = {{"devices", spmd::device_count()}};
  std::optional<LinkRates> slowest;
  for (const spmd::MeshAxis &axis : whole.axes) {
    if (axis.size == 1)
      continue;
    LinkRates rates = rounded(measureAxis(whole, axis));
    if (isNamed)
      model.axes[axis.name] = rates;
    slowest = slowest ? slowest->with(rates) : rates;
  }
  model.link = slowest.value_or(model.link);
  model.flopsPerSecond = rounded(measureFlops(whole));
  model.memoryPerSecond = rounded(measureMemory(whole));
  return model;
}

} // namespace spmdc
