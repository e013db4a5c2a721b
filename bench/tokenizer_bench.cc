// Times encoding of one text: tokenizer_bench TOKENIZER TEXT [ROUNDS]. bench/tokenizer_bench.py runs it beside the
// reference library. With `--ids` instead of ROUNDS it prints the ids.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace {

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench TOKENIZER TEXT [ROUNDS | --ids]\n");
    return 2;
  }
  const double begin = now();
  const auto loaded = pawl::tokenizer::load_tokenizer(read(argv[1]), argv[1]);
  const double load_s = now() - begin;
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  const std::string text = read(argv[2]);
  const auto encoder = (*loaded)->encoder();
  std::vector<pawl::tokenizer::TokenId> ids;
  if (argc > 3 && std::string_view(argv[3]) == "--ids") {
    if (const auto done = encoder->encode(text, ids); !done) {
      std::fprintf(stderr, "%s\n", done.error().message.c_str());
      return 1;
    }
    for (const auto id : ids) std::printf("%d\n", id);
    return 0;
  }
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    ids.clear();
    const double start = now();
    if (!encoder->encode(text, ids)) return 1;
    best = std::min(best, now() - start);
  }
  std::printf("{\"kind\": \"%s\", \"load_s\": %.3f, \"bytes\": %zu, \"tokens\": %zu, \"mb_per_s\": %.2f}\n", (*loaded)->kind().c_str(), load_s, text.size(),
              ids.size(), static_cast<double>(text.size()) / best / 1e6);
}
