#include "exec/executor_settings.h"

#include <gtest/gtest.h>

namespace pawl::exec {
namespace {

TEST(ExecutorSettingsTest, WhatIsWrittenHolds) {
  const auto choice = parse_executor_choice(
      "executor: slurm\nslurm:\n  partition: gpu\n  gres: gpu:8\n  options: [--exclusive]\n  jobs_at_once: 17\n  poll_s: 0.5\n", "executor.yaml");
  ASSERT_TRUE(choice) << choice.error().message;
  const auto settings = slurm_settings(*choice, "pawl-1", "executor.yaml");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->owner, "pawl-1");
  EXPECT_EQ(settings->partition, "gpu");
  EXPECT_EQ(settings->options, std::vector<std::string>{"--exclusive"});
  EXPECT_EQ(settings->jobs_at_once, 17);
  EXPECT_EQ(settings->poll, Millis{500});
  EXPECT_EQ(settings->find_again, SlurmSettings{}.find_again);
}

TEST(ExecutorSettingsTest, ContainersOfAMachineAndOfACluster) {
  const auto podman = parse_executor_choice(
      "executor: podman\nengines: script\npodman: {jobs_at_once: 2}\ncontainer:\n  devices: [nvidia.com/gpu=all]\n  mounts: ['/models:/models:ro']\n",
      "executor.yaml");
  ASSERT_TRUE(podman) << podman.error().message;
  EXPECT_EQ(podman->engines, EngineChoice::kScript);
  const auto settings = podman_settings(*podman, "pawl-1", "executor.yaml");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->jobs_at_once, 2);
  EXPECT_EQ(settings->container.devices, std::vector<std::string>{"nvidia.com/gpu=all"});
  const auto slurm = parse_executor_choice("executor: slurm\nslurm: {container: pyxis}\ncontainer: {program: /usr/bin/pawl}\n", "executor.yaml");
  ASSERT_TRUE(slurm) << slurm.error().message;
  EXPECT_EQ(slurm_settings(*slurm, "pawl-1", "executor.yaml")->container, SlurmContainer::kPyxis);
}

TEST(ExecutorSettingsTest, MistakesAreNamed) {
  const auto refused = [](const std::string& text, const std::string& words) {
    const auto choice = parse_executor_choice(text, "executor.yaml");
    std::string message = choice ? "" : choice.error().message + " " + choice.error().remedy + (choice.error().place ? choice.error().place->file : "");
    if (choice) {
      const auto settings = slurm_settings(*choice, "pawl-1", "executor.yaml");
      message = settings ? "" : settings.error().message;
    }
    EXPECT_NE(message.find(words), std::string::npos) << text << message;
    EXPECT_NE(message.find("executor.yaml"), std::string::npos) << text << message;
  };
  refused("executor: slrum\n", "process");
  refused("executor: slurm\nslurm: {partitoin: gpu}\n", "partition");
  refused("executor: process\nslurm: {partition: gpu}\n", "executor is process");
  refused("executor: slurm\nslurm: {jobs_at_once: 0}\n", "1 to 100000");
  refused("executor: slurm\nslurm: {poll_s: .nan}\n", "not finite");
  refused("executor: process\npodman: {jobs_at_once: 2}\n", "executor is process");
  refused("executor: slurm\ncontainer: {image: x}\n", "nothing runs in one");
  refused("executor: slurm\nslurm: {owner: ''}\n", "1 to 64");
}

}  // namespace
}  // namespace pawl::exec
