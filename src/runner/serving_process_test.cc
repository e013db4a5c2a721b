#include "runner/serving_process.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pawl::runner {
namespace {

TEST(ServingProcessTest, TheListenerOfAPortIsFound) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  EXPECT_FALSE(command_of_listener(port)) << "bound, not listening";
  ASSERT_EQ(::listen(fd, 1), 0);
  const auto command = command_of_listener(port);
  ASSERT_TRUE(command);
  EXPECT_NE(command->front().find("runner_test"), std::string::npos) << command->front();
  ::close(fd);
}

TEST(ServingProcessTest, SecretsOfACommandLineAreHidden) {
  EXPECT_EQ(without_secrets({"serve", "--api-key", "abc", "--hf-token=xyz", "--tokenizer", "t", "--max-num-batched-tokens", "5", "--api-key"}),
            (std::vector<std::string>{"serve", "--api-key", "***", "--hf-token=***", "--tokenizer", "t", "--max-num-batched-tokens", "5", "--api-key"}));
}

TEST(ServingProcessTest, TheLineOfResolvedArgumentsIsFoundAndClean) {
  const auto line = resolved_arguments("warm\n[2026] server_args=ServerArgs(model_path='m', api_key='abc', tp_size=4)\nlater\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, "[2026] server_args=ServerArgs(model_path='m', api_key='***', tp_size=4)");
  const auto vllm = resolved_arguments("INFO non-default args: {'model': 'm', 'api_key': 'abc'}\r\n");
  ASSERT_TRUE(vllm);
  EXPECT_EQ(*vllm, "INFO non-default args: {'model': 'm', 'api_key': '***'}");
  EXPECT_FALSE(resolved_arguments("nothing\n"));
}

}  // namespace
}  // namespace pawl::runner
