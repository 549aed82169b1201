#include "runtime/support/Token.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "runtime/support/SystemRandom.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spmd {

namespace {

constexpr size_t maxTokenBytes = 4096;

std::string systemError(int code) { return strerror(code); }

/// Returns the content of the file without surrounding white space. Throws unless only the user can read the file.
std::string readToken(const std::string &path, int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0)
    throw Error("token file " + path + " cannot be read: " + systemError(errno));
  if (!S_ISREG(info.st_mode))
    throw Error("token file " + path + " is not a file");
  if (info.st_uid != geteuid() && info.st_uid != 0)
    throw Error("token file " + path + " belongs to another user (id " + std::to_string(info.st_uid) +
                "): make your own with `spmdc token`");
  if ((info.st_mode & 077) != 0)
    throw Error("token file " + path + " can be read by other users: run `chmod 600 " + path +
                "`, and make a new token if they may have done so");
  std::string text(maxTokenBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Error("token file " + path + " cannot be read: " + systemError(errno));
    if (got == 0)
      break;
    size += static_cast<size_t>(got);
  }
  if (size > maxTokenBytes)
    throw Error("token file " + path + " is too large: a token has at most " + std::to_string(maxTokenBytes) +
                " bytes");
  text.resize(size);
  const char *space = " \t\r\n";
  size_t first = text.find_first_not_of(space);
  if (first == std::string::npos)
    throw Error("token file " + path + " is empty: write a token into it with `spmdc token`");
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string readNamedFile(const std::string &path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd)
    throw Error("token file " + path + " cannot be opened: " + systemError(errno));
  return readToken(path, fd.get());
}

/// Like mkdir -p; folders that it creates are accessible to the user only.
bool makeFolders(const std::string &path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return false;
    if (slash == std::string::npos)
      return true;
  }
}

bool writeAll(int fd, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return ::fsync(fd) == 0;
}

/// Creates the file with its full content at once: it writes a temporary file and links it, which fails if another
/// process was faster. Returns false, with errno, if the folder cannot be written.
bool createToken(const std::string &folder, const std::string &path) {
  if (!makeFolders(folder))
    return false;
  std::string temporary = folder + "/.token-XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC)); // 0600
  if (!fd)
    return false;
  bool made =
      writeAll(fd.get(), makeToken() + "\n") && (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  int problem = errno;
  ::unlink(temporary.c_str());
  errno = problem;
  return made;
}

} // namespace

std::string makeToken() {
  unsigned char bytes[32];
  fillWithSystemRandom(bytes, sizeof bytes);
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string findToken(const Environment &environment, const std::string &tokenFile, std::string *whyNone) {
  if (!tokenFile.empty())
    return readNamedFile(tokenFile);
  if (environment.tokenFile)
    return readNamedFile(*environment.tokenFile);
  if (environment.token)
    return *environment.token;
  auto none = [&](const std::string &why) {
    if (whyNone)
      *whyNone = why;
    return "";
  };
  if (!environment.configDirectory)
    return none("HOME is not set and this user has no home folder to keep it in");
  std::string path = *environment.configDirectory + "/token";
  for (int attempt = 0; attempt != 2; ++attempt) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd)
      return readToken(path, fd.get());
    // Another user's home (EACCES), or not a folder, such as /dev/null (ENOTDIR).
    if (errno == EACCES || errno == ENOTDIR)
      return none(path + " cannot be opened: " + systemError(errno));
    if (errno != ENOENT)
      throw Error("token file " + path + " cannot be opened: " + systemError(errno));
    if (!createToken(*environment.configDirectory, path))
      return none(path + " cannot be written: " + systemError(errno));
  }
  throw Error("token file " + path + " disappears whenever it is created: does another program clean that folder?");
}

std::string findStatusToken(const Environment &environment, const std::string &tokenFile) {
  bool isNamed = !tokenFile.empty() || environment.tokenFile;
  try {
    return findToken(environment, tokenFile);
  } catch (const Error &) {
    if (isNamed)
      throw;
    return "";
  }
}

} // namespace spmd
