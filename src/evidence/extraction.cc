#include "evidence/extraction.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "evidence/key_values.h"

namespace pawl::evidence {
namespace {

constexpr std::size_t kTextMax = 400, kValueMax = 300, kPrefixesMax = 6, kProcessesMax = 256, kOpenMax = 64, kNamesMax = 8;

std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not in the middle of a character
  return std::string(text.substr(0, end)) + "…";
}

/// info, warning or error; a warning of Python's own stands in the text.
std::string level_of(std::string_view level, std::string_view text) {
  if (level.empty()) return text.find("Warning: ") != std::string_view::npos ? "warning" : "";
  if (level[0] == 'W') return "warning";
  return level[0] == 'E' || level[0] == 'C' || level[0] == 'F' ? "error" : "info";
}

/// Drops ANSI sequences: CSI (colours, cursor), OSC (titles), and two-byte ones.
void drop_ansi(std::string_view raw, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\x1b') {
      out += raw[i];
      continue;
    }
    if (i + 1 >= raw.size()) break;
    const char kind = raw[++i];
    if (kind == '[') {
      while (i + 1 < raw.size() && !(raw[i + 1] >= '@' && raw[i + 1] <= '~')) ++i;
      ++i;
    } else if (kind == ']') {
      while (i + 1 < raw.size() && raw[i + 1] != '\a' && raw[i + 1] != '\x1b') ++i;
      if (i + 1 < raw.size() && raw[i + 1] == '\x1b') ++i;
      ++i;
    }
  }
}

/// Seconds of the day, or since the start for engines that print that.
std::optional<double> seconds_in(std::string_view time) {
  const std::size_t colon = time.find(':');
  if (colon == std::string_view::npos) {
    // minutes.seconds.milliseconds.microseconds
    const auto parts = split(time, '.');
    if (parts.size() != 4) return std::nullopt;
    const auto minutes = parse_int(parts[0]), seconds = parse_int(parts[1]), millis = parse_int(parts[2]);
    if (!minutes || !seconds || !millis) return std::nullopt;
    return static_cast<double>(*minutes) * 60 + static_cast<double>(*seconds) + static_cast<double>(*millis) / 1000;
  }
  if (colon < 2 || time.size() < colon + 6) return std::nullopt;
  const auto hours = parse_int(time.substr(colon - 2, 2)), minutes = parse_int(time.substr(colon + 1, 2)), seconds = parse_int(time.substr(colon + 4, 2));
  if (!hours || !minutes || !seconds) return std::nullopt;
  double out = static_cast<double>(*hours * 3600 + *minutes * 60 + *seconds);
  std::string_view rest = time.substr(colon + 6);
  if (!rest.empty() && (rest[0] == '.' || rest[0] == ',')) {
    std::string digits = "0.";
    for (const char c : rest.substr(1)) {
      if (c < '0' || c > '9') break;
      digits += c;
    }
    out += parse_double(digits).value_or(0);
  }
  return out;
}

bool progress_bar(std::string_view text) { return text.find("%|") != std::string_view::npos; }

bool ends_as_error(std::string_view text) {
  // "RuntimeError: …", "torch.OutOfMemoryError: …", "KeyboardInterrupt", "SystemExit: 1", "pkg.Exception"
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_' || text[end] == '.')) ++end;
  return end > 0 && (end == text.size() || text[end] == ':');
}

constexpr std::string_view kDuring = "During handling of the above exception";
constexpr std::string_view kCause = "The above exception was the direct cause";

}  // namespace

std::string form_of(std::string_view text) {
  std::string out;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto hex = [&](char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  const auto word = [&](char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool begins = i == 0 || !word(text[i - 1]);
    // A folder: only the last part of a path says what it is.
    if (c == '/' && (i == 0 || (!word(text[i - 1]) && text[i - 1] != '.' && text[i - 1] != '/' && text[i - 1] != ':'))) {
      std::size_t end = i, last = i;
      while (end < text.size() && (word(text[end]) || text[end] == '/' || text[end] == '.' || text[end] == '-' || text[end] == '+')) {
        if (text[end] == '/') last = end;
        ++end;
      }
      if (last > i + 1) {
        out += "…/";
        i = last + 1;
        continue;
      }
    }
    if (begins && hex(c)) {
      std::size_t end = i;
      bool letters = false, digits = false;
      while (end < text.size() && word(text[end])) {
        if (!hex(text[end])) break;
        (digit(text[end]) ? digits : letters) = true;
        ++end;
      }
      const bool whole = end == text.size() || !word(text[end]);
      const bool address = c == '0' && i + 1 < text.size() && text[i + 1] == 'x';
      if (address || (whole && letters && digits && end - i >= 7)) {
        if (address) {
          end = i + 2;
          while (end < text.size() && hex(text[end])) ++end;
        }
        out += '#';
        i = end;
        continue;
      }
    }
    if (digit(c) && begins) {
      std::size_t end = i;
      while (end < text.size() &&
             (digit(text[end]) || ((text[end] == '.' || text[end] == ',' || text[end] == ':') && end + 1 < text.size() && digit(text[end + 1]))))
        ++end;
      if (end + 1 < text.size() && (text[end] == 'e' || text[end] == 'E') && (digit(text[end + 1]) || text[end + 1] == '-' || text[end + 1] == '+')) {
        end += 2;
        while (end < text.size() && digit(text[end])) ++end;
      }
      if (!out.empty() && out.back() == '-' && (out.size() == 1 || !word(out[out.size() - 2]))) out.pop_back();  // its sign
      if (out.ends_with("#, ") || out.ends_with("# ")) {
        while (!out.ends_with('#')) out.pop_back();
      } else {
        out += '#';
      }
      i = end;
      continue;
    }
    out += c;
    ++i;
  }
  return out;
}

Extractor::Extractor(const SignatureBook& book, Limits limits, Evidence evidence, Position position)
    : book_(book), limits_(limits), evidence_(std::move(evidence)), position_(std::move(position)), engines_(book.engines.size(), false) {
  for (std::size_t i = 0; i < evidence_.notices.size(); ++i) forms_.emplace(evidence_.notices[i].form, i);
  for (const std::string& engine : evidence_.engines) {
    const auto found = std::ranges::find(book_.engines, engine);
    if (found != book_.engines.end()) engines_[static_cast<std::size_t>(found - book_.engines.begin())] = true;
  }
}

void Extractor::feed(std::string_view chunk) {
  evidence_.bytes += static_cast<std::int64_t>(chunk.size());
  while (!chunk.empty()) {
    const std::size_t feed_at = chunk.find('\n');
    std::string_view rest = chunk.substr(0, feed_at);
    if (!position_.line_open) {
      position_.line_open = true;
      ++evidence_.lines;
    }
    for (std::size_t at = rest.find('\r'); at != std::string_view::npos; at = rest.find('\r')) {
      segment(rest.substr(0, at), true);
      rest.remove_prefix(at + 1);
    }
    segment(rest, feed_at != std::string_view::npos);
    if (feed_at == std::string_view::npos) return;
    position_.line_open = false;
    chunk.remove_prefix(feed_at + 1);
  }
}

void Extractor::segment(std::string_view part, bool ended) {
  if (ended && position_.line.empty() && part.size() <= limits_.line_bytes) return line(part);
  const std::size_t room = limits_.line_bytes - std::min(limits_.line_bytes, position_.line.size());
  position_.line += part.substr(0, room);
  if (part.size() > room && !position_.line_cut) {
    position_.line_cut = true;
    ++evidence_.cut_lines;
  }
  if (!ended) return;
  position_.line_cut = false;
  const std::string whole = std::move(position_.line);
  position_.line.clear();
  line(whole);
}

Evidence Extractor::evidence() const {
  Extractor end = *this;
  if (!position_.line.empty()) end.line(position_.line);
  end.settle_progress();
  while (!end.position_.open.empty()) end.close_traceback(end.position_.open.begin()->first);
  return std::move(end.evidence_);
}

bool Extractor::applies(int engine) const {
  if (engine == 0 || engines_[static_cast<std::size_t>(engine)]) return true;
  return evidence_.engines.empty();  // nobody has said who he is: whatever fits
}

void Extractor::line(std::string_view raw) {
  if (raw.empty()) return;
  if (std::memchr(raw.data(), '\x1b', raw.size()) != nullptr) {
    drop_ansi(raw, clean_);
    take(clean_);
  } else {
    take(raw);
  }
}

void Extractor::detect() {
  for (const int literal : literals_) {
    for (const int engine : book_.engines_of[static_cast<std::size_t>(literal)]) {
      if (engines_[static_cast<std::size_t>(engine)]) continue;
      engines_[static_cast<std::size_t>(engine)] = true;
      evidence_.engines.push_back(book_.engines[static_cast<std::size_t>(engine)]);
      if (evidence_.engine.empty()) evidence_.engine = evidence_.engines.back();
    }
  }
}

Extractor::Message Extractor::strip(std::string_view clean) {
  Message out{clean, {}, {}, {}, {}};
  for (std::size_t taken = 0; taken < kPrefixesMax; ++taken) {
    bool found = false;
    for (const Prefix& prefix : book_.prefixes) {
      if (!applies(prefix.engine) || !prefix.pattern.find(out.text, groups_) || groups_[0].empty()) continue;
      const auto set = [&](std::string_view& field, std::size_t group) {
        if (group != 0 && group < groups_.size() && !groups_[group].empty() && field.empty()) field = trim(groups_[group]);
      };
      set(out.time, prefix.time);
      set(out.level, prefix.level);
      set(out.process, prefix.process);
      set(out.pid, prefix.pid);
      out.text.remove_prefix(groups_[0].size());
      found = true;
      break;
    }
    if (!found) break;
  }
  return out;
}

void Extractor::take(std::string_view clean) {
  book_.literals.find(clean, literals_);
  candidates_.clear();
  if (!literals_.empty()) {
    detect();
    for (const int literal : literals_) {
      for (const int number : book_.signatures_of[static_cast<std::size_t>(literal)]) candidates_.push_back(number);
    }
    std::ranges::sort(candidates_);
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    std::erase_if(candidates_, [&](int number) { return !applies(book_.signatures[static_cast<std::size_t>(number)].engine); });
  }
  const Message message = strip(clean);
  if (message.text.find_first_not_of(" \t") == std::string_view::npos) return;
  if (!message.time.empty()) {
    if (position_.first_time.empty()) position_.first_time = message.time;
    position_.last_time = message.time;
  }
  if (!message.process.empty() && std::ranges::find(evidence_.processes, message.process) == evidence_.processes.end() &&
      evidence_.processes.size() < kProcessesMax) {
    evidence_.processes.emplace_back(message.process);
  }
  if (in_traceback(message)) return;
  bool dealt_with = false;
  // Several signatures may read one line (facts, settings); one of the others is enough.
  for (const int number : candidates_) {
    const Signature& signature = book_.signatures[static_cast<std::size_t>(number)];
    if (dealt_with && signature.kind != SignatureKind::kFact && signature.kind != SignatureKind::kSettings && signature.kind != SignatureKind::kStart) continue;
    dealt_with = apply(signature, message) || dealt_with;
  }
  if (!progress_bar(message.text)) settle_progress();
  if (!dealt_with) notice(message);
}

bool Extractor::in_traceback(const Message& message) {
  const bool opens = std::ranges::any_of(candidates_, [&](int number) {
    const Signature& signature = book_.signatures[static_cast<std::size_t>(number)];
    return signature.kind == SignatureKind::kTraceback && (!signature.pattern || signature.pattern->find(message.text, groups_));
  });
  if (opens) {
    open_traceback(message);
    return true;
  }
  if (position_.open.empty() && position_.closed.empty() && position_.chained.empty()) return false;
  std::string process(message.process);
  // Frames often stand without what the first line had in front: they belong to whoever opened one last.
  if (process.empty() && message.time.empty() && !position_.open.contains(process)) process = position_.last_process;
  if (const auto closed = position_.closed.find(process); closed != position_.closed.end()) {
    if (message.text.starts_with(kDuring) || message.text.starts_with(kCause)) {
      position_.chained[process] = closed->second;
      return true;
    }
    position_.closed.erase(closed);
  }
  const auto open = position_.open.find(process);
  if (open == position_.open.end()) {
    position_.chained.erase(process);
    return false;
  }
  Traceback& traceback = open->second.traceback;
  // Groups of exceptions are drawn with bars.
  const bool frame = message.text.starts_with(' ') || message.text.starts_with('\t') || message.text.starts_with('+') || message.text.starts_with('|');
  if (frame) {
    open->second.timed = !message.time.empty();
    if (traceback.lines.size() < limits_.traceback_lines) traceback.lines.push_back(cut(message.text, kTextMax));
    return true;
  }
  const bool error = ends_as_error(message.text) && open->second.timed == !message.time.empty();
  if (error) {
    traceback.error = cut(message.text, kTextMax);
    if (traceback.lines.size() < limits_.traceback_lines) traceback.lines.push_back(traceback.error);
  }
  close_traceback(process);
  return error;
}

void Extractor::open_traceback(const Message& message) {
  const std::string process(message.process);
  close_traceback(process);
  if (position_.open.size() >= kOpenMax) return not_kept("tracebacks");
  OpenTraceback open;
  open.traceback.process = process;
  open.traceback.phase = position_.phase;
  open.traceback.line = evidence_.lines;
  open.traceback.lines.push_back(cut(message.text, kTextMax));
  std::string link = process;
  if (process.empty() && message.time.empty() && !position_.chained.contains(link)) link = position_.last_process;
  if (const auto chained = position_.chained.find(link); chained != position_.chained.end()) {
    open.traceback.first_error = chained->second;
    open.traceback.process = link;
    position_.chained.erase(chained);
  }
  position_.last_process = open.traceback.process;
  position_.open.insert_or_assign(open.traceback.process, std::move(open));
}

void Extractor::close_traceback(const std::string& process) {
  const auto open = position_.open.find(process);
  if (open == position_.open.end()) return;
  Traceback traceback = std::move(open->second.traceback);
  position_.open.erase(open);
  if (traceback.error.empty()) traceback.error = traceback.lines.back();
  if (position_.closed.size() < kOpenMax) position_.closed[process] = traceback.error;
  auto& list = evidence_.tracebacks;
  // The link of a chain goes on with the one before it.
  if (!traceback.first_error.empty()) {
    for (Traceback& before : std::ranges::reverse_view(list)) {
      if (before.process != process) continue;
      if (before.first_error.empty()) before.first_error = before.error;
      before.error = traceback.error;
      if (before.count > 1) return;
      for (std::string& one : traceback.lines) {
        if (before.lines.size() < limits_.traceback_lines) before.lines.push_back(std::move(one));
      }
      return;
    }
  }
  const std::string form = form_of(traceback.error);
  for (Traceback& known : list) {
    const std::string& began = known.first_error.empty() ? known.error : known.first_error;
    if (known.phase == traceback.phase && known.process == process && form_of(began) == form) {
      ++known.count;
      return;
    }
  }
  if (list.size() >= limits_.tracebacks) return not_kept("tracebacks");
  traceback.count = 1;
  list.push_back(std::move(traceback));
}

bool Extractor::apply(const Signature& signature, const Message& message) {
  groups_.clear();
  if (signature.pattern) {
    if (!signature.pattern->find(message.text, groups_)) return false;
  } else {
    groups_.push_back(message.text);
  }
  const auto group = [&](std::size_t number) { return number < groups_.size() ? groups_[number] : std::string_view(); };
  switch (signature.kind) {
    case SignatureKind::kStart:
      start();
      return false;  // often the settings stand in the same line
    case SignatureKind::kReady:
      ready(message);
      return true;
    case SignatureKind::kShutdown:
      position_.phase = Phase::kShutdown;
      evidence_.shutdown = true;
      return true;
    case SignatureKind::kRoutine:
      ++evidence_.routine_lines;
      return true;
    case SignatureKind::kHttp:
      http(signature);
      return true;
    case SignatureKind::kTraceback:
      return false;  // opened before this
    case SignatureKind::kCrash:
      mark(evidence_.crashes, "crashes", message);
      return true;
    case SignatureKind::kSuspect:
      mark(evidence_.suspects, "suspects", message);
      return true;
    case SignatureKind::kDeprecation:
      deprecation(signature, message);
      return true;
    case SignatureKind::kFact: {
      std::string value(trim(group(signature.value)));
      if (signature.count) value = std::to_string(1 + std::ranges::count(trim(std::string_view(value)), ','));
      if (signature.name.ends_with("_tokens")) value = replace_all(value, ",", "");
      if (signature.progress) {
        const std::string key = signature.name + "\n" + std::string(message.process) + "\n" + form_of(message.text.substr(0, message.text.find(':')));
        if (position_.progress.size() < kOpenMax) {
          position_.progress[key] = parse_int(value).value_or(0);
          position_.progress_at.try_emplace(key, evidence_.lines);
        }
        return true;
      }
      fact(signature.name, value, message.process, evidence_.lines);
      return false;  // how it is worded is worth a comparison too
    }
    case SignatureKind::kSettings:
      for (auto& [name, value] : key_values(group(signature.list))) {
        const std::string key = signature.name + "." + name;
        if (!evidence_.settings.contains(key) && evidence_.settings.size() >= limits_.settings) {
          not_kept("settings");
          continue;
        }
        evidence_.settings[key] = cut(value, kValueMax);
      }
      return true;
  }
  return false;
}

/// The last number of every bar that is over counts.
void Extractor::settle_progress() {
  if (position_.progress.empty()) return;
  for (const auto& [key, value] : position_.progress) {
    const auto parts = split(key, '\n');
    fact(std::string(parts[0]), std::to_string(value), parts[1], position_.progress_at[key]);
  }
  position_.progress.clear();
  position_.progress_at.clear();
}

void Extractor::http(const Signature& signature) {
  const auto group = [&](std::size_t number) { return number > 0 && number < groups_.size() ? groups_[number] : std::string_view(); };
  const std::string_view status_text = group(signature.status);
  const bool after = position_.phase != Phase::kStarting;
  ++(after ? evidence_.http_after_ready : evidence_.http_before_ready)[std::string(status_text)];
  ++evidence_.routine_lines;
  const std::int64_t status = parse_int(status_text).value_or(0);
  if (status < 400) return;
  std::string_view path = group(signature.path);
  path = path.substr(0, path.find('?'));
  std::string shown;
  bool first = true;
  for (const std::string_view part : split(path.substr(0, 1000), '/')) {
    if (!first) shown += '/';
    shown += form_of(part);
    first = false;
  }
  shown = cut(shown, 200);
  for (HttpError& known : evidence_.http_errors) {
    if (known.status == status && known.phase == position_.phase && known.method == group(signature.method) && known.path == shown) {
      ++known.count;
      return;
    }
  }
  if (evidence_.http_errors.size() >= limits_.http_errors) return not_kept("http_errors");
  evidence_.http_errors.push_back({status, std::string(group(signature.method)), shown, position_.phase, 1, evidence_.lines});
}

void Extractor::start() {
  ++evidence_.starts;
  if (position_.phase != Phase::kStarting) ++evidence_.restarts;
  position_.phase = Phase::kStarting;
  position_.ready_processes.clear();
}

void Extractor::ready(const Message& message) {
  const std::string process = std::string(message.process) + " " + std::string(message.pid);
  const bool again = std::ranges::find(position_.ready_processes, process) != position_.ready_processes.end();
  if (again) ++evidence_.restarts;  // it became ready twice and never said that it started
  if (!again && position_.ready_processes.size() < kProcessesMax) position_.ready_processes.push_back(process);
  position_.phase = Phase::kReady;
  if (evidence_.ready) return;
  Ready found{evidence_.lines, cut(message.text, kTextMax), std::string(message.time.empty() ? std::string_view(position_.last_time) : message.time),
              std::nullopt};
  const auto begin = seconds_in(position_.first_time), end = seconds_in(found.time);
  if (begin && end) {
    found.after_s = *end - *begin;
    if (*found.after_s < 0) *found.after_s += 86400;  // over midnight
  }
  evidence_.ready = std::move(found);
}

void Extractor::fact(const std::string& name, std::string_view value, std::string_view process, std::int64_t at) {
  for (Fact& known : evidence_.facts) {
    if (known.name != name || known.value != value) continue;
    ++known.count;
    if (known.processes.size() < kNamesMax && std::ranges::find(known.processes, process) == known.processes.end()) known.processes.emplace_back(process);
    return;
  }
  if (evidence_.facts.size() >= limits_.facts) return not_kept("facts");
  evidence_.facts.push_back({name, cut(value, kValueMax), {std::string(process)}, 1, at});
}

void Extractor::mark(std::vector<Marked>& list, const char* name, const Message& message) {
  const std::string text = cut(message.text, kTextMax);
  for (Marked& known : list) {
    if (known.text == text && known.phase == position_.phase) {
      ++known.count;
      return;
    }
  }
  if (list.size() >= limits_.marked) return not_kept(name);
  list.push_back({text, std::string(message.process), position_.phase, 1, evidence_.lines});
}

void Extractor::deprecation(const Signature& signature, const Message& message) {
  const auto group = [&](std::size_t number) { return number > 0 && number < groups_.size() ? cut(trim(groups_[number]), 200) : std::string(); };
  Deprecation found{group(signature.was), group(signature.now), cut(message.text, kTextMax), form_of(cut(message.text, kTextMax)), 1, evidence_.lines};
  while (found.new_name.ends_with('.')) found.new_name.pop_back();
  for (Deprecation& known : evidence_.deprecations) {
    if (known.form == found.form) {
      ++known.count;
      return;
    }
  }
  if (evidence_.deprecations.size() >= limits_.deprecations) return not_kept("deprecations");
  evidence_.deprecations.push_back(std::move(found));
}

void Extractor::notice(const Message& message) {
  // Indented lines go on with what stands above them: usage texts, the source line of a warning.
  if (message.text.empty() || message.text.starts_with(' ') || message.text.starts_with('\t') || progress_bar(message.text)) return;
  std::string form = cut(form_of(message.text.substr(0, 2 * kTextMax)), kTextMax);
  const auto known = forms_.find(form);
  if (known != forms_.end()) {
    ++evidence_.notices[known->second].count;
    return;
  }
  if (evidence_.notices.size() >= limits_.notices) return not_kept("notices");
  forms_.emplace(form, evidence_.notices.size());
  evidence_.notices.push_back(
      {std::move(form), cut(message.text, kTextMax), level_of(message.level, message.text), std::string(message.process), 1, evidence_.lines});
}

std::vector<std::string> suspect_lines(const Evidence& evidence) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const Traceback& traceback : evidence.tracebacks) {
    if (traceback.phase == Phase::kShutdown) continue;
    if (!traceback.first_error.empty()) found.emplace_back(traceback.line, traceback.first_error);
    found.emplace_back(traceback.line, traceback.error);
  }
  for (const auto* list : {&evidence.crashes, &evidence.suspects}) {
    for (const Marked& one : *list) {
      if (one.phase != Phase::kShutdown) found.emplace_back(one.line, one.text);
    }
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::int64_t, std::string>::first);
  std::vector<std::string> out;
  for (auto& [line, text] : found) out.push_back(std::move(text));
  return out;
}

}  // namespace pawl::evidence
