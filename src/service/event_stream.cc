#include "service/event_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/json.h"
#include "results/api.h"

namespace pawl::service {
namespace {

using codec::Json;

constexpr std::size_t kListenersMax = 200;
constexpr auto kTick = std::chrono::milliseconds(500);
constexpr int kTicksOfSilence = 30;  ///< then a comment keeps proxies from closing the stream

std::string event(const char* name, const std::optional<std::int64_t>& id, const Json& data) {
  return fmt::format("event: {}\n{}data: {}\n\n", name, id ? fmt::format("id: {}\n", *id) : "", codec::write_json(data, codec::JsonForm::kCompactUtf8));
}

}  // namespace

EventStream::EventStream(Open open) : open_(std::move(open)), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

EventStream::~EventStream() {
  thread_.request_stop();
  wake_.notify_all();
  thread_ = {};
  stop();
}

bool EventStream::add(std::shared_ptr<http::Responder> responder, std::optional<std::int64_t> after) {
  {
    const std::lock_guard lock(mutex_);
    if (listeners_.size() >= kListenersMax) return false;
    responder->begin(200, {{"Content-Type", "text/event-stream; charset=utf-8"},
                           {"Cache-Control", "no-store"},
                           {"X-Content-Type-Options", "nosniff"},
                           {"Access-Control-Allow-Origin", "*"},
                           {"X-Accel-Buffering", "no"}});
    responder->write("retry: 3000\n\n");
    listeners_.push_back({std::move(responder), after.value_or(0), !after});
  }
  wake_.notify_all();
  return true;
}

void EventStream::stop() {
  const std::lock_guard lock(mutex_);
  for (const Listener& l : listeners_) l.responder->finish();
  listeners_.clear();
}

std::size_t EventStream::listeners() {
  const std::lock_guard lock(mutex_);
  return listeners_.size();
}

void EventStream::watch(const std::stop_token& stop) {
  std::optional<store::Database> db;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait(lock, stop, [&] { return !listeners_.empty(); });
    if (stop.stop_requested()) return;
    if (!db) {
      auto opened = open_();
      if (opened) db.emplace(std::move(*opened));
    }
    // A store that cannot be read now is looked at again with the next tick, on a new connection.
    if (db && !look(*db)) db.reset();
    wake_.wait_for(lock, stop, kTick, [] { return false; });
  }
}

Status EventStream::look(store::Database& db) {
  std::erase_if(listeners_, [](const Listener& l) { return l.responder->peer_gone(); });
  std::string silence;
  if (++quiet_ticks_ >= kTicksOfSilence) {
    quiet_ticks_ = 0;
    silence = ": still here\n\n";
  }
  std::string jobs;
  PAWL_ASSIGN(const bool has_jobs, db.has_table("runner_job"));
  if (has_jobs) {
    std::map<std::string, std::string> now;
    PAWL_TRY(db.query("SELECT run, attempt, job, state FROM runner_job ORDER BY run DESC, attempt DESC, position LIMIT 1000", {}, [&](const store::Row& row) {
      const std::string key = fmt::format("{} {} {}", row.whole(0), row.whole(1), row.text(2));
      now[key] = row.text(3);
      const auto before = jobs_.find(key);
      if (jobs_known_ && (before == jobs_.end() || before->second != row.text(3))) {
        jobs += event("job", std::nullopt, {{"run", row.whole(0)}, {"attempt", row.whole(1)}, {"job", row.text(2)}, {"state", row.text(3)}});
      }
      return Status();
    }));
    jobs_ = std::move(now);
    jobs_known_ = true;
  }
  PAWL_ASSIGN(const std::int64_t generation, results::ResultsApi::generation(db));
  for (Listener& l : listeners_) {
    std::string text;
    if (l.fresh) {
      text = event("hello", generation, {{"generation", generation}});
      l.fresh = false;
      l.told = generation;
    } else if (l.told < generation) {
      PAWL_TRY(
          db.query("SELECT generation, at, kind, source, counts FROM results_ingest WHERE generation > ?1 AND generation <= ?2 ORDER BY generation LIMIT 500",
                   {l.told, generation}, [&](const store::Row& row) -> Status {
                     PAWL_ASSIGN(const Json counts, codec::parse_json(row.text(4), "a stored ingest"));
                     text += event("store", row.whole(0),
                                   {{"generation", row.whole(0)}, {"at", row.text(1)}, {"kind", row.text(2)}, {"source", row.text(3)}, {"counts", counts}});
                     return {};
                   }));
      // Writes that are no ingest (a purge, say) have no line there.
      if (text.empty()) text = event("store", generation, {{"generation", generation}});
      l.told = generation;
    }
    text += jobs;
    if (text.empty()) text = silence;
    if (!text.empty()) l.responder->write(text);
  }
  return {};
}

}  // namespace pawl::service
