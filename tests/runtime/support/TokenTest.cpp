#include "runtime/support/Token.h"

#include "runtime/support/Error.h"
#include "runtime/support/Process.h"
#include "tests/support/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class Token : public testing::Test {
protected:
  void SetUp() override { env.configDirectory = (folder / "a" / "spmd").string(); }

  std::string file(const std::string &name, const std::string &content, mode_t mode) {
    fs::path path = folder / name;
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path.string();
  }

  std::string errorOf(const std::string &path) {
    try {
      findToken(env, path);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  test::TemporaryFolder temporary;
  const fs::path folder = temporary.str();
  Environment env;
};

TEST_F(Token, IsMadeAtFirstUseForTheUserAlone) {
  std::string token = findToken(env);
  EXPECT_EQ(token.size(), 64u);
  EXPECT_EQ(findToken(env), token);
  struct stat info = {};
  ASSERT_EQ(::stat((*env.configDirectory + "/token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // No other file is left in the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(*env.configDirectory), fs::directory_iterator()), 1);
}

TEST_F(Token, RacingProcessesGetTheSame) {
  constexpr int count = 16;
  int go[2], answers[2];
  ASSERT_EQ(::pipe(go), 0);
  ASSERT_EQ(::pipe(answers), 0);
  std::vector<pid_t> pids;
  for (int i = 0; i != count; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      char byte;
      ::close(go[1]);
      (void)!::read(go[0], &byte, 1); // Returns when the parent closes its end.
      std::string token = findToken(env);
      (void)!::write(answers[1], token.data(), token.size());
      ::_exit(0);
    }
    pids.push_back(pid);
  }
  ::close(go[0]);
  ::close(go[1]);
  ::close(answers[1]);
  for (pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> tokens;
  std::string token(64, '\0');
  for (int i = 0; i != count; ++i) {
    ASSERT_EQ(::read(answers[0], token.data(), token.size()), 64);
    tokens.insert(token);
  }
  ::close(answers[0]);
  EXPECT_EQ(tokens.size(), 1u);
}

TEST_F(Token, ExplicitOnesWinInOrder) {
  env.token = "from-variable";
  EXPECT_EQ(findToken(env), "from-variable");
  env.tokenFile = file("variable", " from-variable-file \n", 0600);
  EXPECT_EQ(findToken(env), "from-variable-file");
  EXPECT_EQ(findToken(env, file("option", "from-option", 0400)), "from-option");
  EXPECT_FALSE(fs::exists(*env.configDirectory));
}

TEST_F(Token, BadFilesAreNamed) {
  EXPECT_THAT(errorOf((folder / "none").string()), HasSubstr("none cannot be opened: No such file"));
  EXPECT_THAT(errorOf(file("open", "secret", 0644)), HasSubstr("can be read by other users: run `chmod 600 "));
  EXPECT_THAT(errorOf(file("empty", " \n", 0600)), HasSubstr("is empty"));
  EXPECT_THAT(errorOf(file("large", std::string(5000, 'x'), 0600)), HasSubstr("too large"));
  EXPECT_THAT(errorOf(folder.string()), HasSubstr("is not a file"));
  // No message contains the secret.
  EXPECT_THAT(errorOf(file("open", "secret", 0644)), testing::Not(HasSubstr("secret")));
}

TEST_F(Token, WithoutAFolderThereIsNone) {
  auto whyNone = [&](std::optional<std::string> directory) {
    env.configDirectory = std::move(directory);
    std::string why;
    EXPECT_EQ(findToken(env, "", &why), "");
    return why;
  };
  EXPECT_EQ(whyNone("/proc/spmd"), "/proc/spmd/token cannot be written: No such file or directory");
  EXPECT_EQ(whyNone("/dev/null/.config/spmd"), "/dev/null/.config/spmd/token cannot be opened: Not a directory");
  EXPECT_EQ(whyNone("/dev/full"), "/dev/full/token cannot be opened: Not a directory");
  EXPECT_EQ(whyNone(std::nullopt), "HOME is not set and this user has no home folder to keep it in");
}

TEST_F(Token, NewOnesDiffer) { EXPECT_NE(makeToken(), makeToken()); }

TEST(Process, NamesSignals) {
  EXPECT_EQ(signalName(9), "SIGKILL");
  EXPECT_EQ(signalName(15), "SIGTERM");
  EXPECT_EQ(signalName(999), "signal 999");
}

} // namespace
