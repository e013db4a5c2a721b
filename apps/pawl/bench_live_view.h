#pragma once

#include <memory>

#include "benchout/live.h"
#include "cli.h"
#include "measure/observer.h"

namespace pawl::app {

/// Shows a load run while it goes: on a terminal a few lines that are drawn over, else what the flags ask for, with the
/// numbers of the run in each line of JSON. Passes records on to the next observer. `next` must outlive it; may be null.
class BenchLiveView final : public io::Progress, public measure::RunObserver {
 public:
  BenchLiveView(const World& world, const CommonFlags& flags, measure::RunObserver* next);
  ~BenchLiveView() override;

  void report(const io::ProgressLine& line) override;
  void begin(MonoTime origin, WallTime wall) override;
  void first_request(std::string_view head, std::string_view body) override;
  void take(const measure::RequestRecord& record) override;
  /// Takes the drawn lines away, so that what follows starts clean.
  void clear();

 private:
  const io::Clock& clock_;
  std::unique_ptr<io::Progress> plain_;  ///< where it is no terminal
  measure::RunObserver* next_;
  bool drawn_over_ = false, colour_ = false;
  std::mutex mutex_;
  benchout::LiveStatus status_;
  std::size_t drawn_ = 0;  ///< lines on the screen
  MonoTime last_;
};

}  // namespace pawl::app
