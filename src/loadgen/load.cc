#include "loadgen/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/backend.h"
#include "loadgen/driver.h"
#include "loadgen/spill_file.h"
#include "loadgen/target.h"
#include "loadgen/verdict.h"
#include "measure/describe.h"
#include "measure/summary.h"

namespace pawl::loadgen {
namespace {

Status check(const LoadRequest& load) {
  if (backend::find_backend(load.backend) == nullptr) {
    std::string known;
    for (const backend::Backend* each : backend::all_backends()) known += (known.empty() ? "" : ", ") + std::string(each->name());
    return bad_input("unknown backend \"" + load.backend + "\"", "known ones: " + known);
  }
  if (load.model.empty()) return bad_input("no model name");
  backend::BodyOptions body;
  body.model = load.model;
  body.tools = load.tools;
  body.extra = load.extra;
  PAWL_TRY(backend::check_options(*backend::find_backend(load.backend), body));
  if (load.concurrency < 1 || load.concurrency > 1'000'000) return bad_input(fmt::format("concurrency {} is not between 1 and 1000000", load.concurrency));
  if (load.requests < 1) return bad_input(fmt::format("{} requests: at least 1", load.requests));
  if (load.warmups < 0) return bad_input(fmt::format("{} warm-ups: not below 0", load.warmups));
  if (load.isl < 1 || load.osl < 1) return bad_input(fmt::format("lengths {} and {}: at least 1 token each", load.isl, load.osl));
  if (!(load.range_ratio >= 0 && load.range_ratio <= 1)) return bad_input(fmt::format("range ratio {} is not between 0 and 1", load.range_ratio));
  if (load.vocabulary <= 100) return bad_input(fmt::format("a vocabulary of {} tokens has none to draw from", load.vocabulary));
  if (!(load.request_timeout_s > 0 && load.request_timeout_s < 1e6)) return bad_input(fmt::format("request time limit {} s", load.request_timeout_s));
  if (load.bearer && load.bearer->find_first_of("\r\n") != std::string::npos) return bad_input("the API key holds a line end");
  for (const auto& [name, value] : load.headers) {
    if (name.empty() || name.find_first_of(" \t\r\n:") != std::string::npos || value.find_first_of("\r\n") != std::string::npos) {
      return bad_input("\"" + name + "\" is no header that can be sent", "write it as NAME: VALUE, on one line");
    }
  }
  if (load.threads < 0 || load.threads > 1024) return bad_input(fmt::format("{} threads: between 0 and 1024", load.threads));
  if (load.open_limit && *load.open_limit < 1) return bad_input("a limit of requests in flight is at least 1");
  return {};
}

/// Where a worker's finished requests go: into the numbers of the result, and to whoever watches.
class Intake final : public RecordSink {
 public:
  Intake(const measure::SummaryOptions& options, MonoTime origin, measure::RunObserver* observer) : summary_(options, origin), observer_(observer) {}
  void take(RequestRecord& record) override {
    summary_.add(record);
    if (observer_ != nullptr) observer_->take(record);
  }
  [[nodiscard]] measure::Summary& summary() { return summary_; }

 private:
  measure::Summary summary_;
  measure::RunObserver* observer_;
};

/// The first measured request as it will go out, without what is secret.
void show_first(const RequestBuilder& builder, const Target& target, measure::RunObserver& observer) {
  const PlannedRequest first = builder.build(Phase::kMeasured, 0);
  const std::string bytes = builder.head(target) + first.bytes;
  const auto end = bytes.find("\r\n\r\n");
  std::string head;
  for (std::size_t at = 0; at < end && at < bytes.size();) {
    const std::size_t stop = std::min(bytes.find("\r\n", at), bytes.size());
    std::string line = bytes.substr(at, stop - at);
    const auto colon = line.find(':');
    std::string name = colon == std::string::npos ? "" : line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.find("auth") != std::string::npos || name.find("key") != std::string::npos || name.find("token") != std::string::npos || name == "cookie") {
      line = line.substr(0, colon + 1) + " ***";
    }
    head += line + "\r\n";
    at = stop + 2;
  }
  observer.first_request(head + "\r\n", end == std::string::npos ? std::string_view{} : std::string_view(bytes).substr(end + 4));
}

/// What the client knows of its own times: where they come from, and how late it read.
void fill_clock(const PhaseLog& log, model::BenchResult& result) {
  const WorkerLog& total = log.total;
  result.clock = total.kernel_reads > 0 && total.kernel_reads >= total.user_reads ? "kernel" : "user";
  if (total.user_reads > 0) result.flags["user_stamp_reads"] = total.user_reads;
  if (total.kernel_reads > 0) result.flags["kernel_stamp_reads"] = total.kernel_reads;
  if (total.clock_steps > 0) result.flags["clock_steps"] = total.clock_steps;
  if (total.late_bodies > 0) result.flags["late_bodies"] = total.late_bodies;
  result.flags["peak_in_flight"] = log.peak_in_flight;
  if (total.rx_delay_ns.count() > 0) result.metrics["rx_delay_ms"] = measure::describe_histogram(total.rx_delay_ns, false);
}

model::ClientHealth health(const LoadRequest& load, const PhaseLog& log, const model::BenchResult& result) {
  model::ClientHealth out;
  const WorkerLog& total = log.total;
  out.threads = log.threads;
  out.cpu_s = total.cpu_s;
  out.cpu_share = log.busiest_cpu_share;
  out.iteration_p99_ms = total.iteration_ns.percentile(99) * 1e-6;
  out.write_p99_ms = total.write_ns.percentile(99) * 1e-6;
  if (total.wakeups > 0) out.gathered_share = static_cast<double>(total.gathered_wakeups) / static_cast<double>(total.wakeups);
  if (result.counts.ok > 0) out.joined_first_share = static_cast<double>(total.joined_first) / static_cast<double>(result.counts.ok);
  out.stopped = log.stopped;
  // A closed loop offers C requests at any time, but for the moments between a slot's getting free and its next send.
  const bool open = load.arrivals || load.data_set_arrivals;
  if (const auto lag = result.metrics.find("lag_ms"); !open && lag != result.metrics.end() && lag->second.n > 0 && result.duration_s > 0) {
    out.idle_slot_share = lag->second.mean * static_cast<double>(lag->second.n) / 1000 / (result.duration_s * static_cast<double>(load.concurrency));
  }
  return out;
}

}  // namespace

Result<model::BenchResult> run_load(const LoadRequest& request, io::Progress& progress, std::stop_token stop) {
  PAWL_TRY(check(request));
  std::vector<Target> targets;
  PAWL_ASSIGN(targets.emplace_back(), parse_target(request.url));
  for (const std::string& url : request.more_urls) {
    PAWL_ASSIGN(targets.emplace_back(), parse_target(url));
  }
  const RequestBuilder builder(request);
  Driver driver(request, builder, targets, progress, stop);
  PAWL_TRY(driver.open());

  model::BenchResult result;
  result.url = targets.front().url;
  result.backend = request.backend;
  result.model_id = request.model;
  result.endpoint = targets.front().prefix + builder.endpoint();
  result.max_concurrency = request.concurrency;
  result.isl = request.isl;
  result.osl = request.osl;
  result.range_ratio = request.range_ratio;
  result.num_requests = request.requests;
  result.num_warmups = request.warmups;
  result.seed = request.seed;

  if (request.warmups > 0) PAWL_TRY(driver.run(Phase::kWarmup, request.warmups, {}));
  const ClockMap at_start = driver.clock();
  if (request.observer != nullptr) show_first(builder, targets.front(), *request.observer);
  SpillFile spill;
  measure::SummaryOptions options;
  options.chat = request.backend.ends_with("-chat");
  options.slo = request.slo;
  options.profiles = request.profiles;
  if (!request.arrivals && !request.data_set_arrivals) options.target_in_flight = request.concurrency;
  options.spill = &spill;
  const MonoTime origin = mono_now();
  std::vector<Intake> intakes;
  for (std::size_t i = 0; i < driver.workers(); ++i) intakes.emplace_back(options, origin, request.observer);
  std::vector<RecordSink*> sinks;
  for (Intake& intake : intakes) sinks.push_back(&intake);
  PAWL_ASSIGN(const PhaseLog log, driver.run(Phase::kMeasured, std::nullopt, sinks));
  measure::Summary& summary = intakes.front().summary();
  for (std::size_t i = 1; i < intakes.size(); ++i) summary.merge(intakes[i].summary());
  summary.fill(result);
  fill_clock(log, result);
  if (const auto first = summary.first_send()) result.started_unix_s = seconds_of(at_start.to_wall(*first).since_epoch);
  if (const auto last = summary.last_end()) result.ended_unix_s = seconds_of(driver.clock().to_wall(*last).since_epoch);
  result.client = health(request, log, result);
  judge(request, result, summary.failure_example());
  return result;
}

}  // namespace pawl::loadgen
