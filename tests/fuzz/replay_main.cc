// Replays a kept corpus: every file as it is, then mutations of them by a fixed seed, so that the same build does the same every time.
//   fuzz_replay_NAME FOLDER [MUTATIONS]
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz_target.h"

namespace {

namespace fs = std::filesystem;

/// One change of the kind that finds most: a byte, a copy of a stretch, a stretch of another input, a cut.
std::string mutated(std::string text, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  constexpr std::string_view kBytes = "-:,[]{}'\"#&*!|>%@`?\n\r\t \\0123456789_.+~<=ax\xC3\xA9\xEF\xBB\xBF\xE2\x80\xA8\xC2\x85\x00\x7F";
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 0, changes = 1 + below(4); i < changes; ++i) {
    const std::size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      case 1:
        if (at < text.size()) text[at] = kBytes[below(kBytes.size())];
        break;
      case 2:
        text.erase(at, 1 + below(8));
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, below(24)));
        break;
      default: {
        const std::string& other = corpus[below(corpus.size())];
        const std::string part = other.substr(below(other.size() + 1), below(48));
        text.insert(at, part);
      }
    }
  }
  if (text.size() > pawl::fuzz::kInputMax) text.resize(pawl::fuzz::kInputMax);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_replay_NAME FOLDER [MUTATIONS]\n");
    return 2;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> corpus;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s holds no file\n", argv[1]);
    return 1;
  }
  for (const std::string& text : corpus) pawl::fuzz::one_input(std::string_view(text).substr(0, pawl::fuzz::kInputMax));
  std::mt19937_64 random(20261130);
  const long mutations = argc > 2 ? std::atol(argv[2]) : 0;
  for (long i = 0; i < mutations; ++i) pawl::fuzz::one_input(mutated(corpus[static_cast<std::size_t>(random() % corpus.size())], corpus, random));
  std::printf("%zu inputs and %ld mutations: nothing found\n", corpus.size(), mutations);
  return 0;
}
