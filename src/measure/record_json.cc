#include "measure/record_json.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "codec/describe.h"
#include "codec/json.h"

namespace pawl::measure {
namespace {

using codec::Json;

struct Moment {
  const char* key;
  std::optional<MonoTime> RequestRecord::*member;
};
constexpr std::array kMoments{Moment{"sched_ns", &RequestRecord::sched},
                              Moment{"admit_ns", &RequestRecord::admit},
                              Moment{"conn_start_ns", &RequestRecord::conn_start},
                              Moment{"conn_end_ns", &RequestRecord::conn_end},
                              Moment{"send_ns", &RequestRecord::send},
                              Moment{"sent_ns", &RequestRecord::sent},
                              Moment{"head_ns", &RequestRecord::head},
                              Moment{"first_event_ns", &RequestRecord::first_event},
                              Moment{"first_token_ns", &RequestRecord::first_token},
                              Moment{"first_answer_ns", &RequestRecord::first_answer},
                              Moment{"last_token_ns", &RequestRecord::last_token},
                              Moment{"last_choice_ns", &RequestRecord::last_choice},
                              Moment{"usage_at_ns", &RequestRecord::usage_at},
                              Moment{"done_at_ns", &RequestRecord::done_at},
                              Moment{"end_ns", &RequestRecord::end}};

struct Count {
  const char* key;
  std::optional<std::int64_t> RequestRecord::*member;
};
constexpr std::array kCounts{Count{"usage_input", &RequestRecord::usage_input},
                             Count{"usage_output", &RequestRecord::usage_output},
                             Count{"usage_cached", &RequestRecord::usage_cached},
                             Count{"usage_reasoning", &RequestRecord::usage_reasoning},
                             Count{"usage_output_apart", &RequestRecord::usage_output_apart},
                             Count{"meta_input", &RequestRecord::meta_input},
                             Count{"meta_output", &RequestRecord::meta_output},
                             Count{"meta_cached", &RequestRecord::meta_cached},
                             Count{"ids_output", &RequestRecord::ids_output},
                             Count{"retok_input", &RequestRecord::retok_input},
                             Count{"retok_output", &RequestRecord::retok_output},
                             Count{"retok_reasoning", &RequestRecord::retok_reasoning}};

/// Server bytes are not trusted to be UTF-8: what is none becomes U+FFFD.
std::string json_text(std::string_view text) { return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::int64_t int_at(const Json& json, const char* key, std::int64_t otherwise = 0) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}
std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string{};
}
bool flag_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

void append_head(const RecordsHead& head, std::string& out) { out += codec::write_json(codec::to_json(head), codec::JsonForm::kCompactUtf8) + "\n"; }

void append_record(const RequestRecord& record, MonoTime origin, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, R"({{"index":{},"session":{},"turn":{},"worker":{},"phase":"{}","outcome":"{}")", record.index, record.session, record.turn, record.worker,
                 codec::enum_text(record.phase), codec::enum_text(record.outcome));
  if (!record.id.empty()) out += R"(,"id":)" + json_text(record.id);
  fmt::format_to(to, R"(,"asked_input":{},"asked_output":{})", record.asked_input, record.asked_output);
  if (record.input_exact) out += R"(,"input_exact":true)";
  if (record.ignores_eos) out += R"(,"ignores_eos":true)";
  fmt::format_to(to, R"(,"ready_ns":{})", (record.ready - origin).count());
  for (const Moment& moment : kMoments) {
    if (const auto& at = record.*moment.member) fmt::format_to(to, R"(,"{}":{})", moment.key, (*at - origin).count());
  }
  if (record.end_late_ns > 0) fmt::format_to(to, R"(,"end_late_ns":{})", record.end_late_ns);
  if (record.build) fmt::format_to(to, R"(,"build_ns":{})", record.build->count());
  for (const Count& count : kCounts) {
    if (const auto& n = record.*count.member) fmt::format_to(to, R"(,"{}":{})", count.key, *n);
  }
  if (record.usage_final) out += R"(,"usage_final":true)";
  fmt::format_to(to, R"(,"status":{},"bytes":{},"text_bytes":{})", record.status, record.bytes, record.text_bytes);
  if (record.error_number != 0) fmt::format_to(to, R"(,"errno":{})", record.error_number);
  if (!record.finish_reason.empty()) out += R"(,"finish_reason":)" + json_text(record.finish_reason);
  if (!record.failure.empty()) out += R"(,"failure":)" + json_text(record.failure);
  if (!record.detail.empty()) out += R"(,"detail":)" + json_text(record.detail);
  if (!record.flags.empty()) {
    out += R"(,"flags":{)";
    bool first = true;
    for (const auto& [flag, n] : record.flags) {
      fmt::format_to(to, R"({}"{}":{})", first ? "" : ",", flag, n);
      first = false;
    }
    out += '}';
  }
  if (!record.text.empty()) out += R"(,"text":)" + json_text(record.text);
  if (!record.reasoning_text.empty()) out += R"(,"reasoning_text":)" + json_text(record.reasoning_text);
  if (!record.events.empty()) {
    const MonoTime base = record.send.value_or(origin);
    out += R"(,"events":[)";
    for (std::size_t i = 0; i < record.events.size(); ++i) {
      const StreamEvent& event = record.events[i];
      fmt::format_to(to, "{}[{},{},{},{},{}]", i == 0 ? "" : ",", (event.at - base).count(), event.late_ns, event.tokens().value_or(-1), unsigned{event.choice},
                     unsigned{event.marks});
    }
    out += ']';
  }
  out += "}\n";
}

Result<RecordsHead> read_head(std::string_view line, const std::string& place) {
  PAWL_ASSIGN(const Json json, codec::parse_json(line, place));
  const std::string schema = text_at(json, "schema");
  if (schema != RecordsHead{}.schema)
    return bad_input(fmt::format("{}: not a file of records (schema \"{}\")", place, schema), "give a file that `pawl bench --records` wrote");
  return codec::from_json<RecordsHead>(json, place, codec::UnknownKeys::kIgnore);
}

Result<RequestRecord> read_record(std::string_view line, MonoTime origin, const std::string& place) {
  PAWL_ASSIGN(const Json json, codec::parse_json(line, place));
  if (!json.is_object()) return bad_input(place + ": not a record");
  RequestRecord record;
  record.index = int_at(json, "index");
  record.session = int_at(json, "session", record.index);
  record.turn = int_at(json, "turn");
  record.worker = int_at(json, "worker");
  const auto phase = codec::enum_value<Phase>(text_at(json, "phase"));
  const auto outcome = codec::enum_value<Outcome>(text_at(json, "outcome"));
  if (!phase || !outcome) return bad_input(place + ": a record without phase or outcome");
  record.phase = *phase;
  record.outcome = *outcome;
  record.id = text_at(json, "id");
  record.asked_input = int_at(json, "asked_input");
  record.asked_output = int_at(json, "asked_output");
  record.input_exact = flag_at(json, "input_exact");
  record.ignores_eos = flag_at(json, "ignores_eos");
  record.ready = origin + Nanos(int_at(json, "ready_ns"));
  for (const Moment& moment : kMoments) {
    const auto found = json.find(moment.key);
    if (found != json.end() && found->is_number_integer()) record.*moment.member = origin + Nanos(found->get<std::int64_t>());
  }
  record.end_late_ns = static_cast<std::uint32_t>(int_at(json, "end_late_ns"));
  if (json.contains("build_ns")) record.build = Nanos(int_at(json, "build_ns"));
  for (const Count& count : kCounts) {
    const auto found = json.find(count.key);
    if (found != json.end() && found->is_number_integer()) record.*count.member = found->get<std::int64_t>();
  }
  record.usage_final = flag_at(json, "usage_final");
  record.status = static_cast<int>(int_at(json, "status"));
  record.bytes = int_at(json, "bytes");
  record.text_bytes = int_at(json, "text_bytes");
  record.error_number = static_cast<int>(int_at(json, "errno"));
  record.finish_reason = text_at(json, "finish_reason");
  record.failure = text_at(json, "failure");
  record.detail = text_at(json, "detail");
  record.text = text_at(json, "text");
  record.reasoning_text = text_at(json, "reasoning_text");
  if (const auto flags = json.find("flags"); flags != json.end() && flags->is_object()) {
    for (const auto& [flag, n] : flags->items()) {
      if (n.is_number_integer()) record.flags[flag] = n.get<std::int64_t>();
    }
  }
  const MonoTime base = record.send.value_or(origin);
  if (const auto events = json.find("events"); events != json.end() && events->is_array()) {
    record.events.reserve(events->size());
    for (const Json& item : *events) {
      if (!item.is_array() || item.size() != 5 || !std::ranges::all_of(item, [](const Json& n) { return n.is_number_integer(); })) {
        return bad_input(place + ": an event that is not five whole numbers");
      }
      StreamEvent event{.at = base + Nanos(item[0].get<std::int64_t>()), .late_ns = item[1].get<std::uint32_t>()};
      const auto tokens = item[2].get<std::int64_t>();
      event.set_tokens(tokens < 0 ? std::nullopt : std::optional(tokens));
      event.choice = static_cast<unsigned>(item[3].get<std::int64_t>()) & 0x3Fu;
      event.marks = static_cast<unsigned>(item[4].get<std::int64_t>()) & 0x3FFu;
      record.events.push_back(event);
    }
  }
  return record;
}

}  // namespace pawl::measure
