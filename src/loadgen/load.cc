#include "loadgen/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/backend.h"
#include "loadgen/driver.h"
#include "loadgen/summary.h"
#include "loadgen/target.h"

namespace pawl::loadgen {
namespace {

Status check(const LoadRequest& load) {
  if (backend::find_backend(load.backend) == nullptr) {
    std::string known;
    for (const backend::Backend* each : backend::all_backends()) known += (known.empty() ? "" : ", ") + std::string(each->name());
    return bad_input("unknown backend \"" + load.backend + "\"", "known ones: " + known);
  }
  if (load.model.empty()) return bad_input("no model name");
  if (load.concurrency < 1 || load.concurrency > 1'000'000) return bad_input(fmt::format("concurrency {} is not between 1 and 1000000", load.concurrency));
  if (load.requests < 1) return bad_input(fmt::format("{} requests: at least 1", load.requests));
  if (load.warmups < 0) return bad_input(fmt::format("{} warm-ups: not below 0", load.warmups));
  if (load.isl < 1 || load.osl < 1) return bad_input(fmt::format("lengths {} and {}: at least 1 token each", load.isl, load.osl));
  if (!(load.range_ratio >= 0 && load.range_ratio <= 1)) return bad_input(fmt::format("range ratio {} is not between 0 and 1", load.range_ratio));
  if (load.vocabulary <= 100) return bad_input(fmt::format("a vocabulary of {} tokens has none to draw from", load.vocabulary));
  if (!(load.request_timeout_s > 0 && load.request_timeout_s < 1e6)) return bad_input(fmt::format("request time limit {} s", load.request_timeout_s));
  if (load.bearer && load.bearer->find_first_of("\r\n") != std::string::npos) return bad_input("the API key holds a line end");
  return {};
}

/// The first measured request as it will go out, without what is secret.
void show_first(const RequestBuilder& builder, measure::RunObserver& observer) {
  const PlannedRequest first = builder.build(Phase::kMeasured, 0);
  const std::string_view bytes = first.bytes;
  const auto end = bytes.find("\r\n\r\n");
  std::string head;
  for (std::size_t at = 0; at < end && at < bytes.size();) {
    const std::size_t stop = std::min(bytes.find("\r\n", at), bytes.size());
    std::string line(bytes.substr(at, stop - at));
    const auto colon = line.find(':');
    std::string name = colon == std::string::npos ? "" : line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.find("auth") != std::string::npos || name.find("key") != std::string::npos || name.find("token") != std::string::npos || name == "cookie") {
      line = line.substr(0, colon + 1) + " ***";
    }
    head += line + "\r\n";
    at = stop + 2;
  }
  observer.first_request(head + "\r\n", end == std::string_view::npos ? std::string_view{} : bytes.substr(end + 4));
}

}  // namespace

Result<model::BenchResult> run_load(const LoadRequest& request, io::Progress& progress, std::stop_token stop) {
  PAWL_TRY(check(request));
  PAWL_ASSIGN(const Target target, parse_target(request.url));
  PAWL_ASSIGN(auto addresses, resolve(target));
  const RequestBuilder builder(request, target);
  Driver driver(request, target, builder, std::move(addresses), progress, stop);
  PAWL_TRY(driver.open());

  model::BenchResult result;
  result.url = target.url;
  result.backend = request.backend;
  result.model_id = request.model;
  result.endpoint = builder.endpoint();
  result.max_concurrency = request.concurrency;
  result.isl = request.isl;
  result.osl = request.osl;
  result.range_ratio = request.range_ratio;
  result.num_requests = request.requests;
  result.num_warmups = request.warmups;
  result.seed = request.seed;

  if (request.warmups > 0) PAWL_TRY(driver.run(Phase::kWarmup, request.warmups));
  const ClockMap at_start = driver.clock();
  if (request.observer != nullptr) show_first(builder, *request.observer);
  PAWL_ASSIGN(const PhaseLog log, driver.run(Phase::kMeasured, request.requests));
  summarise(log, result);

  std::optional<MonoTime> first, last;
  for (const RequestRecord& record : log.records) {
    if (record.send) first = first ? std::min(*first, *record.send) : *record.send;
    if (record.end) last = last ? std::max(*last, *record.end) : *record.end;
  }
  if (first) result.started_unix_s = seconds_of(at_start.to_wall(*first).since_epoch);
  if (last) result.ended_unix_s = seconds_of(driver.clock().to_wall(*last).since_epoch);
  judge(request, result, failure_example(log, result));
  return result;
}

}  // namespace pawl::loadgen
