#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli.h"
#include "version.h"

namespace pawl::app {
namespace {

struct Option {
  std::vector<std::string> names;  ///< with their dashes; of a positional its one name
  std::string what, value;         ///< `value` is what to show for it, "" for a flag without one
  std::vector<std::string> choices;
  std::string standard, environment;
  bool positional = false, required = false, folder = false, many = false;
};

struct Command {
  std::string path;  ///< "pawl upgrade plan"
  std::string name, what, footer;
  std::vector<Option> options;
  std::vector<std::string> below;  ///< names of the commands below it
};

Option option_of(const CLI::Option& from) {
  Option option;
  option.positional = !from.nonpositional();
  if (option.positional) option.names.push_back(from.get_name(true));
  for (const std::string& name : option.positional ? std::vector<std::string>{} : from.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : option.positional ? std::vector<std::string>{} : from.get_lnames()) option.names.push_back("--" + name);
  option.what = from.get_description();
  option.standard = from.get_default_str();
  option.environment = from.get_envname();
  option.required = from.get_required();
  option.many = from.get_items_expected_max() > 1;
  if (from.get_type_size_max() == 0) return option;
  // CLI11 writes "TEXT:{a,b}", "TEXT:DIR", "INT:POSITIVE".
  const std::string type = from.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    for (const std::string_view choice : split(std::string_view(type).substr(open + 1, close - open - 1), ',')) option.choices.emplace_back(choice);
  }
  option.folder = type.find("DIR") != std::string::npos;
  option.value = !option.choices.empty() ? join(option.choices, "|") : option.folder ? "DIR" : type.substr(0, type.find(':'));
  return option;
}

/// `app` and all below it, a command before those below it, without what is hidden.
void collect(const CLI::App& app, const std::string& path, std::vector<Command>& out) {
  Command command{path, app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options({})) {
    if (!option->get_group().empty()) command.options.push_back(option_of(*option));
  }
  const auto below = app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
  for (const CLI::App* sub : below) command.below.push_back(sub->get_name());
  out.push_back(std::move(command));
  for (const CLI::App* sub : below) collect(*sub, path + " " + sub->get_name(), out);
}

const Command& at(const std::vector<Command>& commands, const std::string& path) { return *std::ranges::find(commands, path, &Command::path); }

std::string shell_quoted(std::string_view text) { return "'" + replace_all(std::string(text), "'", R"('\'')") + "'"; }

/// Appends a formatted line.
template <class... T>
void line(std::string& out, fmt::format_string<T...> format, T&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(values)...);
  out += '\n';
}

std::string bash_completion(const std::vector<Command>& commands) {
  std::string paths, values, words;
  for (const Command& command : commands) {
    if (command.path != "pawl") paths += fmt::format("{}\"{}\"", paths.empty() ? "" : " | ", command.path);
    std::vector<std::string> flags, files, others = command.below;
    for (const Option& option : command.options) {
      if (option.positional) {
        others.insert(others.end(), option.choices.begin(), option.choices.end());
        continue;
      }
      flags.insert(flags.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        const std::string pattern = fmt::format("\"{}:{}\"", command.path, name);
        if (!option.choices.empty()) {
          line(values, "    {}) COMPREPLY=($(compgen -W {} -- \"$cur\")); return ;;", pattern, shell_quoted(join(option.choices, " ")));
        } else if (option.folder) {
          line(values, "    {}) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;", pattern);
        } else {
          files.push_back(pattern);
        }
      }
    }
    if (!files.empty()) line(values, "    {}) COMPREPLY=(); return ;;", join(files, " | "));
    line(words, "    \"{}\") flags={} words={} ;;", command.path, shell_quoted(join(flags, " ")), shell_quoted(join(others, " ")));
  }
  return fmt::format(R"(# Completion of pawl {} for bash, written by: pawl completion bash
_pawl() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD - 1]}}" path=pawl flags="" words="" i
  # bash takes --flag=value for three words.
  if [[ "$cur" == "=" ]]; then
    cur=""
  elif [[ "$prev" == "=" ]]; then
    prev="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  # No reply: -o default completes names of files.
  case "$path:$prev" in
{}  esac
  case "$path" in
{}  esac
  if [[ "$cur" == -* ]]; then words="$flags"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _pawl pawl
)",
                     kVersion, paths, values, words);
}

/// Text inside the brackets or behind the colons of _arguments.
std::string zsh_text(std::string text) {
  for (const char* special : {"\\", "[", "]", ":"}) text = replace_all(text, special, std::string("\\") + special);
  return text;
}

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string out = fmt::format("#compdef pawl\n# Completion of pawl {} for zsh, written by: pawl completion zsh\n", kVersion);
  const auto function = [](const std::string& path) { return "_" + replace_all(replace_all(path, " ", "_"), "-", "_"); };
  for (const Command& command : commands) {
    line(out, "\n{}() {{", function(command.path));
    if (!command.below.empty()) {
      out += "  local line state\n  local -a commands=(\n";
      for (const std::string& name : command.below) {
        line(out, "    {}", shell_quoted(name + ":" + replace_all(at(commands, command.path + " " + name).what, ":", "\\:")));
      }
      out += "  )\n";
    }
    out += command.below.empty() ? "  _arguments" : "  _arguments -C";
    for (const Option& option : command.options) {
      const std::string action = !option.choices.empty() ? fmt::format("({})", join(option.choices, " ")) : option.folder ? "_files -/" : "_files";
      if (option.positional) {
        const std::string place = option.many ? "*" : option.required ? "" : ":";
        out += " \\\n    " + shell_quoted(fmt::format("{}:{}:{}", place, zsh_text(option.names.front()), action));
        continue;
      }
      for (const std::string& name : option.names) {
        const std::string value = option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), action);
        const std::string others = option.names.size() > 1 ? "(" + join(option.names, " ") + ")" : "";
        out += " \\\n    " +
               shell_quoted(fmt::format("{}{}{}[{}]{}", others, name, option.value.empty() || name.size() == 2 ? "" : "=", zsh_text(option.what), value));
      }
    }
    if (!command.below.empty()) {
      out +=
          " \\\n    '1: :->command' '*:: :->rest'\n  case \"$state\" in\n    command) _describe command commands ;;\n    rest)\n      case \"$line[1]\" in\n";
      for (const std::string& name : command.below) line(out, "        {}) {} ;;", name, function(command.path + " " + name));
      out += "      esac\n      ;;\n  esac";
    }
    out += "\n}\n";
  }
  // Autoloaded the file is the function; sourced it only declares it.
  out += "\nif [[ \"${funcstack[1]}\" == _pawl ]]; then _pawl \"$@\"; else compdef _pawl pawl; fi\n";
  return out;
}

std::string fish_completion(const std::vector<Command>& commands) {
  const auto fish = [](std::string_view text) { return "'" + replace_all(replace_all(std::string(text), "\\", "\\\\"), "'", "\\'") + "'"; };
  std::string paths, rules;
  for (const Command& command : commands) {
    paths += " " + fish(command.path);
    const std::string rule = fmt::format("complete -c pawl -n {}", fish(fmt::format("__pawl_at \"{}\"", command.path)));
    for (const std::string& name : command.below) {
      line(rules, "{} -a {} -d {}", rule, name, fish(at(commands, command.path + " " + name).what));
    }
    for (const Option& option : command.options) {
      if (option.positional) {
        line(rules, "{} {}", rule, option.choices.empty() ? "-F" : "-a " + fish(join(option.choices, " ")));
        continue;
      }
      std::string names;
      for (const std::string& name : option.names) names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string value = option.value.empty()      ? ""
                                : !option.choices.empty() ? " -x -a " + fish(join(option.choices, " "))
                                : option.folder           ? " -x -a '(__fish_complete_directories)'"
                                                          : " -r -F";
      line(rules, "{}{}{} -d {}", rule, names, value, fish(option.what));
    }
  }
  return fmt::format(R"(# Completion of pawl {} for fish, written by: pawl completion fish
function __pawl_at
    set -l path pawl
    set -l words (commandline -opc)
    for word in $words[2..]
        if contains -- "$path $word"{}
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end

complete -c pawl -f
{})",
                     kVersion, paths, rules);
}

// ── the manual page ──────────────────────────────────────────────────────────────────────────────────────────────────

/// Text of a roff document: no character of it is taken for a request.
std::string roff(std::string_view text) {
  std::string out = replace_all(replace_all(std::string(text), "\\", "\\e"), "-", "\\-");
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return replace_all(replace_all(out, "\n.", "\n\\&."), "\n'", "\n\\&'");
}

std::string roff_option(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
  std::string out = ".TP\n" + join(names, ", ");
  if (!option.value.empty() && !option.positional) out += fmt::format(" \\fI{}\\fR", roff(option.value));
  out += "\n" + roff(option.what);
  if (!option.choices.empty() && option.positional) out += "; one of " + roff(join(option.choices, ", "));
  if (option.required && !option.positional) out += " (required)";
  if (!option.standard.empty()) out += fmt::format(" (default: {})", roff(option.standard));
  if (!option.environment.empty()) out += fmt::format("; also from the environment, as {}", roff(option.environment));
  return out + "\n";
}

/// The footer of a help text: what is indented keeps its lines.
std::string roff_footer(std::string_view footer) {
  std::string out;
  bool example = false;
  for (const std::string_view text : split(footer, '\n')) {
    const bool indented = text.starts_with("  ");
    if (indented != example) out += indented ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n.PP\n";
    example = indented;
    if (!trim(text).empty()) {
      out += roff(indented ? text.substr(2) : text) + "\n";
    } else if (!out.empty() && !out.ends_with(".PP\n")) {
      out += ".PP\n";
    }
  }
  return out + (example ? ".RE\n.fi\n" : "");
}

constexpr std::array<std::pair<ExitStatus, std::string_view>, 10> kStatuses{{
    {ExitStatus::kDone, "What was asked for happened."},
    {ExitStatus::kFoundWanting, "Checked and found wanting: a gate, a comparison, a review, invalid numbers."},
    {ExitStatus::kUsage, "The command line cannot be understood."},
    {ExitStatus::kBadInput, "A file or value that was given is wrong."},
    {ExitStatus::kMachine, "This machine: a port, the disk, a permission."},
    {ExitStatus::kPeer, "Another service could not be reached or refused."},
    {ExitStatus::kRunFailed, "The engine or a run failed, or pawl met a defect of its own."},
    {ExitStatus::kDeferred, "Not now: capacity or readiness."},
    {ExitStatus::kStopped, "Somebody asked to stop."},
    {ExitStatus::kInterrupted, "Interrupted by SIGINT or SIGTERM."},
}};

std::string man_page(const std::vector<Command>& commands) {
  // Said once: the options that every command without commands below it has.
  const auto in_all = [&commands](const Option& option) {
    return !option.positional && std::ranges::all_of(commands, [&option](const Command& command) {
      return !command.below.empty() ||
             std::ranges::any_of(command.options, [&option](const Option& other) { return other.names == option.names && other.what == option.what; });
    });
  };
  const Command& root = commands.front();
  std::string out = fmt::format(".TH PAWL 1 \"\" \"pawl {}\" \"User Commands\"\n.SH NAME\n", kVersion);
  line(out, "pawl \\- {}", roff("move the serving images of LLM inference recipes forward, and never backward"));
  out += ".SH SYNOPSIS\n";
  std::vector<const Command*> leaves;
  for (const Command& command : commands) {
    // A command with others below it may do something by itself (bench): then it has options of its own.
    const bool acts = &command != &root && std::ranges::any_of(command.options, [&](const Option& option) { return !in_all(option); });
    if (command.below.empty() || acts) leaves.push_back(&command);
  }
  const auto synopsis = [](const Command& command) {
    std::string text = fmt::format("\\fB{}\\fR", roff(command.path));
    for (const Option& option : command.options) {
      if (option.required && !option.positional) text += fmt::format(" \\fB{}\\fR \\fI{}\\fR", roff(option.names.back()), roff(option.value));
    }
    text += " [\\fIOPTIONS\\fR]";
    for (const Option& option : command.options) {
      const std::string name = fmt::format("\\fI{}\\fR{}", roff(option.names.front()), option.many ? " ..." : "");
      if (option.positional) text += option.required ? " " + name : " [" + name + "]";
    }
    return text;
  };
  for (const Command* command : leaves) line(out, "{}{}", command == leaves.front() ? "" : ".br\n", synopsis(*command));
  line(out, ".SH DESCRIPTION\n{}", roff(root.what));
  out += ".SH COMMON OPTIONS\nEvery command takes these.\n";
  for (const Option& option : leaves.front()->options) {
    if (in_all(option)) out += roff_option(option);
  }
  for (const Option& option : root.options) {
    if (!in_all(option)) out += roff_option(option);
  }
  out += ".SH COMMANDS\n";
  for (const Command* command : leaves) {
    line(out, ".SS {}\n{}", synopsis(*command), roff(command->what + "."));
    for (const Option& option : command->options) {
      if (!in_all(option)) out += roff_option(option);
    }
    out += command->footer.empty() ? "" : ".PP\n" + roff_footer(command->footer);
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [status, what] : kStatuses) line(out, ".TP\n\\fB{}\\fR\n{}", static_cast<int>(status), roff(what));
  out += ".SH EXAMPLES\n";
  out += roff_footer(std::string_view(root.footer).substr(0, root.footer.find("\n\nExit statuses:")));
  return out;
}

}  // namespace

void add_completion_command(Cli& cli) {
  CLI::App* app = cli.command(cli.root, "completion", "Print the completions of pawl for a shell, or its manual page",
                              "  source <(pawl completion bash)\n"
                              "  pawl completion zsh > ~/.zfunc/_pawl            with ~/.zfunc in fpath\n"
                              "  pawl completion fish > ~/.config/fish/completions/pawl.fish\n"
                              "  pawl completion man | man -l -");
  const auto format = std::make_shared<std::string>();
  app->add_option("FORMAT", *format, "What to print")->required()->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  app->callback([&cli, format] {
    cli.selected = [&cli, format](World&, const CommonFlags&) -> Result<ExitStatus> {
      std::vector<Command> commands;
      collect(cli.root, "pawl", commands);
      const std::string text = *format == "bash"   ? bash_completion(commands)
                               : *format == "zsh"  ? zsh_completion(commands)
                               : *format == "fish" ? fish_completion(commands)
                                                   : man_page(commands);
      std::fwrite(text.data(), 1, text.size(), stdout);
      return ExitStatus::kDone;
    };
  });
}

}  // namespace pawl::app
