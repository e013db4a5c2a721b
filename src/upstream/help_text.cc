#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "upstream/extract.h"

namespace pawl::upstream {
namespace {

bool flag_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; }

/// Flags in a text, with a value written after `=`, in order, and where each begins.
std::vector<std::pair<std::size_t, std::string>> flags_in(const std::string& text) {
  std::vector<std::pair<std::size_t, std::string>> out;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    if (at > 0 && flag_char(text[at - 1])) continue;
    std::size_t end = at + 2;
    while (end < text.size() &&
           (flag_char(text[end]) || text[end] == '{' || text[end] == '}' || (text[end] == ',' && text.find('}', end) < text.find(' ', end))))
      ++end;
    while (end > at + 2 && (text[end - 1] == '.' || text[end - 1] == ',')) --end;
    if (end == at + 2) continue;
    if (end + 1 < text.size() && text[end] == '=' && (flag_char(text[end + 1]) || text[end + 1] == '"')) {
      ++end;
      while (end < text.size() && (flag_char(text[end]) || text[end] == '"')) ++end;
      while (text[end - 1] == '.') --end;
    }
    out.emplace_back(at, text.substr(at, end - at));
  }
  return out;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The text between `after` and the closing bracket that matches; empty when `after` is not there.
std::string bracketed(const std::string& text, const std::string& after) {
  const std::size_t at = text.find(after);
  if (at == std::string::npos) return {};
  std::size_t end = at + after.size();
  int depth = 1;
  while (end < text.size()) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) break;
    ++end;
  }
  return std::string(trim(std::string_view(text).substr(at + after.size(), end - at - after.size())));
}

codec::Json literal(const std::string& text) {
  if (const auto whole = parse_int(text)) return *whole;
  if (const auto real = parse_double(text)) return *real;
  if (text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) return text.substr(1, text.size() - 2);
  return text;
}

void finish(Argument& a) {
  const std::string help = a.help;
  if (std::string fallback = bracketed(help, "(default: "); !fallback.empty()) {
    // "-1, -1 = unlimited": what follows the first comma explains.
    a.fallback_text = fallback;
    fallback = fallback.substr(0, std::min(fallback.find(','), fallback.find(';')));
    a.fallback = literal(std::string(trim(fallback)));
  }
  a.environment = bracketed(help, "(env: ");
  for (const char* key : {"allowed values: ", "one of: "}) {
    const std::size_t at = help.find(key);
    if (at == std::string::npos) continue;
    std::vector<std::string> values;
    std::string list = help.substr(at + std::string_view(key).size());
    list = list.substr(0, list.find('('));
    for (const std::string_view part : split(list, ',')) {
      const std::string_view value = trim(part);
      if (!value.empty() && value.find(' ') == std::string_view::npos) values.emplace_back(value);
    }
    if (values.size() > 1) a.choices = values;
  }
  const std::string small = lower(help);
  if (small.find("deprecated") != std::string::npos || small.find("has been removed") != std::string::npos) {
    a.deprecated = true;
    a.notice = help;
    a.ignored = small.find("has been removed") != std::string::npos;
    a.successor = read_notice((a.names.empty() ? std::string() : a.names.back() + " is deprecated. ") + help).successor;
  }
}

}  // namespace

Notice read_notice(const std::string& sentence) {
  Notice notice;
  const std::string small = lower(sentence);
  notice.ignored = small.find("no longer") != std::string::npos || small.find("removed") != std::string::npos;
  const auto flags = flags_in(sentence);
  if (flags.empty()) return notice;
  // The flag that is spoken of stands before the word; what to use instead after "use".
  const std::size_t word = std::min(small.find("deprecated"), std::min(small.find("no longer"), small.find("removed")));
  for (const auto& [at, flag] : flags) {
    if (at < word) notice.flag = flag.substr(0, flag.find('='));
  }
  const std::size_t use =
      std::min({small.find("use "), small.find("alias for "), small.find("in favor of "), small.find("in favour of "), small.find("replaced by ")});
  if (use == std::string::npos) return notice;
  for (const auto& [at, flag] : flags) {
    if (at < use || flag.substr(0, flag.find('=')) == notice.flag) continue;
    notice.successor = flag;
    // "--elastic-ep-join-mode recover instead": one word before "instead" is its value.
    const std::size_t instead = small.find(" instead", at + flag.size());
    if (flag.find('=') == std::string::npos && instead != std::string::npos && sentence[at + flag.size()] == ' ') {
      const std::string between(trim(std::string_view(sentence).substr(at + flag.size(), instead - at - flag.size())));
      if (!between.empty() && std::ranges::all_of(between, flag_char)) notice.successor += "=" + between;
    }
    // "alias for --x recover.": the one word that ends the sentence.
    const std::size_t stop = sentence.find('.', at + flag.size());
    if (use == small.find("alias for ") && flag.find('=') == std::string::npos && sentence.size() > at + flag.size() && sentence[at + flag.size()] == ' ') {
      const std::string between(
          trim(std::string_view(sentence).substr(at + flag.size(), (stop == std::string::npos ? sentence.size() : stop) - at - flag.size())));
      if (!between.empty() && between.find(' ') == std::string::npos && std::ranges::all_of(between, flag_char)) notice.successor = flag + "=" + between;
    }
    break;
  }
  return notice;
}

std::vector<Argument> arguments_of_help(const std::string& text, const std::string& name) {
  std::vector<Argument> out;
  int line = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++line;
    const std::string_view body = trim(raw);
    if (body.empty() || body.starts_with("-----")) continue;
    const std::size_t indent = raw.find_first_not_of(' ');
    if (!body.starts_with('-') || indent > 8) {
      if (!out.empty() && indent > 8) out.back().help += (out.back().help.empty() ? "" : " ") + std::string(body);
      continue;
    }
    if (!out.empty()) finish(out.back());
    Argument a;
    a.place = {name, line};
    a.takes_value = false;
    // Names are divided by commas and blanks; what follows the last of them is the value's name, then two blanks and the help.
    std::size_t at = 0;
    std::string value;
    while (at < body.size() && body[at] == '-') {
      std::size_t end = at;
      while (end < body.size() && flag_char(body[end])) ++end;
      a.names.emplace_back(body.substr(at, end - at));
      at = end;
      if (at < body.size() && body[at] == ',') {
        ++at;
        while (at < body.size() && body[at] == ' ') ++at;
        continue;
      }
      break;
    }
    if (at + 1 < body.size() && body[at] == ' ' && body[at + 1] != ' ') {
      const std::size_t end = std::min(body.find("  ", at + 1), body.size());
      value = std::string(trim(body.substr(at, end - at)));
      at = end;
    }
    if (a.names.empty()) continue;
    a.takes_value = !value.empty();
    a.type = value;
    if (value.size() > 2 && (value.front() == '{' || value.front() == '<' || value.front() == '[')) {
      std::vector<std::string> values;
      const std::string inner = value.substr(1, value.find_first_of("}>]") - 1);
      for (const std::string_view part : split(inner, inner.find('|') != std::string::npos ? '|' : ',')) values.emplace_back(trim(part));
      if (values.size() > 1 && value.front() != '<') a.choices = values;
    }
    a.help = std::string(trim(body.substr(std::min(at, body.size()))));
    // The longest name is the one of its own: short forms come first in these texts.
    std::string longest = a.names[0];
    for (const std::string& one : a.names) {
      if (one.starts_with("--") && (!longest.starts_with("--"))) longest = one;
    }
    std::ranges::stable_partition(a.names, [&](const std::string& one) { return one == longest; });
    a.dest = replace_all(a.names[0].substr(std::min<std::size_t>(a.names[0].find_first_not_of('-'), a.names[0].size())), "-", "_");
    out.push_back(std::move(a));
  }
  if (!out.empty()) finish(out.back());
  return out;
}

}  // namespace pawl::upstream
