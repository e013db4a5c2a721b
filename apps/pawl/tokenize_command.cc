#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "bench_workload_options.h"
#include "cli.h"

namespace pawl::app {
namespace {

using codec::Json;

constexpr std::size_t kMaxInput = 256u << 20;

struct TokenizeFlags {
  std::filesystem::path tokenizer;
  std::optional<std::string> text;
  std::filesystem::path file;
  std::string decode;
  bool ids = false, pieces = false, lines = false;
};

Result<std::string> input_text(const TokenizeFlags& flags, const World& world) {
  if (flags.text) return *flags.text;
  if (!flags.file.empty() && flags.file != "-") return world.files.read(flags.file, kMaxInput);
  std::string text;
  char buffer[1 << 16];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, n);
    if (text.size() > kMaxInput) return bad_input("standard input: more than 256 MiB");
  }
  return text;
}

Result<std::vector<tokenizer::TokenId>> ids_from(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '[' || c == ']' || c == '\n'; }, ' ');
  std::vector<tokenizer::TokenId> ids;
  for (const std::string_view item : split(std::string_view(text), ' ')) {
    if (item.empty()) continue;
    const auto id = parse_int(item);
    if (!id || *id < 0 || *id > INT32_MAX) return usage_error("--decode: \"" + std::string(item) + "\" is no token id");
    ids.push_back(static_cast<tokenizer::TokenId>(*id));
  }
  return ids;
}

/// What one text gives as JSON.
Result<Json> tokenized(const std::string& text, const TokenizeFlags& flags, const tokenizer::Tokenizer& tokenizer, tokenizer::Encoder& encoder) {
  std::vector<tokenizer::TokenId> ids;
  PAWL_TRY(encoder.encode(text, ids));
  Json out;
  out["tokens"] = ids.size();
  if (flags.ids) out["ids"] = ids;
  if (flags.pieces) {
    // A piece may be a part of a character: as JSON it is shown the way a decoder shows it.
    out["pieces"] = Json::array();
    for (const tokenizer::TokenId id : ids) {
      const std::string piece = tokenizer.piece(id);
      out["pieces"].push_back(is_utf8(piece) ? piece : "\xEF\xBF\xBD");
    }
  }
  return out;
}

void print_text(const Json& item) {
  if (item.contains("ids")) {
    std::string line;
    for (const Json& id : item["ids"]) line += fmt::format("{}{}", line.empty() ? "" : " ", id.get<std::int64_t>());
    fmt::print("{}\n", line);
  }
  if (item.contains("pieces")) {
    for (const Json& piece : item["pieces"]) fmt::print("{}\n", codec::write_json(piece, codec::JsonForm::kCompactUtf8));
  }
  if (!item.contains("ids") && !item.contains("pieces")) fmt::print("{}\n", item["tokens"].get<std::size_t>());
}

Result<ExitStatus> tokenize(World& world, const TokenizeFlags& flags, bool json) {
  PAWL_ASSIGN(const auto tokenizer, read_tokenizer(world.files, flags.tokenizer));
  if (!flags.decode.empty()) {
    PAWL_ASSIGN(const auto ids, ids_from(flags.decode));
    PAWL_ASSIGN(const std::string text, tokenizer->decode(ids));
    if (json) {
      print_json(Json{{"tokens", ids.size()}, {"text", text}});
    } else {
      fmt::print("{}\n", text);
    }
    return ExitStatus::kDone;
  }
  PAWL_ASSIGN(std::string text, input_text(flags, world));
  const auto encoder = tokenizer->encoder();
  Json document;
  document["tokenizer"] = tokenizer->name();
  document["kind"] = tokenizer->kind();
  document["vocab_size"] = tokenizer->vocab_size();
  document["special_overhead"] = tokenizer->special_overhead();
  if (!flags.lines) {
    PAWL_ASSIGN(const Json item, tokenized(text, flags, *tokenizer, *encoder));
    document.update(item);
    if (json) {
      print_json(document);
    } else {
      print_text(item);
    }
    return ExitStatus::kDone;
  }
  if (text.ends_with('\n')) text.pop_back();
  document["lines"] = Json::array();
  std::size_t number = 0;
  for (const std::string_view line : split(std::string_view(text), '\n')) {
    ++number;
    // A line of JSON text may hold line ends.
    std::string plain(line);
    if (line.starts_with('"')) {
      const auto parsed = codec::parse_json(line, "line");
      if (!parsed || !parsed->is_string()) return bad_input(fmt::format("line {}: begins like a JSON text and is none", number));
      plain = parsed->get<std::string>();
    }
    PAWL_ASSIGN(Json item, tokenized(plain, flags, *tokenizer, *encoder));
    if (json) {
      document["lines"].push_back(std::move(item));
    } else {
      print_text(item);
    }
  }
  if (json) print_json(document);
  return ExitStatus::kDone;
}

}  // namespace

void add_tokenize_command(Cli& cli) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* app = cli.command(cli.root, "tokenize", "Count, list and decode the tokens of a text",
                              "  pawl tokenize --tokenizer tokenizer.json --text 'Hello, world'\n"
                              "  pawl tokenize --tokenizer MODEL_FOLDER --ids prompt.txt\n"
                              "  pawl tokenize --tokenizer tokenizer.model --lines --json < prompts.txt\n"
                              "  pawl tokenize --tokenizer tekken.json --decode '1080 1010'\n"
                              "\nSpecial tokens are not added, but their text within the input becomes them, as in the reference libraries.");
  app->add_option("--tokenizer", flags->tokenizer, "tokenizer.json, tekken.json or SentencePiece .model, or a folder with one")->required();
  app->add_option("file", flags->file, "File to read; default: standard input");
  app->add_option("--text", flags->text, "This text instead of a file");
  app->add_flag("--ids", flags->ids, "Print the ids instead of their number");
  app->add_flag("--pieces", flags->pieces, "Print what each token stands for, as JSON texts");
  app->add_flag("--lines", flags->lines, "Each line is a text of its own; one that begins with a quote is read as a JSON text");
  app->add_option("--decode", flags->decode, "Print the text of these ids");
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return tokenize(world, *flags, common.json); }; });
}

}  // namespace pawl::app
