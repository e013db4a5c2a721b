#include "evidence/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace pawl::evidence {
namespace {

constexpr double kNoticeAlike = 0.7, kNameAlike = 0.5;
/// Pairs that are looked at for renamings.
constexpr std::size_t kPairsMax = 2'000'000;

/// Words, sorted: letters and digits; everything else divides.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  };
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (static_cast<unsigned char>(c) & 0x80) != 0;
    if (letter)
      word += c;
    else
      end();
  }
  end();
  std::ranges::sort(out);
  return out;
}

/// Dice's coefficient of two sorted bags.
double likeness(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.empty() || b.empty()) return 0;
  std::size_t i = 0, j = 0, both = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == b[j]) {
      ++both;
      ++i;
      ++j;
    } else if (a[i] < b[j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return 2.0 * static_cast<double>(both) / static_cast<double>(a.size() + b.size());
}

struct Pair {
  double alike = 0;
  std::size_t gone = 0, fresh = 0;
};

/// The most alike first, each side once.
std::vector<Pair> matched(const std::vector<std::string>& gone, const std::vector<std::string>& fresh, double least) {
  std::vector<Pair> pairs;
  if (gone.size() * fresh.size() > kPairsMax) return pairs;
  std::vector<std::vector<std::string>> gone_words, fresh_words;
  for (const std::string& text : gone) gone_words.push_back(words_of(text));
  for (const std::string& text : fresh) fresh_words.push_back(words_of(text));
  for (std::size_t i = 0; i < gone.size(); ++i) {
    for (std::size_t j = 0; j < fresh.size(); ++j) {
      const double alike = likeness(gone_words[i], fresh_words[j]);
      if (alike >= least) pairs.push_back({alike, i, j});
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::alike);
  std::set<std::size_t> used_gone, used_fresh;
  std::vector<Pair> out;
  for (const Pair& pair : pairs) {
    if (used_gone.contains(pair.gone) || used_fresh.contains(pair.fresh)) continue;
    used_gone.insert(pair.gone);
    used_fresh.insert(pair.fresh);
    out.push_back(pair);
  }
  return out;
}

/// The values of each fact, as one text.
std::map<std::string, std::string> values_of(const Evidence& evidence) {
  std::map<std::string, std::string> out;
  for (const Fact& fact : evidence.facts) {
    std::string& text = out[fact.name];
    text += (text.empty() ? "" : ", ") + fact.value;
  }
  return out;
}

template <class T>
void erase_at(std::vector<T>& from, std::vector<std::size_t> places) {
  std::ranges::sort(places, std::greater());
  for (const std::size_t place : places) from.erase(from.begin() + static_cast<std::ptrdiff_t>(place));
}

void compare_settings(const Evidence& before, const Evidence& after, Difference& out) {
  for (const auto& [name, value] : before.settings) {
    const auto now = after.settings.find(name);
    if (now == after.settings.end()) {
      out.settings_gone.push_back({name, value, ""});
    } else if (now->second != value) {
      out.settings_changed.push_back({name, value, now->second});
    }
  }
  for (const auto& [name, value] : after.settings) {
    if (!before.settings.contains(name)) out.settings_new.push_back({name, "", value});
  }
  std::vector<std::string> gone, fresh;
  for (const ValueChange& one : out.settings_gone) gone.push_back(one.name.substr(one.name.find('.') + 1));
  for (const ValueChange& one : out.settings_new) fresh.push_back(one.name.substr(one.name.find('.') + 1));
  std::vector<std::size_t> used_gone, used_fresh;
  for (const Pair& pair : matched(gone, fresh, kNameAlike)) {
    const ValueChange &was = out.settings_gone[pair.gone], &is = out.settings_new[pair.fresh];
    // Two names of one list, and values of one kind: a number is not taken for a word.
    if (was.name.substr(0, was.name.find('.')) != is.name.substr(0, is.name.find('.'))) continue;
    if (parse_double(was.old_value).has_value() != parse_double(is.new_value).has_value()) continue;
    out.settings_renamed.push_back({fmt::format("{}={}", was.name, was.old_value), fmt::format("{}={}", is.name, is.new_value), pair.alike});
    used_gone.push_back(pair.gone);
    used_fresh.push_back(pair.fresh);
  }
  erase_at(out.settings_gone, used_gone);
  erase_at(out.settings_new, used_fresh);
}

}  // namespace

Difference difference(const Evidence& before, const Evidence& after) {
  Difference out;
  const auto old_values = values_of(before), new_values = values_of(after);
  std::set<std::string> names;
  for (const auto& [name, value] : old_values) names.insert(name);
  for (const auto& [name, value] : new_values) names.insert(name);
  for (const std::string& name : names) {
    const auto was = old_values.find(name), is = new_values.find(name);
    const std::string old_value = was == old_values.end() ? "" : was->second, new_value = is == new_values.end() ? "" : is->second;
    if (old_value != new_value) out.facts.push_back({name, old_value, new_value});
  }
  compare_settings(before, after, out);

  std::map<std::string, const Notice*> old_notices, new_notices;
  for (const Notice& one : before.notices) old_notices.emplace(one.form, &one);
  for (const Notice& one : after.notices) new_notices.emplace(one.form, &one);
  for (const Notice& one : before.notices) {
    if (new_notices.contains(one.form))
      ++out.notices_unchanged;
    else
      out.notices_gone.push_back(one);
  }
  for (const Notice& one : after.notices) {
    if (!old_notices.contains(one.form)) out.notices_new.push_back(one);
  }
  std::vector<std::string> gone, fresh;
  for (const Notice& one : out.notices_gone) gone.push_back(one.form);
  for (const Notice& one : out.notices_new) fresh.push_back(one.form);
  std::vector<std::size_t> used_gone, used_fresh;
  for (const Pair& pair : matched(gone, fresh, kNoticeAlike)) {
    out.notices_renamed.push_back({out.notices_gone[pair.gone].text, out.notices_new[pair.fresh].text, pair.alike});
    used_gone.push_back(pair.gone);
    used_fresh.push_back(pair.fresh);
  }
  erase_at(out.notices_gone, used_gone);
  erase_at(out.notices_new, used_fresh);

  const auto has = [](const Evidence& evidence, const Deprecation& wanted) {
    return std::ranges::any_of(evidence.deprecations, [&](const Deprecation& one) {
      return one.form == wanted.form || (!one.old_name.empty() && one.old_name == wanted.old_name && one.new_name == wanted.new_name);
    });
  };
  for (const Deprecation& one : before.deprecations) {
    if (has(after, one))
      ++out.deprecations_unchanged;
    else
      out.deprecations_gone.push_back(one);
  }
  for (const Deprecation& one : after.deprecations) {
    if (!has(before, one)) out.deprecations_new.push_back(one);
  }
  return out;
}

std::vector<Finding> findings(const Evidence& evidence, const Evidence* against) {
  std::vector<Finding> out;
  for (const Traceback& one : evidence.tracebacks) {
    if (one.phase == Phase::kShutdown) continue;
    std::string text = one.first_error.empty() ? one.error : one.first_error + " … " + one.error;
    if (!one.process.empty()) text = one.process + ": " + text;
    out.push_back({"traceback", std::move(text), one.count, one.line});
  }
  for (const Marked& one : evidence.crashes) {
    if (one.phase != Phase::kShutdown) out.push_back({"crash", one.text, one.count, one.line});
  }
  for (const HttpError& one : evidence.http_errors) {
    if (one.phase == Phase::kReady && (one.status >= 500 || one.status == 429)) {
      out.push_back({"http-error", fmt::format("{} for {} {}", one.status, one.method, one.path), one.count, one.line});
    }
  }
  if (evidence.restarts > 0) out.push_back({"restart", "the engine started again after it had been ready", evidence.restarts, evidence.lines});
  if (!evidence.ready) out.push_back({"never-ready", "the log has no sign that the engine became ready", 1, evidence.lines});
  if (against != nullptr) {
    for (const Deprecation& one : difference(*against, evidence).deprecations_new) out.push_back({"deprecation", one.text, one.count, one.line});
  }
  std::ranges::stable_sort(out, {}, &Finding::line);
  return out;
}

}  // namespace pawl::evidence
