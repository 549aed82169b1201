//===- SystemRandom.cpp - random bytes of the system ----------------------===//

#include "runtime/support/SystemRandom.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

namespace spmd {

void fillWithSystemRandom(void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t got = getrandom(static_cast<char *>(bytes) + done, count - done, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Error(std::string("the system returns no random numbers: ") + strerror(errno));
    done += static_cast<size_t>(got);
  }
}

} // namespace spmd
