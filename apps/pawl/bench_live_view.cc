#include "bench_live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace pawl::app {
namespace {

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

BenchLiveView::BenchLiveView(const World& world, const CommonFlags& flags, measure::RunObserver* next) : clock_(world.clock), next_(next) {
  const char* term = std::getenv("TERM");
  const bool capable = ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  drawn_over_ = flags.progress.empty() && capable;
  colour_ = std::getenv("NO_COLOR") == nullptr;
  if (!drawn_over_) plain_ = make_progress(world, flags);
}

BenchLiveView::~BenchLiveView() { clear(); }

void BenchLiveView::begin(MonoTime origin, WallTime wall) {
  {
    const std::lock_guard lock(mutex_);
    status_.begin(origin);
  }
  if (next_ != nullptr) next_->begin(origin, wall);
}

void BenchLiveView::first_request(std::string_view head, std::string_view body) {
  if (next_ != nullptr) next_->first_request(head, body);
}

void BenchLiveView::take(const measure::RequestRecord& record) {
  {
    const std::lock_guard lock(mutex_);
    status_.take(record);
  }
  if (next_ != nullptr) next_->take(record);
}

void BenchLiveView::report(const io::ProgressLine& line) {
  const std::lock_guard lock(mutex_);
  benchout::LiveStatus::View view{.now = clock_.now(), .stage = line.stage, .done = line.done, .total = line.total};
  if (const auto found = line.numbers.find("in_flight"); found != line.numbers.end()) view.in_flight = static_cast<std::int64_t>(found->second);
  if (!drawn_over_) {
    io::ProgressLine more = line;
    more.numbers = status_.numbers(view);
    plain_->report(more);
    return;
  }
  std::string out = drawn_ > 0 ? fmt::format("\033[{}A", drawn_) : "";
  const auto lines = status_.lines(view, terminal_width(), colour_);
  for (const std::string& each : lines) out += "\r\033[2K" + each + "\n";
  drawn_ = lines.size();
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
}

void BenchLiveView::clear() {
  const std::lock_guard lock(mutex_);
  if (drawn_ == 0) return;
  std::string out = fmt::format("\033[{}A", drawn_);
  for (std::size_t i = 0; i < drawn_; ++i) out += "\033[2K\n";
  out += fmt::format("\033[{}A", drawn_);
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
  drawn_ = 0;
}

}  // namespace pawl::app
