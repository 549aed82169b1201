#include "runtime/coordinator/ProcessStatistics.h"

#include <fstream>

#include <unistd.h>

namespace spmd {

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return file ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

} // namespace spmd
