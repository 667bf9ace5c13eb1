//===- Tools.h - the built tools in a folder of their own -------*- C++ -*-===//
#ifndef SMET_TEST_INTEGRATION_TOOLS_H
#define SMET_TEST_INTEGRATION_TOOLS_H

#include "test/unit/runtime/TestData.h"

#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace smet::test {

/// A folder with text, tokenizer, a small model and a configuration for it. Compiled programs are shared by the tests
/// of one build of the compiler.
class Tools : public ::testing::Test {
protected:
  Tools() {
    writeFile(folder / "text.txt", makeText(600));
    writeFile(folder / "model.json", model.dump());
    writeFile(folder / "small.toml", "model = \"model.json\"\ndata = \"text.txt\"\ntokenizer = \"tokenizer.model\"\n"
                                     "density = 0.25\nseq-len = 64\nbatch-size = 4\nsteps = 40\nlr = 0.01\n"
                                     "update-every = 10\nout = \"run\"\n");
    namespace fs = std::filesystem;
    fs::path compiler = fs::path(SMET_BINARY_DIR) / "bin/smet-compile";
    useCache(
        fs::path(SMET_BINARY_DIR) / "test/Integration" /
        fmt::format("cache-{:x}", static_cast<uint64_t>(fs::last_write_time(compiler).time_since_epoch().count())));
    setenv("LC_ALL", "C", 1);
    EXPECT_EQ(run("smet tokenizer train --data text.txt --vocab-size 300 --out tokenizer.model"), 0) << output;
  }

  ~Tools() override {
    for (pid_t id : started) // those that a failed test did not wait for
      if (waitpid(id, nullptr, WNOHANG) == 0) {
        kill(id, SIGKILL);
        waitpid(id, nullptr, 0);
      }
  }

  void useCache(const std::filesystem::path &cache) { setenv("XDG_CACHE_HOME", cache.c_str(), 1); }
  /// For a test that changes or watches the cache: compiles anew.
  void useOwnCache() { useCache(folder / "cache"); }

  /// Runs a command of the shell with the built tools on its path, in the folder. Returns the exit code, 128 + signal
  /// for a crash; what it printed is in `output`.
  int run(const std::string &command) {
    Process process = start(command);
    return process.wait(output);
  }
  int train(const std::string &flags) { return run("smet train --config small.toml " + flags); }

  /// Runs, and expects an exit code and parts of what is printed.
  void expect(const std::string &command, int code, std::initializer_list<std::string_view> parts) {
    EXPECT_EQ(run(command), code) << command << "\n" << output;
    for (std::string_view part : parts)
      EXPECT_THAT(output, ::testing::HasSubstr(std::string(part))) << command;
  }

  /// A command that runs beside the test.
  struct Process {
    pid_t id = 0;
    std::filesystem::path log;

    std::string printed() const { return rt::readFile(log).value_or(""); }
    bool running() const { return waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0; }
    /// Waits until `holds`, for half a minute or until the process ends. Whether it did.
    template <typename F> bool waitUntil(F holds) const {
      for (int i = 0; i < 6000; ++i) {
        bool last = !running();
        if (holds())
          return true;
        if (last)
          return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      return false;
    }
    bool waitFor(std::string_view text) const {
      return waitUntil([&] { return printed().find(text) != std::string::npos; });
    }
    int wait(std::string &output) {
      int status = 0;
      waitpid(id, &status, 0);
      output = printed();
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    mutable siginfo_t info = {};
  };

  Process start(const std::string &command) {
    Process process;
    process.log = folder / fmt::format("output-{}", started.size());
    std::string script = fmt::format("cd '{}' && PATH='{}/bin':\"$PATH\" && exec >'{}' 2>&1; {}", folder.path.string(),
                                     SMET_BINARY_DIR, process.log.string(), command);
    const char *arguments[] = {"bash", "-c", script.c_str(), nullptr};
    EXPECT_EQ(posix_spawnp(&process.id, "bash", nullptr, nullptr, const_cast<char **>(arguments), environ), 0);
    started.push_back(process.id);
    return process;
  }

  /// The bytes of a checkpoint's tensors.
  std::string tensors(std::string_view run, int64_t step) {
    auto bytes = rt::readFile(checkpoint(run, step) / "model.safetensors");
    EXPECT_TRUE(bytes) << messageOf(bytes);
    return bytes.value_or("");
  }
  std::filesystem::path checkpoint(std::string_view run, int64_t step) {
    return folder / run / fmt::format("step-{:08}", step);
  }

  /// model.json with other values.
  void writeModel(std::string_view file, const nlohmann::json &changes) {
    nlohmann::json changed = model;
    changed.update(changes);
    writeFile(folder / file, changed.dump());
  }

  const nlohmann::json model = {{"model_type", "llama"},        {"vocab_size", 300},      {"hidden_size", 64},
                                {"intermediate_size", 96},      {"num_hidden_layers", 1}, {"num_attention_heads", 2},
                                {"max_position_embeddings", 64}};
  TestFolder folder;
  std::string output;
  std::vector<pid_t> started;
};

} // namespace smet::test

#endif // SMET_TEST_INTEGRATION_TOOLS_H
