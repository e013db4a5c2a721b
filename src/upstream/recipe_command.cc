#include "upstream/recipe_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "upstream/python_program.h"
#include "upstream/python_syntax.h"

namespace pawl::upstream {
namespace {

struct Word {
  std::string text;  ///< quotes removed
  bool expands = false, quoted = false;
  int line = 0;
};

struct Command {
  std::vector<Word> words;
  bool conditional = false;
};

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_assignment(const Word& word) {
  const std::size_t at = word.text.find('=');
  if (at == std::string::npos || at == 0 || std::isdigit(static_cast<unsigned char>(word.text[0])) != 0) return false;
  return std::ranges::all_of(word.text.substr(0, at), name_char);
}

/// Splits a script into commands and words as a shell does, as far as launch commands need it.
class ShellReader {
 public:
  explicit ShellReader(const std::string& text) : text_(text) {}
  std::vector<Command> commands;
  std::map<std::string, std::vector<std::pair<Word, bool>>> arrays;  ///< words, and whether they were added conditionally

  void read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        at_ += 2;
        ++line_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n' || c == ';' || c == '|' || c == '(' || c == ')') {
        if (c == '\n') ++line_;
        ++at_;
        end_command();
      } else if (c == '&') {
        ++at_;
        end_command();
      } else if (c == '>' || c == '<') {
        redirection();
      } else {
        word();
      }
    }
    end_command();
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1, nesting_ = 0;
  Command current_;

  void end_command() {
    if (current_.words.empty()) return;
    std::size_t first = 0;
    while (first < current_.words.size()) {
      const std::string& word = current_.words[first].text;
      if (word == "if" || word == "for" || word == "while" || word == "until" || word == "case") {
        ++nesting_;
        ++first;
      } else if (word == "fi" || word == "done" || word == "esac") {
        nesting_ = std::max(0, nesting_ - 1);
        ++first;
      } else if (word == "then" || word == "else" || word == "do" || word == "elif" || word == "{" || word == "}" || word == "exec" || word == "time" ||
                 word == "nohup") {
        ++first;
      } else {
        break;
      }
    }
    current_.words.erase(current_.words.begin(), current_.words.begin() + static_cast<std::ptrdiff_t>(first));
    current_.conditional = nesting_ > 0;
    if (!current_.words.empty()) commands.push_back(std::move(current_));
    current_ = {};
  }

  void redirection() {
    while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<' || text_[at_] == '&')) ++at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] != '\n') (void)one_word();
  }

  /// After `$`: the whole expansion, as written.
  std::string expansion() {
    const std::size_t begin = at_++;
    if (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == '{')) {
      const char open = text_[at_], close = open == '(' ? ')' : '}';
      int depth = 0;
      while (at_ < text_.size()) {
        if (text_[at_] == '\n') ++line_;
        if (text_[at_] == open) ++depth;
        if (text_[at_] == close && --depth == 0) {
          ++at_;
          break;
        }
        ++at_;
      }
    } else {
      while (at_ < text_.size() && (name_char(text_[at_]) || text_[at_] == '@')) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  Word one_word() {
    Word word;
    word.line = line_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n') break;
        word.text += text_[at_ + 1];
        at_ += 2;
      } else if (c == '\'') {
        word.quoted = true;
        const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        word.text += text_.substr(at_ + 1, end - at_ - 1);
        at_ = std::min(end + 1, text_.size());
      } else if (c == '"') {
        word.quoted = true;
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') {
          if (text_[at_] == '\n') ++line_;
          if (text_[at_] == '$') {
            word.expands = true;
            word.text += expansion();
          } else {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
            word.text += text_[at_++];
          }
        }
        if (at_ < text_.size()) ++at_;
      } else if (c == '$') {
        word.expands = true;
        word.text += expansion();
      } else if (c == '`') {
        word.expands = true;
        const std::size_t end = std::min(text_.find('`', at_ + 1), text_.size() - 1);
        word.text += text_.substr(at_, end - at_ + 1);
        at_ = end + 1;
      } else if (std::string_view(" \t\n\r;|&<>()").find(c) != std::string_view::npos) {
        break;
      } else {
        word.text += c;
        ++at_;
      }
    }
    return word;
  }

  void word() {
    const std::size_t before = at_;
    Word word = one_word();
    // NAME=( … ) and NAME+=( … )
    if (at_ < text_.size() && text_[at_] == '(' && (word.text.ends_with('='))) {
      std::string name = word.text.substr(0, word.text.size() - 1);
      const bool more = name.ends_with('+');
      if (more) name.pop_back();
      if (!more) arrays[name].clear();
      ++at_;
      while (at_ < text_.size() && text_[at_] != ')') {
        const char c = text_[at_];
        if (c == '\n') ++line_;
        if (c == '#') {
          while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        } else if (std::string_view(" \t\n\r\\").find(c) != std::string_view::npos) {
          ++at_;
        } else if (std::string_view("();|&<>").find(c) != std::string_view::npos) {
          ++at_;
        } else {
          Word item = one_word();
          arrays[name].emplace_back(std::move(item), nesting_ > 0 || more);
        }
      }
      if (at_ < text_.size()) ++at_;
      return;
    }
    if (at_ == before) ++at_;  // nothing that we know: never stand still
    if (word.text.empty() && !word.quoted) return;
    // "2>&1": the digit belongs to the redirection.
    if (at_ < text_.size() && text_[at_] == '>' && std::ranges::all_of(word.text, [](unsigned char c) { return std::isdigit(c) != 0; })) return;
    if (current_.words.empty() && (word.text == "then" || word.text == "else" || word.text == "do")) {
      current_.words.push_back(std::move(word));
      end_command();
      return;
    }
    current_.words.push_back(std::move(word));
  }
};

/// The index behind the launch words, or nothing.
std::optional<std::size_t> launched(const std::vector<Word>& words, const std::vector<std::string>& launch, std::string* which = nullptr) {
  for (const std::string& sequence : launch) {
    std::vector<std::string> wanted;
    for (const std::string_view part : split(sequence, ' ')) wanted.emplace_back(part);
    for (std::size_t i = 0; i + wanted.size() <= words.size(); ++i) {
      bool same = true;
      for (std::size_t j = 0; j < wanted.size() && same; ++j) {
        const std::string& word = words[i + j].text;
        same = word == wanted[j] || (j == 0 && word.ends_with("/" + wanted[j]));
      }
      if (!same) continue;
      if (which != nullptr) *which = sequence;
      return i + wanted.size();
    }
  }
  return std::nullopt;
}

bool is_flag(const Word& word) {
  return word.text.size() > 1 && word.text[0] == '-' && std::isdigit(static_cast<unsigned char>(word.text[1])) == 0 && word.text[1] != '.' &&
         word.text[1] != ' ';
}

void take_flags(const std::vector<std::pair<Word, bool>>& words, const std::string& name, std::vector<GivenFlag>& out) {
  for (const auto& [word, conditional] : words) {
    if (is_flag(word)) {
      const std::size_t equals = word.text.find('=');
      GivenFlag given{word.text.substr(0, equals), {}, true, conditional, {name, word.line}};
      if (equals != std::string::npos) {
        given.values.push_back(word.text.substr(equals + 1));
        given.literal = !word.expands;
      }
      out.push_back(std::move(given));
    } else if (!out.empty()) {
      out.back().values.push_back(word.text);
      if (word.expands) out.back().literal = false;
    }
  }
}

std::string variable_of(const std::string& text) {
  if (text.starts_with("${") && text.ends_with('}')) {
    std::string inner = text.substr(2, text.size() - 3);
    if (inner.ends_with("[@]") || inner.ends_with("[*]")) inner.resize(inner.size() - 3);
    return inner.substr(0, inner.find_first_of(":-+/%#["));
  }
  return text.starts_with('$') ? text.substr(1) : std::string();
}

}  // namespace

Result<RecipeCommand> read_script(const std::string& text, const EngineProfile& profile, const std::string& name) {
  if (text.size() > (4u << 20)) return bad_input(fmt::format("{}: {} bytes are too many for a launch script", name, text.size()));
  if (!is_utf8(text)) return bad_input(fmt::format("{}: not UTF-8", name), "a launch script is a text");
  ShellReader shell(text);
  shell.read();
  RecipeCommand out;
  std::map<std::string, Word> variables;
  const Command* launch = nullptr;
  std::size_t from = 0;
  for (const Command& command : shell.commands) {
    std::size_t i = 0;
    const bool exported =
        command.words[0].text == "export" || command.words[0].text == "env" || command.words[0].text == "declare" || command.words[0].text == "local";
    if (exported) ++i;
    const auto start = launched(command.words, profile.command_line.launch, launch == nullptr ? &out.launch : nullptr);
    for (; i < command.words.size() && is_assignment(command.words[i]); ++i) {
      const Word& word = command.words[i];
      const std::size_t at = word.text.find('=');
      if (exported || start) out.environment.push_back({word.text.substr(0, at), word.text.substr(at + 1), {name, word.line}});
      Word value = word;
      value.text.erase(0, at + 1);
      variables[word.text.substr(0, at)] = std::move(value);
    }
    if (start && launch == nullptr) {
      launch = &command;
      from = *start;
    }
  }
  if (launch == nullptr) {
    return not_found(fmt::format("{}: no command that starts {}", name, profile.engine), "looked for: " + join(profile.command_line.launch, ", "));
  }
  std::vector<std::pair<Word, bool>> words;
  for (std::size_t i = from; i < launch->words.size(); ++i) {
    const Word& word = launch->words[i];
    const std::string variable = word.expands ? variable_of(word.text) : std::string();
    if (const auto array = shell.arrays.find(variable); !variable.empty() && array != shell.arrays.end()) {
      for (const auto& item : array->second) words.push_back(item);
      continue;
    }
    if (const auto scalar = variables.find(variable); !variable.empty() && scalar != variables.end() && trim(scalar->second.text).starts_with('-')) {
      const std::string value = scalar->second.text;
      for (const std::string_view part : split(value, ' ')) {
        if (!trim(part).empty()) words.emplace_back(Word{std::string(trim(part)), part.find('$') != std::string_view::npos, false, scalar->second.line}, false);
      }
      continue;
    }
    words.emplace_back(word, false);
  }
  take_flags(words, name, out.flags);
  return out;
}

Result<RecipeCommand> read_argument_log(const std::string& text, const EngineProfile& profile, const std::string& name) {
  if (!is_utf8(text)) return bad_input(fmt::format("{}: not UTF-8", name), "a log or a text of flags is wanted");
  RecipeCommand out;
  for (const std::string_view marker : {"ServerArgs(", "non-default args: {", "EngineArgs("}) {
    std::size_t at = text.find(marker);
    if (at == std::string::npos) continue;
    const int line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    if (marker.ends_with('{')) at += marker.size() - 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    PAWL_ASSIGN(const py::Module module, py::parse(text.substr(at, end - at) + "\n", name));
    if (module.body.empty()) continue;
    const SourceTree none;
    const std::map<std::string, std::string> no_defaults;
    Program program(none, no_defaults);
    const py::Expr& value = module.body[0].value;
    if (value.kind == py::ExprKind::kCall) {
      for (std::size_t i = 1; i < value.items.size(); ++i) {
        if (value.names[i].empty()) continue;
        out.resolved[value.names[i]] = program.value(value.items[i], {name}).value_or(codec::Json(py::write(value.items[i])));
      }
    } else if (const auto object = program.value(value, {name}); object && object->is_object()) {
      for (auto it = object->begin(); it != object->end(); ++it) out.resolved[it.key()] = it.value();
    }
    if (!out.resolved.empty()) {
      for (const auto& [dest, one] : out.resolved)
        out.flags.push_back({"--" + replace_all(dest, "_", "-"), {one.is_string() ? one.get<std::string>() : one.dump()}, true, false, {name, line}});
      return out;
    }
  }
  if (auto script = read_script(text, profile, name)) return script;
  ShellReader shell(text);
  shell.read();
  std::vector<std::pair<Word, bool>> words;
  for (const Command& command : shell.commands) {
    for (const Word& word : command.words) {
      if (!words.empty() || is_flag(word)) words.emplace_back(word, false);
    }
  }
  take_flags(words, name, out.flags);
  if (out.flags.empty()) return not_found(fmt::format("{}: neither ServerArgs(…) nor \"non-default args\" nor flags", name));
  return out;
}

}  // namespace pawl::upstream
