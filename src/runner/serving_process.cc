#include "runner/serving_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.h"

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kConfigMax = 16u << 10;
constexpr std::string_view kHidden = "***";

/// Whether an option's or setting's name says that its value is nobody's business.
bool secret_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // Words of their own: "--tokenizer" and "--max-num-batched-tokens" are none.
  return std::ranges::any_of(split(lower, '-'),
                             [](std::string_view word) { return word == "key" || word == "token" || word == "password" || word == "secret"; });
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Inodes of the sockets that listen on the port.
std::set<std::string> listeners(std::uint16_t port) {
  const std::string wanted = fmt::format(":{:04X}", port);
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::string text = bytes_of(table);
    for (const std::string_view line : split(text, '\n')) {
      std::vector<std::string_view> words;
      for (const std::string_view word : split(line, ' ')) {
        if (!word.empty()) words.push_back(word);
      }
      if (words.size() > 9 && words[1].ends_with(wanted) && words[3] == "0A") inodes.emplace(words[9]);
    }
  }
  return inodes;
}

bool holds(const fs::path& process, const std::set<std::string>& links) {
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end; fd.increment(error)) {
    std::error_code unreadable;
    const fs::path target = fs::read_symlink(fd->path(), unreadable);
    if (!unreadable && links.contains(target.string())) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> without_secrets(std::vector<std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with('-')) continue;
    const auto equals = arguments[i].find('=');
    if (!secret_name(std::string_view(arguments[i]).substr(0, equals))) continue;
    if (equals != std::string::npos) {
      arguments[i] = arguments[i].substr(0, equals + 1) + std::string(kHidden);
    } else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--")) {
      arguments[i + 1] = kHidden;
    }
  }
  return arguments;
}

std::optional<std::vector<std::string>> command_of_listener(std::uint16_t port) {
  std::set<std::string> links;
  for (const std::string& inode : listeners(port)) links.insert("socket:[" + inode + "]");
  if (links.empty()) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string name = process->path().filename().string();
    if (name.empty() || !std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; }) || !holds(process->path(), links)) continue;
    const std::string line = bytes_of(process->path() / "cmdline");
    std::vector<std::string> arguments;
    for (const std::string_view one : split(line, '\0')) arguments.emplace_back(one);
    if (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
    if (!arguments.empty()) return without_secrets(std::move(arguments));
  }
  return std::nullopt;
}

std::optional<std::string> resolved_arguments(std::string_view log) {
  static constexpr std::array<std::string_view, 3> kMarks{"server_args=", "non-default args:", "LLM Args"};
  for (const std::string_view line : split(log, '\n')) {
    if (std::ranges::none_of(kMarks, [&](std::string_view mark) { return line.find(mark) != std::string_view::npos; })) continue;
    const std::string text(line.substr(0, kConfigMax));
    std::string out;
    // key='value' and 'key': 'value' with a secret's name lose their value.
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') continue;
      out += c;
      if ((c != '\'' && c != '"') || i == 0) continue;
      std::size_t before = out.size() - 1;
      while (before > 0 && (out[before - 1] == ' ' || out[before - 1] == '=' || out[before - 1] == ':' || out[before - 1] == '\'' || out[before - 1] == '"'))
        --before;
      std::size_t start = before;
      while (start > 0 && (std::isalnum(static_cast<unsigned char>(out[start - 1])) != 0 || out[start - 1] == '_' || out[start - 1] == '-')) --start;
      if (before == out.size() - 1 || !secret_name(std::string_view(out).substr(start, before - start))) continue;
      const auto close = text.find(c, i + 1);
      if (close == std::string::npos || close == i + 1) continue;
      if (out.find_first_of("=:", before) == std::string::npos) continue;
      out += kHidden;
      out += c;
      i = close;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }
  return std::nullopt;
}

}  // namespace pawl::runner
