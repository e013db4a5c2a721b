#include "workload/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "codec/json.h"
#include "workload/filler.h"
#include "workload/internal/row_numbers.h"
#include "workload/rows.h"

namespace pawl::workload {
namespace {

using codec::Json;

constexpr std::uint64_t kWarmupStream = 0x5741524D55505F31ull;
constexpr std::int64_t kShortest = 4, kLongestPrompt = 1024, kLongestTotal = 2048;  // BC-10.9
constexpr const char* kMalformed = "malformed";
constexpr const char* kNoPair = "no_pair";

enum class Speaker { kSystem, kHuman, kAssistant, kOther };

Speaker speaker_of(std::string_view name) {
  if (name == "human" || name == "user") return Speaker::kHuman;
  if (name == "gpt" || name == "assistant" || name == "chatgpt" || name == "bing" || name == "bard") return Speaker::kAssistant;
  return name == "system" ? Speaker::kSystem : Speaker::kOther;
}

struct Said {
  Speaker speaker = Speaker::kOther;
  std::string name, text;
};

/// The messages of a row of either shape; nothing: malformed.
std::optional<std::vector<Said>> messages_of(const Json& row) {
  if (!row.is_object()) return std::nullopt;
  const char *list = "conversations", *name = "from", *text = "value";
  if (!row.contains(list)) list = "messages", name = "role", text = "content";
  const auto found = row.find(list);
  if (found == row.end() || !found->is_array()) return std::nullopt;
  std::vector<Said> out;
  for (const Json& item : *found) {
    if (!item.is_object()) return std::nullopt;
    const auto from = item.find(name), value = item.find(text);
    if (from == item.end() || value == item.end() || !from->is_string() || !value->is_string()) return std::nullopt;
    auto who = from->get<std::string>();
    out.push_back({speaker_of(who), std::move(who), value->get<std::string>()});
  }
  return out;
}

/// The place of the next human message that an assistant message follows directly, at `from` or later.
std::optional<std::size_t> next_pair(const std::vector<Said>& messages, std::size_t from) {
  for (std::size_t i = from; i + 1 < messages.size(); ++i) {
    if (messages[i].speaker == Speaker::kHuman && messages[i + 1].speaker == Speaker::kAssistant) return i;
  }
  return std::nullopt;
}

/// Prompts that were all read before the run, one session after the other.
class ReadWorkload final : public Workload {
 public:
  struct Session {
    std::vector<Prompt> turns;
  };
  ReadWorkload(Description description, const std::vector<Session>& sessions, std::int64_t asked, std::shared_ptr<const Filler> filler, Form form)
      : description_(std::move(description)), filler_(std::move(filler)), form_(form) {
    starts_.push_back(0);
    double input = 0, output = 0;
    bool all_timed = true;
    for (const Session& session : sessions) {
      for (const Prompt& prompt : session.turns) {
        input += static_cast<double>(prompt.isl);
        output += static_cast<double>(prompt.osl);
        all_timed = all_timed && prompt.arrival.has_value();
        prompts_.push_back(prompt);
      }
      starts_.push_back(static_cast<std::int64_t>(prompts_.size()));
    }
    timed_ = all_timed;
    if (!timed_) {
      for (Prompt& prompt : prompts_) prompt.arrival.reset();
    }
    sessions_ = asked > 0 ? asked : static_cast<std::int64_t>(sessions.size());
    const auto n = static_cast<double>(prompts_.size());
    description_.mean_isl = input / n;
    description_.mean_osl = output / n;
    description_.requests = sessions_;
    description_.repeats = std::max<std::int64_t>(0, sessions_ - static_cast<std::int64_t>(sessions.size()));
    if (timed_) {
      const Nanos last = prompts_.back().arrival.value_or(Nanos(0));
      round_ = prompts_.size() > 1 ? last + last / static_cast<std::int64_t>(prompts_.size() - 1) : Seconds(1);
    }
  }

  std::optional<std::int64_t> size() const override { return session(sessions_ - 1).first + session(sessions_ - 1).count; }
  std::optional<std::int64_t> sessions() const override { return sessions_; }
  bool has_arrivals() const override { return timed_; }
  SessionSpan session(std::int64_t number) const override {
    const auto kept = static_cast<std::int64_t>(starts_.size()) - 1;
    const auto at = static_cast<std::size_t>(number % kept);
    return {number / kept * starts_.back() + starts_[at], starts_[at + 1] - starts_[at]};
  }

  Prompt prompt(std::int64_t index) const override {
    const std::int64_t round = index / starts_.back(), within = index % starts_.back();
    const auto session = static_cast<std::size_t>(std::ranges::upper_bound(starts_, within) - starts_.begin() - 1);
    Prompt out = prompts_[static_cast<std::size_t>(within)];
    out.session = round * (static_cast<std::int64_t>(starts_.size()) - 1) + static_cast<std::int64_t>(session);
    out.turn = within - starts_[session];
    if (out.turn > 0) out.parents.push_back(index - 1);
    if (out.arrival) *out.arrival += round_ * round;
    return out;
  }

  Prompt warmup(std::int64_t index) const override {
    const Prompt& like = prompts_[static_cast<std::size_t>(index % starts_.back())];
    Prompt out;
    out.session = index;
    out.osl = like.osl;
    SplitMix64 random = generator_at(static_cast<std::uint64_t>(description_.seed), kWarmupStream ^ description_.salt, index);
    filler_->fill(form_, random, like.isl, out);
    return out;
  }

  Description describe() const override { return description_; }

 private:
  Description description_;
  std::shared_ptr<const Filler> filler_;
  Form form_;
  std::vector<Prompt> prompts_;
  std::vector<std::int64_t> starts_;  ///< first prompt of each session, and one past the last
  std::int64_t sessions_ = 0;
  bool timed_ = false;
  Nanos round_{0};
};

/// Reads rows in their order until there are enough. `take` gives a session, or the reason to drop the row.
template <class Take>
Result<std::unique_ptr<Workload>> read_rows(const char* dataset, const TextRowOptions& options, std::string_view file, Take take) {
  PAWL_ASSIGN(const auto rows, split_rows(file, options.path));
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer));
  Description description;
  description.dataset = dataset;
  description.path = options.path;
  description.tokenizer = filler->tokenizer_name();
  description.seed = options.seed;
  description.salt = options.salt;
  description.rows = static_cast<std::int64_t>(rows.size());
  std::vector<std::uint32_t> order = shuffled(rows.size(), options.seed);
  if (options.keep_order) std::ranges::sort(order);
  std::vector<ReadWorkload::Session> sessions;
  std::int64_t looked_at = 0;
  for (const std::uint32_t number : order) {
    if (options.requests > 0 && static_cast<std::int64_t>(sessions.size()) == options.requests) break;
    ++looked_at;
    const auto json = codec::parse_json(rows[number], options.path);
    ReadWorkload::Session session;
    const Result<std::string> reason = json ? take(*json, *filler, session) : Result<std::string>(kMalformed);
    if (!reason) return Error(reason.error()).within(fmt::format("{}, row {}", options.path, number + 1));
    if (reason->empty()) {
      sessions.push_back(std::move(session));
    } else {
      ++description.dropped[*reason];
    }
  }
  if (looked_at < *description.rows) description.notes.push_back(fmt::format("looked at {} of {} rows: then there were enough", looked_at, *description.rows));
  if (options.salt != 0) description.notes.emplace_back("recorded texts carry no salt: only their warm-ups differ from point to point");
  description.kept = static_cast<std::int64_t>(sessions.size());
  PAWL_TRY(check_usable(options.path, *description.kept, options.requests, options.repeat, description.dropped));
  const bool dependent = std::ranges::any_of(sessions, [](const auto& session) { return session.turns.size() > 1; });
  if (dependent) description.sessions = options.requests > 0 ? options.requests : *description.kept;
  const bool all_timed = std::ranges::all_of(sessions, [](const auto& session) { return session.turns[0].arrival.has_value(); });
  if (all_timed) {
    std::ranges::stable_sort(sessions, {}, [](const auto& session) { return *session.turns[0].arrival; });
    const Nanos begin = *sessions[0].turns[0].arrival;
    for (auto& session : sessions) *session.turns[0].arrival -= begin;
  }
  return std::unique_ptr<Workload>(std::make_unique<ReadWorkload>(std::move(description), sessions, options.requests, std::move(filler), options.form));
}

void put_text(Form form, std::string text, Prompt& prompt) {
  if (form == Form::kMessages) {
    prompt.messages.push_back({"user", std::move(text)});
  } else {
    prompt.text = std::move(text);
  }
}

}  // namespace

Result<std::unique_ptr<Workload>> make_sharegpt_workload(const TextRowOptions& options, std::string_view file) {
  if (!options.tokenizer) return bad_input("the rules of a ShareGPT-shaped data set are about tokens", "give the tokenizer.json of the model (--tokenizer)");
  const auto encoder = options.tokenizer->encoder();
  return read_rows("sharegpt", options, file, [&](const Json& row, const Filler&, ReadWorkload::Session& session) -> Result<std::string> {
    auto messages = messages_of(row);
    if (!messages) return std::string(kMalformed);
    const auto at = next_pair(*messages, 0);
    if (!at) return std::string(kNoPair);
    // BC-10.10: the first reason in this order.
    PAWL_ASSIGN(const std::int64_t prompt, encoder->count((*messages)[*at].text));
    PAWL_ASSIGN(const std::int64_t answer, encoder->count((*messages)[*at + 1].text));
    const std::int64_t output = options.osl.value_or(answer);
    if (prompt < (options.limits ? kShortest : 1)) return std::string("prompt_short");
    if (options.limits && prompt > kLongestPrompt) return std::string("prompt_long");
    if (!options.osl && answer < (options.limits ? kShortest : 1)) return std::string("output_short");
    if (options.limits && prompt + output > kLongestTotal) return std::string("total_long");
    Prompt out;
    out.asked_isl = out.isl = prompt;
    out.osl = output;
    if (options.form == Form::kIds) {
      PAWL_TRY(encoder->encode((*messages)[*at].text, out.ids));
      out.input_exact = true;
    } else {
      put_text(options.form, std::move((*messages)[*at].text), out);
    }
    session.turns.push_back(std::move(out));
    return std::string();
  });
}

Result<std::unique_ptr<Workload>> make_session_workload(const TextRowOptions& options, std::string_view file) {
  if (options.form != Form::kMessages) return bad_input("sessions are conversations", "choose a chat back end");
  return read_rows("sessions", options, file, [&](const Json& row, const Filler& filler, ReadWorkload::Session& session) -> Result<std::string> {
    auto messages = messages_of(row);
    if (!messages) return std::string(kMalformed);
    std::vector<Message> history;
    if (!messages->empty() && (*messages)[0].speaker == Speaker::kSystem) history.push_back({"system", (*messages)[0].text});
    std::int64_t history_tokens = 0;
    for (const Message& message : history) {
      PAWL_ASSIGN(const std::int64_t tokens, filler.count(message.content));
      history_tokens += tokens;
    }
    for (auto at = next_pair(*messages, 0); at && (options.max_turns == 0 || static_cast<std::int64_t>(session.turns.size()) < options.max_turns);
         at = next_pair(*messages, *at + 2)) {
      Said &asked = (*messages)[*at], &answered = (*messages)[*at + 1];
      PAWL_ASSIGN(const std::int64_t tokens, filler.count(asked.text));
      PAWL_ASSIGN(const std::int64_t answer, filler.count(answered.text));
      Prompt out;
      out.osl = std::max<std::int64_t>(1, options.osl.value_or(answer));
      const bool follows = !session.turns.empty();
      if (follows) out.think_time = options.think_time;
      if (options.history == History::kLive && follows) {
        out.continues = true;
        out.messages.push_back({"user", asked.text});
        // What went before counts as input too; the live replies are counted by the server.
        history_tokens += tokens;
        out.isl = out.asked_isl = history_tokens;
      } else {
        history.push_back({"user", asked.text});
        history_tokens += tokens;
        out.messages = history;
        out.asked_isl = out.isl = history_tokens;
      }
      if (options.history == History::kRecorded) {
        history.push_back({"assistant", std::move(answered.text)});
        history_tokens += answer;
      }
      session.turns.push_back(std::move(out));
    }
    return std::string(session.turns.empty() ? kNoPair : "");
  });
}

Result<std::unique_ptr<Workload>> make_jsonl_workload(const TextRowOptions& options, std::string_view file) {
  return read_rows("jsonl", options, file, [&](const Json& row, const Filler& filler, ReadWorkload::Session& session) -> Result<std::string> {
    if (!row.is_object()) return std::string(kMalformed);
    Prompt out;
    auto output = integer_at(row, "output_tokens");
    if (!output) output = integer_at(row, "max_tokens");
    if (options.osl) output = options.osl;
    if (const auto time = number_at(row, "timestamp_ms")) {
      if (*time < 0 || *time > 9e12) return std::string(kMalformed);
      out.arrival = Nanos(std::llround(*time * 1e6));
    }
    const auto prompt = row.find("prompt");
    if (prompt != row.end() && prompt->is_string()) {
      auto text = prompt->get<std::string>();
      if (text.empty()) return std::string("empty");
      PAWL_ASSIGN(out.isl, filler.count(text));
      put_text(options.form, std::move(text), out);
    } else if (prompt != row.end() && prompt->is_array()) {
      if (options.form == Form::kMessages) return bad_input("token ids for a chat back end", "choose one for completions, or give texts");
      for (const Json& id : *prompt) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() > INT32_MAX) return std::string(kMalformed);
        out.ids.push_back(static_cast<std::int32_t>(id.get<std::uint64_t>()));
      }
      if (out.ids.empty()) return std::string("empty");
      out.isl = static_cast<std::int64_t>(out.ids.size());
      out.input_exact = true;
    } else if (auto messages = messages_of(row)) {
      if (options.form != Form::kMessages) return bad_input("messages for a back end that takes one prompt", "choose a chat back end, or give \"prompt\"");
      if (messages->empty()) return std::string("empty");
      for (Said& said : *messages) {
        PAWL_ASSIGN(const std::int64_t tokens, filler.count(said.text));
        out.isl += tokens;
        // Roles are the row's own: a tool's message stays one.
        out.messages.push_back({std::move(said.name), std::move(said.text)});
      }
    } else {
      return std::string(kMalformed);
    }
    if (!output) return std::string("no_output_length");
    if (*output < 1 || *output > kLongestRow) return std::string(kMalformed);
    out.osl = *output;
    out.asked_isl = out.isl;
    session.turns.push_back(std::move(out));
    return std::string();
  });
}

namespace {

class SyntheticSessions final : public Workload {
 public:
  SyntheticSessions(const SyntheticSessionOptions& options, std::shared_ptr<const Filler> filler) : options_(options), filler_(std::move(filler)) {}
  SessionSpan session(std::int64_t number) const override { return {number * options_.turns, options_.turns}; }
  Prompt prompt(std::int64_t index) const override { return make(0, index); }
  Prompt warmup(std::int64_t index) const override {
    Prompt out = make(kWarmupStream, index * options_.turns);
    out.session = index;
    return out;
  }
  Description describe() const override {
    Description out;
    out.dataset = "sessions";
    out.tokenizer = filler_->tokenizer_name();
    out.seed = options_.seed;
    out.salt = options_.salt;
    const auto turns = static_cast<double>(options_.turns);
    // Turn k holds the first message, k more of them and k replies.
    out.mean_isl = static_cast<double>(options_.first_isl) + (turns - 1) / 2 * static_cast<double>(options_.turn_isl + options_.osl);
    out.mean_osl = static_cast<double>(options_.osl);
    out.notes.push_back(fmt::format("sessions of {} turns; the mean input counts replies at the length asked for", options_.turns));
    return out;
  }

 private:
  Prompt make(std::uint64_t stream, std::int64_t index) const {
    Prompt out;
    out.session = index / options_.turns;
    out.turn = index % options_.turns;
    out.osl = options_.osl;
    SplitMix64 random = generator_at(static_cast<std::uint64_t>(options_.seed), stream ^ options_.salt, index);
    filler_->fill(Form::kMessages, random, out.turn == 0 ? options_.first_isl : options_.turn_isl, out);
    if (out.turn > 0) {
      out.parents.push_back(index - 1);
      out.think_time = options_.think_time;
      out.continues = true;
      out.isl = out.asked_isl = options_.first_isl + out.turn * options_.turn_isl;
    }
    return out;
  }
  SyntheticSessionOptions options_;
  std::shared_ptr<const Filler> filler_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_synthetic_sessions(const SyntheticSessionOptions& options) {
  if (options.turns < 1 || options.first_isl < 1 || options.turn_isl < 1 || options.osl < 1) {
    return bad_input(fmt::format("sessions of {} turns, {} and {} input tokens, {} output tokens: at least 1 each", options.turns, options.first_isl,
                                 options.turn_isl, options.osl));
  }
  PAWL_ASSIGN(auto filler, Filler::make(options.tokenizer));
  return std::unique_ptr<Workload>(std::make_unique<SyntheticSessions>(options, std::move(filler)));
}

}  // namespace pawl::workload
