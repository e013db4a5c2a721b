// Loads and expands a catalogue again and again and prints the time of each step. Not a test.
//   expand_bench DIR [times]           a folder with configs/{amd,nvidia}-master.yaml and configs/runners.yaml
//   expand_bench DIR [times] COPIES    the same with every recipe COPIES times, to see that cost grows linearly
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plan/generator.h"
#include "plan/schema.h"

namespace {

using Clock = std::chrono::steady_clock;

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Every top-level entry under several keys: the text of each is repeated with another key.
std::string copies_of(const std::string& master, int copies) {
  std::string out;
  for (int i = 0; i < copies; ++i) {
    std::istringstream lines(master);
    for (std::string line; std::getline(lines, line);) {
      const bool key = !line.empty() && line[0] != ' ' && line[0] != '#' && line[0] != '-' && line.ends_with(':');
      out += key && i > 0 ? fmt::format("c{}-{}\n", i, line) : line + "\n";
    }
  }
  return out;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: expand_bench DIR [times] [copies]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int times = argc > 2 ? std::atoi(argv[2]) : 20, copies = argc > 3 ? std::atoi(argv[3]) : 1;
  const pawl::plan::Layout layout{"bench", {"configs/amd-master.yaml", "configs/nvidia-master.yaml"}, "configs/runners.yaml", ""};
  std::map<std::string, std::string> texts;
  for (const std::string& master : layout.masters) texts[master] = copies_of(slurp(folder + "/" + master), copies);
  texts[layout.runners] = slurp(folder + "/" + layout.runners);
  std::vector<double> load, validate, expand, write;
  std::size_t recipes = 0, rows = 0, bytes = 0;
  for (int i = 0; i < times; ++i) {
    const auto t0 = Clock::now();
    const auto catalogue = pawl::plan::Catalogue::read(layout, texts);
    if (!catalogue) {
      fmt::print(stderr, "{}\n", catalogue.error().message);
      return 3;
    }
    const auto t1 = Clock::now();
    const auto violations = pawl::plan::validate(*catalogue);
    const auto t2 = Clock::now();
    const auto matrix = pawl::plan::full_sweep(*catalogue, {});
    if (!matrix) {
      fmt::print(stderr, "{}\n", matrix.error().message);
      return 3;
    }
    const auto t3 = Clock::now();
    const std::string text = pawl::plan::matrix_text(matrix->rows);
    const auto t4 = Clock::now();
    const auto ms = [](Clock::time_point a, Clock::time_point b) { return std::chrono::duration<double, std::milli>(b - a).count(); };
    load.push_back(ms(t0, t1));
    validate.push_back(ms(t1, t2));
    expand.push_back(ms(t2, t3));
    write.push_back(ms(t3, t4));
    recipes = catalogue->recipes().size();
    rows = matrix->rows.size();
    bytes = text.size();
  }
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{} recipes, {} rows, {} bytes of JSON; medians of {} in ms: load {:.2f}, validate {:.2f}, full-sweep (validates again) {:.2f}, write {:.2f}; peak {} "
      "MiB\n",
      recipes, rows, bytes, times, median(load), median(validate), median(expand), median(write), usage.ru_maxrss / 1024);
  return 0;
}
