// Frames between a process and the coordinator, and records between the launcher and its children.

#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/ChildReport.h"
#include "runtime/coordinator/Protocol.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

using namespace spmd;
using namespace spmd::coordinator;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (auto end = ChildEndMessage::decode(bytes); end && ChildEndMessage::decode(end->encode())->pid != end->pid)
    std::abort();
  if (auto report = decodeChildReport(bytes); report && decodeChildReport(encodeChildReport(*report)) != report)
    std::abort();
  try {
    if (bytes.size() >= frameHeaderBytes)
      decodeHeader(bytes.substr(0, frameHeaderBytes));
  } catch (const ProtocolError &) {
  }
  try {
    Message message = decode(bytes);
    // A decoded message can be encoded again, and decodes to the same.
    std::string frame = encode(message);
    if (encode(decode(std::string_view(frame).substr(frameHeaderBytes))) != frame)
      std::abort();
  } catch (const ProtocolError &) {
  }
  return 0;
}
