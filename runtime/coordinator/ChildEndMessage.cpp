#include "runtime/coordinator/ChildEndMessage.h"

#include "runtime/coordinator/Wire.h"

#include <sys/socket.h>

namespace spmd::coordinator {

std::string ChildEndMessage::encode() const {
  Writer out;
  out.integer(process);
  out.integer(pid);
  out.integer(signal);
  out.integer(status);
  out.integer(static_cast<uint8_t>(verdict.has_value()));
  if (verdict)
    put(out, *verdict);
  return std::move(out.bytes);
}

std::optional<ChildEndMessage> ChildEndMessage::decode(std::string_view record) {
  try {
    Reader in(record);
    ChildEndMessage message;
    message.process = in.integer<int32_t>();
    message.pid = in.integer<int64_t>();
    message.signal = in.integer<int32_t>();
    message.status = in.integer<int32_t>();
    if (in.flag())
      get(in, message.verdict.emplace());
    in.finish();
    return message;
  } catch (const ProtocolError &) {
    return std::nullopt;
  }
}

bool isLauncherSocket(int fd) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX)
    return false;
  size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

} // namespace spmd::coordinator
