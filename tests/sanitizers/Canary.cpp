// One mistake for each sanitizer: memory used after it was freed, an overflow, a race. See CMakeLists.txt.

#include <limits>
#include <memory>
#include <thread>

int main(int argc, char **) {
#if __has_feature(thread_sanitizer)
  int shared = 0;
  std::thread other([&] { shared = argc; });
  shared = 2;
  other.join();
  return shared;
#elif __has_feature(address_sanitizer)
  auto value = std::make_unique<int>(argc);
  int *dangling = value.get();
  value.reset();
  return *static_cast<volatile int *>(dangling);
#else
  volatile int largest = std::numeric_limits<int>::max();
  return largest + argc;
#endif
}
