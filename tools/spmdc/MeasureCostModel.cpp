//===- MeasureCostModel.cpp - a cost model of the running devices ---------===//
//
// The measured programs are ordinary ones: each is a loop of one collective, product or element-wise function. Its time
// per iteration has all overheads of the runtime. Sizes grow until they take long enough on these devices, so that the
// same programs measure a core of a CPU and a GPU that is a thousand times faster.
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

/// Bytes on each device of a collective: from what latency alone decides to what takes kLongTransfer.
constexpr std::array<int64_t, 6> kTransferBytes = {4 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20};
constexpr double kLongTransfer = 2e-3;
/// Rows and columns of the factors of a product; the first that takes kLongProduct is measured. A GPU has its full rate
/// from about 4096 on.
constexpr std::array<int64_t, 7> kProductSizes = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr double kLongProduct = 1e-3;
/// Elements of an array of f32 that is read and written: one that takes kLongCopy is larger than any cache.
constexpr std::array<int64_t, 3> kArraySizes = {2 << 20, 16 << 20, 128 << 20};
constexpr double kLongCopy = 1e-3;
constexpr int kRuns = 5;
/// A loop of many iterations is measured, so that the time of a call does not count.
constexpr double kLoopSeconds = 0.05;
constexpr int64_t kLeastIterations = 4, kMostIterations = 200;
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

/// `cuda` for jobs of GPUs.
std::string platformOfJob() { return spmd::devices().front().platform; }

/// Returns the seconds of one iteration in each of so many runs, sorted. A first run, which compiles, is not measured.
std::vector<double> timeRuns(const std::string &source, int64_t iterations, int runs = kRuns) {
  spmd::JitOptions options{.file_name = "<measure>"};
  if (platformOfJob() == "cuda")
    options.target = "cuda";
  spmd::Function function = spmd::jit(source, options);
  std::vector<double> seconds;
  for (int run = 0; run <= runs; ++run) {
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

/// Returns the longest time of all processes, because all must decide alike what to measure next.
double agreeOn(double seconds) {
  int64_t count = spmd::device_count();
  spmd::NamedSharding sharding(spmd::Mesh({count}, {"d"}, spmd::devices()), spmd::P("d"));
  std::vector<float> all =
      spmd::process_allgather(spmd::make_array_from_callback<float>({count}, sharding, [&](const spmd::Index &index) {
        auto own = index[0].stop - index[0].start;
        return std::vector<float>(static_cast<size_t>(own), static_cast<float>(seconds));
      })).to_host<float>();
  return *std::max_element(all.begin(), all.end());
}

/// A function of a local array `x` of `count` elements that returns such an array.
struct Body {
  std::string text;
  std::string type = "f32"; ///< Of the elements.
};

/// A program with a loop over `body`. It returns one number, so that the time of a call is negligible.
std::string loopOf(const spmd::MeshShape &mesh, const Body &body, int64_t count, int64_t iterations) {
  std::string p = allAxes(mesh);
  return meshText(mesh) + "fn body(x) { return " + body.text + "; }\n" + "fn main() {\n  let start = shard(zeros(" +
         body.type + "[" + std::to_string(count * mesh.deviceCount()) + "]), " + p + ");\n  let end = for i in 0.." +
         std::to_string(iterations) + " carry (x = start) { yield shard_map(body, in=" + p + ", out=" + p +
         ")(x); };\n  return end[0];\n}\n";
}

/// Returns the median seconds of one iteration of a loop that takes about kLoopSeconds.
double timeLoop(const spmd::MeshShape &mesh, const Body &body, int64_t count) {
  double guess = agreeOn(timeRuns(loopOf(mesh, body, count, kLeastIterations), kLeastIterations, 1).front());
  int64_t iterations = std::clamp(static_cast<int64_t>(kLoopSeconds / guess), kLeastIterations, kMostIterations);
  return timeRuns(loopOf(mesh, body, count, iterations), iterations)[kRuns / 2];
}

/// `(0, 1), (1, 2), (2, 0)`: each device sends to the next.
std::string ringPairs(int64_t size) {
  std::string pairs;
  for (int64_t i = 0; i < size; ++i)
    pairs += (i ? ", (" : "(") + std::to_string(i) + ", " + std::to_string((i + 1) % size) + ")";
  return pairs;
}

/// The largest product and transfer that were measured.
struct Sizes {
  int64_t product = 0, transferBytes = 0;
};

/// The product of an array of size * size elements, and the type that it has: the one whose rate models are written
/// for.
Body productOf(int64_t size) {
  std::string type = platformOfJob() == "cuda" ? "bf16" : "f32", n = std::to_string(size);
  return {"reshape(reshape(x, [" + n + ", " + n + "]) @ full(" + type + "[" + n + ", " + n + "], 0.001), [" + n +
              " * " + n + "])",
          type};
}

/// Measures the fraction of a transfer that overlaps with computation: times a permute, a matrix product, and both in
/// one loop, independent of each other. Takes the shortest of the runs, because other load on the machine can make the
/// overlap look smaller or larger.
double measureOverlap(const spmd::MeshShape &mesh, const spmd::MeshAxis &axis, const Sizes &sizes) {
  constexpr int64_t iterations = 20;
  int64_t count = sizes.transferBytes / static_cast<int64_t>(sizeof(float)) / 2;
  std::string p = allAxes(mesh);
  Body product = productOf(sizes.product);
  auto time = [&](bool isMoved, bool isMultiplied) {
    auto start = [&](const std::string &type, int64_t elements) {
      return "shard(zeros(" + type + "[" + std::to_string(elements * mesh.deviceCount()) + "]), " + p + ")";
    };
    auto mapped = [&](const char *function, const char *value, bool isUsed) {
      return isUsed ? "shard_map(" + std::string(function) + ", in=" + p + ", out=" + p + ")(" + value + ")"
                    : std::string(value);
    };
    return timeRuns(meshText(mesh) + "fn move(x) { return ppermute(x, " + axis.name + ", [" + ringPairs(axis.size) +
                        "]); }\nfn multiply(x) { return " + product.text +
                        "; }\nfn main() {\n  let (u, v) = for i in 0.." + std::to_string(iterations) + " carry (x = " +
                        start("f32", count) + ", y = " + start(product.type, sizes.product * sizes.product) +
                        ") { yield (" + mapped("move", "x", isMoved) + ", " + mapped("multiply", "y", isMultiplied) +
                        "); };\n  return (u[0], v[0]);\n}\n",
                    iterations)
        .front();
  };
  double transfer = time(true, false), multiplied = time(false, true), both = time(true, true);
  double overlap = std::clamp((transfer + multiplied - both) / std::min(transfer, multiplied), 0.0, 1.0);
  return overlap < kLeastOverlap ? 0 : std::round(overlap * 100) / 100;
}

LinkRates measureAxis(const spmd::MeshShape &mesh, const spmd::MeshAxis &axis, Sizes sizes) {
  std::vector<CostModel::Sample> samples;
  auto group = static_cast<double>(axis.size);
  for (int64_t bytes : kTransferBytes) {
    // A multiple of the group size, so that all_to_all splits it evenly.
    int64_t count = bytes / 4 / axis.size * axis.size;
    auto sent = static_cast<double>(count * 4);
    auto add = [&](const char *collective, const std::string &body, double wireBytes) {
      double seconds = timeLoop(mesh, {body}, count);
      samples.push_back({CostModel::stepsOf(collective), wireBytes, seconds});
      return seconds;
    };
    double longest =
        std::max({add("all_reduce", "pmax(x, " + axis.name + ")", spmd::allReduceBytes(group, sent)),
                  add("all_to_all", "all_to_all(x, " + axis.name + ", split_axis=0, concat_axis=0, tiled=true)",
                      spmd::gatherBytes(group, sent)),
                  add("collective_permute", "ppermute(x, " + axis.name + ", [" + ringPairs(axis.size) + "])", sent)});
    sizes.transferBytes = bytes;
    if (agreeOn(longest) > kLongTransfer)
      break;
  }
  LinkRates rates = CostModel::fit(samples);
  rates.overlap = measureOverlap(mesh, axis, sizes);
  return rates;
}

/// Returns the operations a second of the product that takes kLongProduct, or the largest one.
double measureFlops(const spmd::MeshShape &mesh, Sizes &sizes) {
  double seconds = 0;
  for (int64_t size : kProductSizes) {
    seconds = timeLoop(mesh, productOf(size), size * size);
    sizes.product = size;
    if (agreeOn(seconds) > kLongProduct)
      break;
  }
  auto size = static_cast<double>(sizes.product);
  return 2 * size * size * size / seconds;
}

double measureMemory(const spmd::MeshShape &mesh) {
  double rate = 0;
  for (int64_t count : kArraySizes) {
    double seconds = timeLoop(mesh, {"x * 0.5 + 1.0"}, count);
    rate = 2.0 * sizeof(float) * static_cast<double>(count) / seconds; // Each element is read once and written once.
    if (agreeOn(seconds) > kLongCopy)
      break;
  }
  return rate;
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
  Sizes sizes;
  model.flopsPerSecond = rounded(measureFlops(whole, sizes));
  model.memoryPerSecond = rounded(measureMemory(whole));
  std::optional<LinkRates> slowest;
  for (const spmd::MeshAxis &axis : whole.axes) {
    if (axis.size == 1)
      continue;
    LinkRates rates = rounded(measureAxis(whole, axis, sizes));
    if (isNamed)
      model.axes[axis.name] = rates;
    slowest = slowest ? slowest->with(rates) : rates;
  }
  model.link = slowest.value_or(model.link);
  return model;
}

} // namespace spmdc
