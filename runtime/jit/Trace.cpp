//===- Trace.cpp - a callable written down as a program -------------------===//

#include "runtime/jit/Trace.h"

#include "runtime/jit/EagerPrograms.h"
#include "runtime/jit/Inference.h"
#include "runtime/jit/LanguageText.h"

#include <algorithm>
#include <atomic>

namespace spmd {

struct Trace::Frame {
  std::string name;
  std::source_location where;
  std::vector<std::string> parameters; ///< With their types.
  std::vector<Line> lines;
  std::map<const void *, std::string> known; ///< The names of captured values, by the array's identity.
  std::vector<Array> captured;               ///< The captured values in the outer frame.
  std::vector<Array> held;                   ///< Keeps the arrays alive, so that their identities stay unique.
  std::string result;
  std::atomic<bool> isOpen{true}; ///< Atomic: an array may leave the trace and be used by another thread.
};

namespace {

thread_local Trace *currentTrace = nullptr;

/// A value of a program that is being traced, or was.
class Tracer final : public TracedValue {
public:
  Tracer(DType dtype, std::vector<int64_t> shape, std::string name, std::shared_ptr<const Trace::Frame> frame,
         std::source_location where)
      : TracedValue(dtype, std::move(shape)), name(std::move(name)), frame(std::move(frame)), where(where) {}

  Error misuse() const override {
    std::string who = "'" + name + "', " + openTypeText(dtype, shape) + " made at " + placeText(where) + ", ";
    std::string function = "the function that is traced at " + placeText(frame->where);
    if (frame->isOpen)
      return Error(who + "has no value yet: " + function +
                       " will compute it. Return it and read the result of the call; if control flow depends on it, "
                       "use where(), or move that part out of the traced function",
                   Error::Kind::Usage);
    return Error(who + "is used outside of " + function +
                     ", but is a value of the trace only: return it from the "
                     "function instead of storing it in an outer variable",
                 Error::Kind::Usage);
  }

  const std::string name;
  const std::shared_ptr<const Trace::Frame> frame;
  const std::source_location where;
};

const Tracer &tracerOf(const Array &array) { return static_cast<const Tracer &>(*array.get_traced()); }

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

} // namespace

Trace *Trace::current() { return currentTrace; }

Trace::Trace(std::shared_ptr<Job> job, Mesh mesh, std::source_location where)
    : job(std::move(job)), mesh(std::move(mesh)), outer(currentTrace) {
  frames.push_back(openFrame("main", where));
  currentTrace = this;
}

Trace::~Trace() {
  currentTrace = outer;
  for (const auto &frame : frames)
    frame->isOpen = false;
}

std::shared_ptr<Trace::Frame> Trace::openFrame(std::string name, std::source_location where) {
  auto frame = std::make_shared<Frame>();
  frame->name = std::move(name);
  frame->where = where;
  return frame;
}

Array Trace::addParameter(DType dtype, const std::vector<int64_t> &shape, const NamedSharding &sharding) {
  const std::shared_ptr<Frame> &entry = frames.front();
  std::string name = "x" + std::to_string(parameters++);
  entry->parameters.push_back(name + ": " + shardedTypeText(dtype, shape, sharding));
  return Array(std::make_shared<const Tracer>(dtype, shape, name, entry, entry->where));
}

/// The name of `array` in the frame at `depth`. Captures it from outer frames if necessary.
std::string Trace::resolve(const Array &array, size_t depth) {
  if (!array.is_traced())
    return capture(array, depth, array.get_impl().get());
  const Tracer &tracer = tracerOf(array);
  if (tracer.frame == frames[depth])
    return tracer.name;
  auto inside = frames.begin() + static_cast<std::ptrdiff_t>(depth);
  if (std::find(frames.begin(), inside, tracer.frame) == inside)
    throw tracer.misuse();
  return capture(array, depth, &tracer);
}

std::string Trace::capture(const Array &array, size_t depth, const void *key) {
  Frame &frame = *frames[depth];
  auto [place, isNew] = frame.known.try_emplace(key);
  if (!isNew)
    return place->second;
  std::string type = openTypeText(array.dtype(), array.shape());
  Array taken = array;
  if (depth == 0) {
    const ArrayImpl &impl = *array.get_impl();
    if (impl.job != job)
      throw usage(impl.describe() + " belongs to a job that has ended with shutdown()");
    std::optional<Array> placed = onMesh(array, mesh);
    if (!placed)
      throw usage(impl.describe() + " is on " + impl.sharding.mesh().str() + ", and the program that uses it at " +
                  placeText(frame.where) + " is on " + mesh.str() +
                  "; pass device_put(array, NamedSharding(mesh, ...)) on that mesh");
    taken = *placed;
    bool isOnMesh = taken.sharding().mesh() == mesh;
    type = shardedTypeText(impl.dtype, impl.shape, isOnMesh ? taken.sharding() : NamedSharding(mesh, P()));
  }
  place->second = (depth == 0 ? "x" : "c") + std::to_string(parameters++);
  frame.parameters.push_back(place->second + ": " + type);
  frame.captured.push_back(taken);
  frame.held.push_back(array);
  return place->second;
}

std::vector<Array> Trace::record(const Operand &expression, const std::string &nested) {
  if (expression.get_mesh() && *expression.get_mesh() != mesh)
    throw usage(placeText(expression.get_location()) + ": error: a sharding is on " + expression.get_mesh()->str() +
                ", and the program is on " + mesh.str());
  // The line has the names of values. For inference, operands are numbered, so that lines that differ only in names
  // share one cached result.
  std::string text, asked, signature;
  std::map<std::string, std::string> numbered;
  size_t next = 0;
  for (char c : expression.get_text()) {
    if (c != Operand::kArray) {
      text += c;
      asked += c;
      continue;
    }
    const Array &array = expression.get_arrays()[next++];
    std::string name = resolve(array, frames.size() - 1);
    auto [place, isNew] = numbered.try_emplace(name, "x" + std::to_string(numbered.size()));
    if (isNew)
      signature += (signature.empty() ? "" : ", ") + place->second + ": " + openTypeText(array.dtype(), array.shape());
    text += name;
    asked += place->second;
  }
  std::string declarations = meshText(mesh);
  if (text.find("traced_") != std::string::npos)
    for (const Line &line : functions)
      declarations += line.text + "\n";
  std::source_location where = expression.get_location();
  std::vector<InferredType> types = inferTypes(declarations, signature, asked, where);

  // Outside of the language, a random key is an array of its two words.
  if (types.size() == 1 && types[0].dtype == DType::Key) {
    text = "key_data(" + text + ")";
    types[0].dtype = DType::U32;
    types[0].shape.push_back(2);
  }
  const std::shared_ptr<Frame> &frame = frames.back();
  std::vector<Array> results;
  std::string pattern, rest = nested;
  for (const InferredType &type : types) {
    std::string name = "v" + std::to_string(++values);
    size_t place = rest.find('$');
    pattern += nested.empty() ? (pattern.empty() ? "" : ", ") + name : rest.substr(0, place) + name;
    rest = nested.empty() ? "" : rest.substr(place + 1);
    results.push_back(Array(std::make_shared<const Tracer>(type.dtype, type.shape, name, frame, where)));
  }
  pattern += rest;
  if (types.size() != 1)
    pattern = types.empty() || !nested.empty() ? pattern : "(" + pattern + ")";
  else // The written type helps readers, and makes the value of a literal an array without a weak type.
    pattern += ": " + openTypeText(types[0].dtype, types[0].shape);
  frame->lines.push_back({pattern.empty() ? text + ";" : "let " + pattern + " = " + text + ";", where});
  return results;
}

TracedSubfunction Trace::addFunction(const std::vector<Array> &arguments, const Body &body,
                                     std::source_location where) {
  frames.push_back(openFrame("traced_" + std::to_string(names++), where));
  std::shared_ptr<Frame> frame = frames.back();
  struct Close {
    ~Close() {
      frames.back()->isOpen = false;
      frames.pop_back();
    }
    std::vector<std::shared_ptr<Frame>> &frames;
  };
  TracedSubfunction made;
  {
    Close close{frames};
    std::vector<Array> own;
    for (const Array &argument : arguments) {
      std::string name = "p" + std::to_string(parameters++);
      frame->parameters.push_back(name + ": " + openTypeText(argument.dtype(), argument.shape()));
      own.push_back(Array(std::make_shared<const Tracer>(argument.dtype(), argument.shape(), name, frame, where)));
    }
    made.results = body(own);
    std::string result;
    for (const Array &array : made.results)
      result += (result.empty() ? "" : ", ") + resolve(array, frames.size() - 1);
    frame->result = made.results.size() == 1 ? result : "(" + result + ")";
  }
  made.name = frame->name;
  made.captured = frame->captured;
  for (Line &line : linesOf(*frame))
    functions.push_back(std::move(line));
  return made;
}

std::vector<Trace::Line> Trace::linesOf(const Frame &frame) const {
  std::string signature = "fn " + frame.name + "(";
  for (size_t i = 0; i < frame.parameters.size(); ++i)
    signature += (i ? ", " : "") + frame.parameters[i];
  std::vector<Line> lines = {{signature + ") {", frame.where}};
  for (const Line &line : frame.lines)
    lines.push_back({"  " + line.text, line.where});
  if (!frame.result.empty())
    lines.push_back({"  return " + frame.result + ";", frame.where});
  lines.push_back({"}", frame.where});
  return lines;
}

TracedText Trace::finish(const std::vector<Array> &results, const std::vector<int32_t> &reused) {
  const std::shared_ptr<Frame> &entry = frames.front();
  std::vector<std::string> returned;
  for (const Array &array : results)
    returned.push_back(resolve(array, 0));
  // A result with a parameter's name may reuse its memory, unless the parameter is returned unchanged.
  const std::vector<std::string> values = returned;
  std::string patterns, sources;
  int bound = 0;
  for (size_t p = 0; p < reused.size(); ++p)
    if (reused[p] >= 0) {
      std::string name = "x" + std::to_string(p);
      std::string &value = returned[static_cast<size_t>(reused[p])];
      if (std::find(values.begin(), values.end(), name) != values.end())
        continue;
      patterns += (bound ? ", " : "") + name;
      sources += (bound++ ? ", " : "") + value;
      value = name;
    }
  if (bound)
    entry->lines.push_back(
        {"let " + (bound == 1 ? patterns + " = " + sources : "(" + patterns + ") = (" + sources + ")") + ";",
         entry->where});
  for (size_t i = 0; i < returned.size(); ++i)
    entry->result += (i ? ", " : "") + returned[i];
  if (returned.size() > 1)
    entry->result = "(" + entry->result + ")";

  TracedText traced;
  traced.captured = entry->captured;
  auto add = [&](const std::string &line, const std::source_location &where) {
    traced.text += line + "\n";
    traced.places.push_back(where);
  };
  if (std::string axes = meshText(mesh); !axes.empty())
    add(axes.substr(0, axes.size() - 1), entry->where);
  for (const Line &line : functions)
    add(line.text, line.where);
  for (const Line &line : linesOf(*entry))
    add(line.text, line.where);
  return traced;
}

} // namespace spmd
