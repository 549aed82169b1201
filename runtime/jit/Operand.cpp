//===- Operand.cpp - operands as text of the language ---------------------===//

#include "runtime/api/include/spmd/numpy.h"

#include "runtime/jit/LanguageText.h"
#include "runtime/support/Error.h"

namespace spmd {

Operand::Operand(const Array &array, Location where) : text(1, kArray), arrays{array}, where(where) {
  array.shape(); // Throws for an empty Array.
}

Operand::Operand(double number, Location where) : text(numberText(number)), where(where) {}

Operand::Operand(Integer number, Location where) : text(std::to_string(number.value)), where(where) {
  if (number.value < 0)
    text = "(" + text + ")";
}

Operand::Operand(bool flag, Location where) : text(flag ? "true" : "false"), where(where) {}
Operand::Operand(std::nullptr_t, Location where) : text("None"), where(where) {}
Operand::Operand(const char *characters, Location where) : where(where) {
  text = characters;
  if (text.find_first_of("\"\\\n") != std::string::npos)
    throw Error("a text argument of an operation has quotes, backslashes or several lines; no operation needs them",
                Error::Kind::Usage);
  text = "\"" + text + "\"";
}

Operand::Operand(DType dtype, Location where) : text(dtypeName(dtype)), where(where) {}
Operand::Operand(const P &spec, Location where) : text(partitionText(spec)), where(where) {}

Operand Operand::type(DType dtype, const std::vector<int64_t> &shape, const std::optional<NamedSharding> &sharding,
                      Location where) {
  Operand result(dtype, where);
  result.text = sharding ? shardedTypeText(dtype, shape, *sharding) : openTypeText(dtype, shape);
  if (sharding)
    result.mesh = sharding->mesh();
  return result;
}

Operand::Operand(const std::string &format, const std::vector<Operand> &operands, Location where) : where(where) {
  size_t next = 0;
  for (char c : format)
    if (c == '$')
      append(operands.at(next++));
    else
      text += c;
}

void Operand::beginList() { text = "["; }

void Operand::addElement(const Operand &element) {
  if (text.size() > 1)
    text += ", ";
  append(element);
}

void Operand::endList() { text += "]"; }

void Operand::append(const Operand &other) {
  text += other.text;
  arrays.insert(arrays.end(), other.arrays.begin(), other.arrays.end());
  if (!other.mesh)
    return;
  if (mesh && *mesh != *other.mesh)
    throw Error("an operation is given shardings on " + mesh->str() + " and on " + other.mesh->str() +
                    "; it runs on one mesh",
                Error::Kind::Usage);
  mesh = other.mesh;
}

Array slice(const Operand &x, const Shape &start, const Shape &limit, const Shape &strides) {
  if (start.size() != limit.size() || (!strides.empty() && strides.size() != start.size()))
    throw Error(placeText(x.get_location()) +
                    ": error: slice takes as many starts as limits, and as many strides or none",
                Error::Kind::Usage);
  std::string text = "$[";
  for (size_t d = 0; d < start.size(); ++d)
    text += (d ? ", " : "") + std::to_string(start[d]) + ":" + std::to_string(limit[d]) + ":" +
            std::to_string(strides.empty() ? 1 : strides[d]);
  return detail::evaluate(Operand(start.empty() ? "$" : text + "]", {x}, x.get_location()));
}

} // namespace spmd
