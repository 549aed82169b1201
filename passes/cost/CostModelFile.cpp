//===- CostModelFile.cpp - a cost model as JSON ---------------------------===//
//
// The file is parsed with a SAX parser, so that every error has its line, and deep or long input does no harm.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/CostModel.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <set>

namespace spmdc {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kExpected = "a cost model is an object: {\"latency_us\": 10, \"bytes_per_second\": 5e9}";
constexpr std::string_view kLinkKeys = "latency_us, bytes_per_second, overlap";
constexpr std::string_view kTopKeys =
    "latency_us, bytes_per_second, overlap, flops_per_second, memory_bytes_per_second, axes, minimize";

/// The accepted range of a number. Beyond it there is no hardware, and predictions would overflow.
struct Bounds {
  double least, most;
  std::string_view text;
};
constexpr Bounds kLatencyBounds = {0, 1e9, "0 to 1e9"};
constexpr Bounds kOverlapBounds = {0, 1, "0 to 1"};
constexpr Bounds kRateBounds = {1, 1e30, "1 to 1e30"};

/// An iterator over the text that updates the shared `line` to the line it has reached.
class LineCounter {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  LineCounter(const char *at, int &line) : at(at), line(&line) {}
  reference operator*() const { return *at; }
  LineCounter &operator++() {
    // A newline counts once what follows it is read: a token that ends before it is still on its line.
    *line += pendingNewline;
    pendingNewline = *at == '\n';
    ++at;
    return *this;
  }
  LineCounter operator++(int) {
    LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter &other) const { return at == other.at; }
  bool operator!=(const LineCounter &other) const { return at != other.at; }

private:
  const char *at;
  int *line;
  bool pendingNewline = false;
};

class Reader : public nlohmann::json_sax<nlohmann::json> {
public:
  Reader(CostModel &model, const int &line) : model(model), line(line) {}

  std::string error;
  int errorLine = 0;

  bool null() override { return expectNumber(); }
  bool boolean(bool) override { return expectNumber(); }
  bool string(string_t &value) override {
    if (!isGoal())
      return expectNumber();
    std::optional<Goal> goal = CostModel::parseGoal(value);
    model.goal = goal.value_or(Goal::Time);
    return goal || expectNumber();
  }
  bool binary(binary_t &) override { return expectNumber(); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t &) override { return number(value); }
  bool start_array(size_t) override { return expectNumber(); }
  bool end_array() override { return true; }

  bool key(string_t &name) override {
    path.back() = name;
    if (!seen.insert(pathText()).second)
      return fail("'" + pathText() + "' is given twice");
    bool isTopKey =
        name == "flops_per_second" || name == "memory_bytes_per_second" || name == "axes" || name == "minimize";
    bool isKnown = path.size() == 2 || isRate(name) || (path.size() == 1 && isTopKey);
    if (!isKnown)
      return fail("unknown key '" + pathText() + "'; there are " +
                  std::string(path.size() == 1 ? kTopKeys : kLinkKeys));
    return true;
  }

  bool start_object(size_t) override {
    bool isPlace = path.empty() || (path.size() == 1 && path[0] == "axes") || path.size() == 2;
    if (!isPlace)
      return expectNumber();
    if (path.size() == 2)
      model.axes[path[1]] = {};
    path.emplace_back();
    return true;
  }

  bool end_object() override {
    path.pop_back();
    return true;
  }

  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &exception) override {
    // Without the library's own prefix: `[json.exception.parse_error.101] parse error at line 1, column 2: ...`,
    // `[json.exception.out_of_range.406] number overflow ...`.
    std::string text = exception.what();
    size_t begin = text.find(": ");
    begin = begin == std::string::npos ? text.find("] ") : begin;
    text = begin == std::string::npos ? text : text.substr(begin + 2);
    bool isNumber = dynamic_cast<const nlohmann::json::out_of_range *>(&exception) != nullptr;
    return fail((isNumber ? "the number is too large: " : "this is not JSON: ") + text);
  }

  /// Gives each axis the general rates for the keys that its object lacks.
  void finish() {
    for (auto &[name, rates] : model.axes) {
      if (!seen.count("axes." + name + ".latency_us"))
        rates.latencyMicroseconds = model.link.latencyMicroseconds;
      if (!seen.count("axes." + name + ".bytes_per_second"))
        rates.bytesPerSecond = model.link.bytesPerSecond;
      if (!seen.count("axes." + name + ".overlap"))
        rates.overlap = model.link.overlap;
    }
  }

private:
  static bool isRate(std::string_view name) {
    return name == "latency_us" || name == "bytes_per_second" || name == "overlap";
  }

  bool isGoal() const { return path.size() == 1 && path[0] == "minimize"; }

  std::string pathText() const {
    std::string text;
    for (const std::string &part : path)
      text += (text.empty() ? "" : ".") + part;
    return text;
  }

  bool fail(std::string message) {
    error = std::move(message);
    errorLine = line;
    return false;
  }

  bool expectNumber() {
    if (path.empty())
      return fail(std::string(kExpected));
    if (path.size() == 1 && path[0] == "axes")
      return fail("'axes' is an object with the mesh's axes as keys");
    if (isGoal())
      return fail("'minimize' is \"time\" or \"bytes\"");
    if (path.size() == 2)
      return fail("'" + pathText() + "' is an object with the keys " + std::string(kLinkKeys));
    return fail("'" + pathText() + "' is a number");
  }

  bool number(double value) {
    bool isNumber = path.size() == 3 || (path.size() == 1 && path[0] != "axes" && !isGoal());
    if (!isNumber)
      return expectNumber();
    const std::string &name = path.back();
    const Bounds &bounds = name == "latency_us" ? kLatencyBounds : name == "overlap" ? kOverlapBounds : kRateBounds;
    if (!(value >= bounds.least && value <= bounds.most))
      return fail("'" + pathText() + "' must be from " + std::string(bounds.text));
    LinkRates &link = path.size() == 3 ? model.axes[path[1]] : model.link;
    if (name == "latency_us")
      link.latencyMicroseconds = value;
    else if (name == "bytes_per_second")
      link.bytesPerSecond = value;
    else if (name == "overlap")
      link.overlap = value;
    else if (name == "flops_per_second")
      model.flopsPerSecond = value;
    else
      model.memoryPerSecond = value;
    return true;
  }

  CostModel &model;
  const int &line;
  std::vector<std::string> path; ///< The keys down to here; empty outside of the object.
  std::set<std::string> seen;
};

Json linkJson(const LinkRates &link) {
  return {
      {"latency_us", link.latencyMicroseconds}, {"bytes_per_second", link.bytesPerSecond}, {"overlap", link.overlap}};
}

void addDevice(const CostModel &model, Json &json) {
  json["flops_per_second"] = model.flopsPerSecond;
  json["memory_bytes_per_second"] = model.memoryPerSecond;
}

} // namespace

std::optional<CostModel> CostModel::parse(std::string_view text, const std::string &fileName, std::string &error,
                                          const CostModel &standard) {
  if (text.size() > kMaxBytes) {
    error = fileName + ": error: a cost model has at most 1 MiB";
    return std::nullopt;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    error = fileName + ":1: error: the file is empty; " + std::string(kExpected);
    return std::nullopt;
  }
  CostModel model = standard;
  int line = 1;
  Reader reader(model, line);
  LineCounter begin(text.data(), line), end(text.data() + text.size(), line);
  if (nlohmann::json::sax_parse(begin, end, &reader)) {
    reader.finish();
    return model;
  }
  error = fileName + ":" + std::to_string(reader.errorLine) + ": error: " + reader.error;
  return std::nullopt;
}

std::optional<CostModel> CostModel::parse(std::string_view text, const std::string &fileName, std::string &error) {
  return parse(text, fileName, error, CostModel());
}

std::optional<Goal> CostModel::parseGoal(std::string_view text) {
  if (text == "time" || text == "bytes")
    return text == "time" ? Goal::Time : Goal::Bytes;
  return std::nullopt;
}

std::string CostModel::str() const {
  Json json = linkJson(link);
  addDevice(*this, json);
  if (!axes.empty())
    for (const auto &[name, rates] : axes)
      json["axes"][name] = linkJson(rates);
  if (goal == Goal::Bytes)
    json["minimize"] = "bytes";
  return json.dump(1) + "\n";
}

std::string CostModel::deviceStr() const {
  Json json;
  addDevice(*this, json);
  return json.dump(1) + "\n";
}

} // namespace spmdc
