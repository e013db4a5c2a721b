// What one prompt costs to make: workload_bench [TOKENIZER]. Best of three rounds, in microseconds of CPU a prompt.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "tokenizer/tokenizer.h"
#include "workload/prefix_tree.h"
#include "workload/random_workload.h"
#include "workload/reference_workload.h"

namespace {

using namespace pawl;

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void measure(const char* name, std::int64_t isl, const Result<std::unique_ptr<workload::Workload>>& made) {
  if (!made) {
    std::printf("%-28s %6lld  %s\n", name, static_cast<long long>(isl), made.error().message.c_str());
    return;
  }
  const int prompts = isl > 2000 ? 50 : 300;
  double best = 1e18;
  std::size_t sink = 0;
  for (int round = 0; round < 3; ++round) {
    const double begin = cpu_us();
    for (int i = 0; i < prompts; ++i) {
      const workload::Prompt prompt = (*made)->prompt(i);
      sink += prompt.ids.size() + prompt.text.size();
    }
    best = std::min(best, (cpu_us() - begin) / prompts);
  }
  std::printf("%-28s %6lld  %9.1f us  (%zu)\n", name, static_cast<long long>(isl), best, sink);
}

}  // namespace

int main(int argc, char** argv) {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  if (argc > 1) {
    std::ifstream file(argv[1], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto loaded = tokenizer::load_tokenizer(bytes, argv[1]);
    if (!loaded) {
      std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
      return 1;
    }
    tokenizer = *loaded;
  }
  for (const std::int64_t isl : {128, 1024, 8192}) {
    const workload::LengthRule lengths{workload::RangeProfile::kInferencex, isl, 128, 1, 0};
    measure("random, ids", isl, workload::make_random_workload({.form = workload::Form::kIds, .tokenizer = tokenizer, .lengths = lengths}));
    measure("random, text", isl, workload::make_random_workload({.form = workload::Form::kText, .tokenizer = tokenizer, .lengths = lengths}));
    measure("prefix tree, ids", isl,
            workload::make_prefix_tree({.form = workload::Form::kIds, .tokenizer = tokenizer, .levels = {{4, isl / 2}}, .own_tokens = isl - isl / 2}));
    if (tokenizer)
      measure("reference (decode and repair)", isl, workload::make_reference_workload({.tokenizer = tokenizer, .isl = isl, .osl = 128, .requests = 300}));
  }
}
