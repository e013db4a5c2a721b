#include "evidence/signatures.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::evidence {
namespace {

struct Row {
  std::string kind;
  std::optional<std::string> name, pattern;
  std::vector<std::string> has;
  std::optional<bool> count, progress;
};
BOOST_DESCRIBE_STRUCT(Row, (), (kind, name, pattern, has, count, progress))

struct File {
  std::string engine;
  std::optional<std::vector<std::string>> detect, prefixes;
  std::vector<Row> signatures;
};
BOOST_DESCRIBE_STRUCT(File, (), (engine, detect, prefixes, signatures))

/// The automaton counts its states in 16 bits.
constexpr std::size_t kLiteralBytesMax = 60'000;

class Builder {
 public:
  explicit Builder(SignatureBook& book) : book_(book) {}

  Status add(const std::string& name, const File& file) {
    const int engine = number_of(file.engine);
    for (const std::string& text : file.detect.value_or(std::vector<std::string>())) {
      PAWL_ASSIGN(const std::size_t literal, literal_of(name, text));
      book_.engines_of[literal].push_back(engine);
    }
    for (const std::string& text : file.prefixes.value_or(std::vector<std::string>())) {
      auto pattern = codec::Pattern::compile_search(text);
      if (!pattern) return std::move(pattern).error().within(name + ": prefixes");
      const auto group = [&](const char* part) { return pattern->group(part).value_or(0); };
      book_.prefixes.push_back({engine, *pattern, group("time"), group("level"), group("process"), group("pid")});
    }
    for (std::size_t i = 0; i < file.signatures.size(); ++i) {
      if (auto added = add_signature(name, engine, file.signatures[i]); !added) {
        return std::move(added).error().within(fmt::format("{}: signatures[{}]", name, i));
      }
    }
    return {};
  }

 private:
  int number_of(const std::string& engine) {
    if (engine == "common") return 0;
    const auto found = std::ranges::find(book_.engines, engine);
    if (found != book_.engines.end()) return static_cast<int>(found - book_.engines.begin());
    book_.engines.push_back(engine);
    return static_cast<int>(book_.engines.size()) - 1;
  }

  Result<std::size_t> literal_of(const std::string& where, const std::string& text) {
    if (text.size() < 3) return bad_input(fmt::format("{}: '{}' is too short to look for: at least 3 characters", where, text));
    bytes_ += text.size();
    if (bytes_ > kLiteralBytesMax) return bad_input(fmt::format("{}: all texts to look for together are longer than {} characters", where, kLiteralBytesMax));
    const auto number = static_cast<std::size_t>(book_.literals.add(text));
    if (book_.signatures_of.size() <= number) {
      book_.signatures_of.resize(number + 1);
      book_.engines_of.resize(number + 1);
    }
    return number;
  }

  Status add_signature(const std::string& where, int engine, const Row& row) {
    const auto kind = codec::enum_value<SignatureKind>(row.kind);
    if (!kind) return bad_input(fmt::format("kind {} is not one of {}", row.kind, join(codec::enum_texts<SignatureKind>(), ", ")));
    Signature out;
    out.kind = *kind;
    out.engine = engine;
    out.name = row.name.value_or("");
    out.count = row.count.value_or(false);
    out.progress = row.progress.value_or(false);
    if (row.has.empty()) return bad_input("has must list at least one text");
    if (row.pattern) {
      PAWL_ASSIGN(out.pattern, codec::Pattern::compile_search(*row.pattern));
      const auto group = [&](const char* part) { return out.pattern->group(part).value_or(0); };
      out.value = group("value");
      out.list = group("list");
      out.was = group("old");
      out.now = group("new");
      out.method = group("method");
      out.path = group("path");
      out.status = group("status");
    }
    const auto needs = [&](bool there, const char* what) -> Status { return there ? Status() : bad_input(fmt::format("{} needs {}", row.kind, what)); };
    if (out.kind == SignatureKind::kFact) PAWL_TRY(needs(out.value != 0 && !out.name.empty(), "a name and a group value"));
    if (out.kind == SignatureKind::kSettings) PAWL_TRY(needs(out.list != 0 && !out.name.empty(), "a name and a group list"));
    if (out.kind == SignatureKind::kHttp) PAWL_TRY(needs(out.status != 0, "a group status"));
    if (out.kind == SignatureKind::kDeprecation) PAWL_TRY(needs(out.was != 0, "a group old"));
    const int number = static_cast<int>(book_.signatures.size());
    for (const std::string& text : row.has) {
      PAWL_ASSIGN(const std::size_t literal, literal_of(where, text));
      book_.signatures_of[literal].push_back(number);
    }
    book_.signatures.push_back(std::move(out));
    return {};
  }

  SignatureBook& book_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<SignatureBook> SignatureBook::parse(const std::vector<std::pair<std::string, std::string>>& files) {
  SignatureBook book;
  book.engines.emplace_back("common");
  Builder builder(book);
  for (const auto& [name, text] : files) {
    PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
    PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
    PAWL_ASSIGN(const File file, codec::from_json<File>(json, name));
    PAWL_TRY(builder.add(name, file));
  }
  // What one engine prints says more than what all print.
  std::ranges::stable_partition(book.prefixes, [](const Prefix& prefix) { return prefix.engine != 0; });
  book.literals.build();
  return book;
}

}  // namespace pawl::evidence
