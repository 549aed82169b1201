//===- EagerPrograms.cpp - operations outside of any trace ----------------===//

#include "runtime/jit/EagerPrograms.h"

#include "runtime/api/Runtime.h"
#include "runtime/jit/JitFunction.h"
#include "runtime/jit/LanguageText.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace spmd {
namespace {

/// A program with its own lock: it is compiled once, and threads that need other programs do not wait for that.
struct Slot {
  std::mutex mutex;
  std::shared_ptr<FunctionImpl> program; ///< Null until it is compiled.
};

/// The programs of a job, by mesh and text. Thread-safe.
class Programs {
public:
  std::shared_ptr<Slot> find(const std::shared_ptr<Job> &current, const std::string &key) {
    std::unordered_map<std::string, std::shared_ptr<Slot>> old; // Destroyed outside of the lock.
    std::lock_guard lock(mutex);
    // Executors belong to a job: drop those of another one.
    if (job.lock() != current || byText.size() >= kMost)
      old.swap(byText);
    job = current;
    std::shared_ptr<Slot> &slot = byText[key];
    if (!slot)
      slot = std::make_shared<Slot>();
    return slot;
  }

private:
  std::mutex mutex;
  std::weak_ptr<Job> job;
  std::unordered_map<std::string, std::shared_ptr<Slot>> byText;

  /// The limit of programs. A caller with ever new constants must not fill the memory; the operations of an ordinary
  /// program fit.
  static constexpr size_t kMost = 500;
};

Programs &programs() {
  static Programs instance;
  return instance;
}

std::string keyOf(const Mesh &mesh, const std::string &text) {
  std::string key;
  for (int64_t id : mesh.device_ids())
    key += std::to_string(id) + ",";
  return key + "\n" + text;
}

} // namespace

std::optional<Array> onMesh(const Array &array, const Mesh &mesh) {
  NamedSharding replicated(mesh, P());
  const ArrayImpl &impl = *array.get_impl();
  if (impl.sharding.mesh() == mesh || isSameLayout(impl.sharding, replicated, impl.shape))
    return array;
  return impl.isUncommitted ? std::optional(placeLocally(array, replicated)) : std::nullopt;
}

Mesh defaultMesh(const Job &job) { return Mesh({}, {}, {job.getDevice(job.getLocalDevices().front()->getId())}); }

std::vector<Array> uncommitted(std::vector<Array> arrays) {
  for (const Array &array : arrays)
    array.get_impl()->isUncommitted = true;
  return arrays;
}

std::optional<Mesh> meshOfArrays(const std::vector<Array> &arrays, const std::source_location &where) {
  std::vector<const ArrayImpl *> committed;
  for (const Array &array : arrays)
    array.shape(); // Throws for an empty Array.
  for (const Array &array : arrays)
    if (const ArrayImpl &impl = *array.get_impl(); !impl.isUncommitted)
      committed.push_back(&impl);
  if (committed.empty())
    return std::nullopt;
  for (const ArrayImpl *candidate : committed) {
    const Mesh &mesh = candidate->sharding.mesh();
    NamedSharding replicated(mesh, P());
    bool areAllOnIt = std::all_of(committed.begin(), committed.end(), [&](const ArrayImpl *array) {
      return array->sharding.mesh() == mesh || isSameLayout(array->sharding, replicated, array->shape);
    });
    if (areAllOnIt)
      return mesh;
  }
  const Mesh &first = committed.front()->sharding.mesh();
  const ArrayImpl *other = *std::find_if(committed.begin(), committed.end(),
                                         [&](const ArrayImpl *array) { return array->sharding.mesh() != first; });
  throw Error(placeText(where) + ": error: the arrays are on several meshes: " + committed.front()->describe() +
                  " on " + first.str() + " and " + other->describe() + " on " + other->sharding.mesh().str() +
                  (first.str() == other->sharding.mesh().str() ? " of other devices" : "") +
                  "; pass device_put(array, NamedSharding(mesh, ...)) for one mesh",
              Error::Kind::Usage);
}

std::vector<Array> runEagerly(const std::vector<Array> &arrays, const std::optional<Mesh> &mesh,
                              const std::source_location &where,
                              const std::function<std::vector<Array>(Trace &)> &body) {
  std::shared_ptr<Job> job = currentJob(where);
  std::optional<Mesh> said = meshOfArrays(arrays, where);
  if (!said)
    said = mesh;
  Mesh devices = said ? *said : defaultMesh(*job);
  TracedText traced;
  {
    Trace trace(job, devices, where);
    traced = trace.finish(body(trace));
  }
  std::shared_ptr<FunctionImpl> program;
  {
    std::shared_ptr<Slot> slot = programs().find(job, keyOf(devices, traced.text));
    std::lock_guard lock(slot->mutex);
    if (!slot->program)
      slot->program =
          compileProgram(job, traced.text, {.mesh = devices, .file_name = "<traced>"}, where, std::move(traced.places));
    program = slot->program;
  }
  std::vector<Array> results = program->call(traced.captured);
  return said ? results : uncommitted(std::move(results));
}

namespace detail {

std::vector<Array> evaluateAll(const Operand &expression) {
  if (Trace *trace = Trace::current())
    return trace->record(expression);
  return runEagerly(expression.get_arrays(), expression.get_mesh(), expression.get_location(),
                    [&](Trace &trace) { return trace.record(expression); });
}

Array evaluate(const Operand &expression) {
  std::vector<Array> results = evaluateAll(expression);
  if (results.size() != 1)
    throw Error(placeText(expression.get_location()) + ": error: the operation has " + std::to_string(results.size()) +
                    " results; call_tuple returns them",
                Error::Kind::Usage);
  return results[0];
}

} // namespace detail

static Operand callExpression(const std::string &function, const std::vector<Operand> &operands,
                              const Attributes &attributes, const std::source_location &where) {
  std::string format = function + "(";
  std::vector<Operand> all = operands;
  for (size_t i = 0; i < operands.size(); ++i)
    format += i ? ", $" : "$";
  for (const auto &[name, value] : attributes) {
    format += (all.empty() ? "" : ", ") + name + "=$";
    all.push_back(value);
  }
  bool isName = !function.empty() && std::all_of(function.begin(), function.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c));
  });
  if (!isName)
    throw Error(placeText(where) + ": error: '" + function + "' is not a function's name", Error::Kind::Usage);
  return Operand(format + ")", all, where);
}

Array call(const std::string &function, const std::vector<Operand> &operands, const Attributes &attributes,
           std::source_location where) {
  return detail::evaluate(callExpression(function, operands, attributes, where));
}

std::vector<Array> call_tuple(const std::string &function, const std::vector<Operand> &operands,
                              const Attributes &attributes, std::source_location where) {
  return detail::evaluateAll(callExpression(function, operands, attributes, where));
}

} // namespace spmd
