// Loads and expands a catalogue again and again and prints the time of each step. Not a test.
//   expand_bench DIR [times]           a folder with configs/{amd,nvidia}-master.yaml and configs/runners.yaml
// What whole processes cost, and larger catalogues: expansion.py.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codec/json_append.h"
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

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: expand_bench DIR [times]\n");
    return 2;
  }
  const std::string folder = argv[1];
  const int times = argc > 2 ? std::atoi(argv[2]) : 20;
  const pawl::plan::Layout layout{"bench", {"configs/amd-master.yaml", "configs/nvidia-master.yaml"}, "configs/runners.yaml", ""};
  std::map<std::string, std::string> texts;
  for (const std::string& master : layout.masters) texts[master] = slurp(folder + "/" + master);
  texts[layout.runners] = slurp(folder + "/" + layout.runners);
  std::vector<double> load, validate, expand;
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
    // As `pawl matrix full-sweep` does it: rows are written as they come.
    std::string text;
    std::size_t written = 0;
    const pawl::Status done = pawl::plan::full_sweep(*catalogue, {}, [&](const pawl::codec::Json& row, const pawl::plan::RowOrigin&) -> pawl::Status {
      text += pawl::plan::matrix_text_before(written++ == 0);
      pawl::codec::append_json(text, row, pawl::codec::JsonForm::kPySpaced);
      return {};
    });
    if (!done) {
      fmt::print(stderr, "{}\n", done.error().message);
      return 3;
    }
    const auto t3 = Clock::now();
    const auto ms = [](Clock::time_point a, Clock::time_point b) { return std::chrono::duration<double, std::milli>(b - a).count(); };
    load.push_back(ms(t0, t1));
    validate.push_back(ms(t1, t2));
    expand.push_back(ms(t2, t3));
    recipes = catalogue->recipes().size();
    rows = written;
    bytes = text.size();
  }
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{} recipes, {} rows, {} bytes of JSON; medians of {} in ms: load {:.2f}, validate {:.2f}, full-sweep with its text (validates again) {:.2f}; "
      "peak {} MiB\n",
      recipes, rows, bytes, times, median(load), median(validate), median(expand), usage.ru_maxrss / 1024);
  return 0;
}
