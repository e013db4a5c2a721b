#include "plan/launch_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::plan {
namespace {

/// Words of a shell command, as far as launch commands need it: quotes group, a backslash at a line's end joins lines.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  const auto end_word = [&] {
    if (inside) words.push_back(word);
    word.clear();
    inside = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      end_word();
    } else if (c == '\n') {
      end_word();
      words.emplace_back("\n");
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (c == '#' && !inside) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else {
      word += c;
      inside = true;
    }
  }
  end_word();
  return words;
}

bool ends_command(const std::string& word) {
  return word == "\n" || word == "&" || word == "&&" || word == ";" || word == "|" || word.starts_with('>') || word.starts_with("2>") || word.starts_with("&>");
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }

}  // namespace

std::vector<std::string> launch_script_paths(const model::Point& p) {
  std::string sku = p.runner.starts_with("cluster:") ? p.runner.substr(8) : p.runner;
  sku = sku.substr(0, sku.find('-'));
  const std::string stem = fmt::format("benchmarks/single_node/fixed_seq_len/{}_{}_{}", p.exp_name.substr(0, p.exp_name.find('_')), p.precision, sku);
  const std::string tail = p.spec_decoding == "mtp" ? "_mtp.sh" : ".sh";
  const std::string framework = p.framework.substr(0, p.framework.find('-'));
  return {stem + "_" + framework + tail, stem + tail};
}

std::vector<std::string> launch_flags(std::string_view script) {
  const std::vector<std::string> words = words_of(script);
  std::vector<std::string> flags;
  auto at = std::ranges::find_if(
      words, [](const std::string& w) { return w == "sglang.launch_server" || w == "trtllm-serve" || w.ends_with("/vllm") || w == "vllm"; });
  if (at == words.end()) return flags;
  while (at != words.end() && !at->starts_with("--") && !ends_command(*at)) ++at;
  while (at != words.end() && !ends_command(*at)) {
    if (!at->starts_with("--")) {
      ++at;
      continue;
    }
    std::vector<std::string> group{*at++};
    while (at != words.end() && !ends_command(*at) && !at->starts_with("--")) group.push_back(*at++);
    if (group[0] == "--host" || group[0] == "--port") continue;
    if (std::ranges::none_of(group, [](const std::string& w) { return w.find('$') != std::string::npos; })) std::ranges::move(group, std::back_inserter(flags));
  }
  return flags;
}

Result<std::string> replace_switch(const std::string& script, const std::string& flag, const std::string& replacement) {
  std::vector<std::size_t> places;
  for (std::size_t at = script.find(flag); at != std::string::npos; at = script.find(flag, at + 1)) {
    const bool starts = at == 0 || !word_character(script[at - 1]);
    const std::size_t end = at + flag.size();
    const bool ends = end >= script.size() || (!word_character(script[end]) && script[end] != '=');
    if (starts && ends) places.push_back(at);
  }
  if (places.empty()) return not_found(fmt::format("the launch script does not pass {}", flag));
  if (places.size() > 1) return bad_input(fmt::format("the launch script names {} {} times", flag, places.size()));
  std::string edited = script;
  edited.replace(places[0], flag.size(), replacement);
  return edited;
}

}  // namespace pawl::plan
