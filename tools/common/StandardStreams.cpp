#include "tools/common/StandardStreams.h"

#include "runtime/support/File.h"

#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

namespace spmdc {

void prepareWriting() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) // open takes the lowest number; the wrong mode makes every use an error (EBADF).
      (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int finishWriting(const char *command, int status) {
  bool hadFailed = !std::cout;
  errno = 0;
  if (std::cout.flush() || status != 0)
    return status;
  if (hadFailed) { // The stream has lost errno; another write sets it again.
    std::cout.clear();
    std::cout << '\n' << std::flush;
  }
  std::cerr << command << ": error: cannot write to standard output"
            << (errno != 0 ? ": " + spmd::writeProblem(errno) : "") << "\n";
  return 1;
}

} // namespace spmdc
