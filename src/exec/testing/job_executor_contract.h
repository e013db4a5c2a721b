#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "exec/job_executor.h"

/// What every JobExecutor must do; the tests are in job_executor_contract_test.cc. An executor's test names it with
///   INSTANTIATE_TEST_SUITE_P(Name, JobExecutorContract, testing::Values(make));
/// where `make(program)` gives an executor, as of a fresh life of pawl, that runs `program job spec.json`; nullptr where
/// the parts that it needs are not on this machine: the tests are skipped then.
namespace pawl::exec {

using ExecutorFactory = std::function<std::unique_ptr<JobExecutor>(const std::string& program)>;

class JobExecutorContract : public testing::TestWithParam<ExecutorFactory> {
 protected:
  void SetUp() override {
    if (!GetParam()("")) GTEST_SKIP() << "the parts that this executor needs are not on this machine";
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-exec-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    // The stand-in for pawl does what the file do.sh of the job's folder says, and counts its starts.
    program_ = root_ / "stub";
    std::ofstream(program_) << "#!/bin/sh\necho start >> starts\n[ \"$1\" = job ] || exit 2\n[ -f \"$2\" ] || exit 3\n. ./do.sh\n";
    ::chmod(program_.c_str(), 0755);
  }
  void TearDown() override {
    if (root_.empty()) return;
    for (const auto& handle : started_) (void)life()->cancel(handle);
    std::filesystem::remove_all(root_);
  }

  [[nodiscard]] std::unique_ptr<JobExecutor> life() const { return GetParam()(program_.string()); }

  std::filesystem::path job(const std::string& name, const std::string& script) {
    const auto folder = root_ / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "spec.json") << "{}";
    std::ofstream(folder / "do.sh") << script << "\n";
    return folder;
  }

  JobHandle start(JobExecutor& executor, const std::string& key, const std::filesystem::path& folder) {
    auto handle = executor.submit(key, folder);
    EXPECT_TRUE(handle) << handle.error().message;
    if (!handle) return {};
    started_.push_back(*handle);
    return *handle;
  }

  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Processes of this machine with that word in their command line; one that has ended has none.
  static int processes_with(const std::string& word) {
    int count = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
      count += text_of(process->path() / "cmdline").find(word) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  /// Waits until a file is there, for at most ten seconds.
  static bool appears(const std::filesystem::path& path) {
    for (int i = 0; i < 5000 && !std::filesystem::exists(path); ++i) ::usleep(2000);
    return std::filesystem::exists(path);
  }

  std::filesystem::path root_, program_;
  std::vector<JobHandle> started_;
};

}  // namespace pawl::exec
