//===- PlanJson.cpp - the plan as JSON ------------------------------------===//

#include "runtime/artifact/PlanJson.h"

#include "runtime/artifact/PlanFields.h"
#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <type_traits>

namespace spmd {
namespace {

/// The parts of an artifact that are stored as text.
struct Document {
  Plan plan;
  std::vector<std::pair<std::string, std::string>> sourceLines;
  std::string compilerVersion;
};

} // namespace

namespace plan_fields {

template <typename Archive> static void describe(Archive &archive, Document &value) {
  archive.field("compiler", value.compilerVersion);
  archive.field("plan", value.plan);
  archive.field("source_lines", value.sourceLines);
}

} // namespace plan_fields

namespace {

// Keeps the keys in the order in which they are written.
using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

class Writer {
public:
  explicit Writer(bool withLocations) : withLocations(withLocations) {}

  template <typename T> void field(const char *name, T &value) { object[name] = write(value); }
  template <typename T, size_t N> void field(const char *name, T &value, const std::array<std::string_view, N> &names) {
    object[name] = names[static_cast<size_t>(value)];
  }

  template <typename T> Json write(T &value) {
    if constexpr (std::is_arithmetic_v<T>)
      return value;
    else {
      Writer child(withLocations);
      plan_fields::describe(child, value);
      return std::move(child.object);
    }
  }
  Json write(std::string &value) { return value; }
  Json write(DType &value) { return dtypeName(value); }
  template <typename T> Json write(std::vector<T> &values) {
    Json array = Json::array();
    for (T &value : values)
      array.push_back(write(value));
    return array;
  }
  template <typename A, typename B> Json write(std::pair<A, B> &value) {
    return Json::array({write(value.first), write(value.second)});
  }
  Json write(Step &step) {
    Writer child(withLocations);
    child.object["op"] = plan_fields::stepNames[step.op.index()];
    std::visit([&](auto &op) { plan_fields::describe(child, op); }, step.op);
    if (withLocations)
      child.object["loc"] = write(step.location);
    return std::move(child.object);
  }

  Json object = Json::object();

private:
  bool withLocations;
};

std::string dump(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The position of the reader, for messages: a chain of stack frames.
struct Path {
  const Path *parent = nullptr;
  const char *key = nullptr; ///< Null: the position is `index` of a list.
  size_t index = 0;

  std::string str() const {
    std::string prefix = parent ? parent->str() : "";
    if (!key)
      return prefix + "[" + std::to_string(index) + "]";
    return prefix.empty() ? std::string(key) : prefix + "." + key;
  }
};

[[noreturn]] void fail(const Path &path, const std::string &problem) {
  throw Error("the artifact's plan is not valid: `" + path.str() + "` " + problem +
              "; compile the program again with this version of spmdc");
}

class Reader {
public:
  Reader(const Json &object, const Path &path, int depth) : object(object), path(path), depth(depth) {
    if (!object.is_object())
      fail(path, "is not an object");
  }

  template <typename T> void field(const char *name, T &value) {
    Path child{&path, name};
    read(get(name), value, child);
  }
  template <typename T, size_t N> void field(const char *name, T &value, const std::array<std::string_view, N> &names) {
    Path child{&path, name};
    value = static_cast<T>(readName(get(name), names, child));
  }

  /// Fails if the object has a key that was not requested: such a file has another format.
  void finish() const {
    if (taken == object.size())
      return;
    fail(path, "has keys that this version does not know");
  }

  template <size_t N>
  static size_t readName(const Json &json, const std::array<std::string_view, N> &names, const Path &path) {
    if (json.is_string())
      for (size_t i = 0; i < N; ++i)
        if (names[i] == json.template get_ref<const std::string &>())
          return i;
    fail(path, "is not a name that this version knows");
  }

  void readStep(Step &step) {
    Path opPath{&path, "op"};
    size_t kind = readName(get("op"), plan_fields::stepNames, opPath);
    emplaceStep(step.op, kind);
    std::visit([&](auto &op) { plan_fields::describe(*this, op); }, step.op);
    field("loc", step.location);
  }

private:
  const Json &get(const char *name) {
    auto it = object.find(name);
    if (it == object.end()) {
      Path child{&path, name};
      fail(child, "is missing");
    }
    ++taken;
    return *it;
  }

  template <size_t I = 0> static void emplaceStep(decltype(Step::op) &op, size_t kind) {
    if constexpr (I < std::variant_size_v<decltype(Step::op)>) {
      if (kind == I)
        op.emplace<I>();
      else
        emplaceStep<I + 1>(op, kind);
    }
  }

  template <typename T> void read(const Json &json, T &value, const Path &at) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean())
        fail(at, "is not true or false");
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      value = readInteger<T>(json, at);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json.is_number())
        fail(at, "is not a number");
      value = json.get<T>();
    } else {
      Reader child(json, at, depth);
      plan_fields::describe(child, value);
      child.finish();
    }
  }
  void read(const Json &json, std::string &value, const Path &at) {
    if (!json.is_string())
      fail(at, "is not a string");
    value = json.get_ref<const std::string &>();
  }
  void read(const Json &json, DType &value, const Path &at) {
    std::optional<DType> dtype;
    if (json.is_string())
      dtype = parseDType(json.get_ref<const std::string &>());
    if (!dtype)
      fail(at, "is not an element type");
    value = *dtype;
  }
  template <typename A, typename B> void read(const Json &json, std::pair<A, B> &value, const Path &at) {
    if (!json.is_array() || json.size() != 2)
      fail(at, "is not a pair");
    read(json[0], value.first, at);
    read(json[1], value.second, at);
  }
  template <typename T> void read(const Json &json, std::vector<T> &values, const Path &at) {
    if (!json.is_array())
      fail(at, "is not a list");
    values.resize(json.size()); // The size is bounded by the JSON tree that is already in memory.
    for (size_t i = 0; i < values.size(); ++i) {
      Path element{&at, nullptr, i};
      read(json[i], values[i], element);
    }
  }
  void read(const Json &json, Step &step, const Path &at) {
    if (depth >= kMaxStepNesting)
      fail(at, "is nested deeper than " + std::to_string(kMaxStepNesting) + " blocks");
    Reader child(json, at, depth + 1);
    child.readStep(step);
    child.finish();
  }

  template <typename T> static T readInteger(const Json &json, const Path &at) {
    if (!json.is_number_integer())
      fail(at, "is not an integer");
    bool tooLarge =
        json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max());
    int64_t number = tooLarge ? 0 : json.get<int64_t>();
    if (tooLarge || number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
      fail(at, "is out of range");
    return static_cast<T>(number);
  }

  const Json &object;
  const Path &path;
  int depth;
  size_t taken = 0;
};

} // namespace

std::string writePlanJson(const Artifact &artifact) {
  Document document{artifact.plan, artifact.sourceLines, artifact.compilerVersion};
  return dump(Writer(/*withLocations=*/true).write(document));
}

std::string writePlanJsonWithoutLocations(const Plan &plan) {
  Plan copy = plan; // describe() serves both directions, and so takes mutable references.
  return dump(Writer(/*withLocations=*/false).write(copy));
}

void readPlanJson(std::string_view text, Artifact &artifact) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    throw Error("the artifact's plan is not JSON; compile the program again");
  Document document;
  Path root{nullptr, "artifact"};
  Reader reader(json, root, 0);
  plan_fields::describe(reader, document);
  reader.finish();
  artifact.plan = std::move(document.plan);
  artifact.sourceLines = std::move(document.sourceLines);
  artifact.compilerVersion = std::move(document.compilerVersion);
}

} // namespace spmd
