// The records that processes of different hosts send before data.

#include "runtime/collective/net/Wire.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

using namespace spmd::net;

template <typename Record> static void tryOne(std::string bytes) {
  Record record;
  bytes.resize(sizeof record);
  if (decodeRecord(bytes.data(), record) && bytesOf(record).substr(0, 4) != bytes.substr(0, 4))
    std::abort();
  if constexpr (requires { record.text; })
    if (textOf(record.text).size() > sizeof record.text)
      std::abort();
  if constexpr (requires { record.cause; })
    if (textOf(record.cause).size() > sizeof record.cause)
      std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  tryOne<Greeting>(bytes);
  tryOne<MessageHeader>(bytes);
  tryOne<Question>(bytes);
  tryOne<Answer>(bytes);
  return 0;
}
