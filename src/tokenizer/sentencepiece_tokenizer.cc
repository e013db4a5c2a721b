#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "base/text.h"
#include "tokenizer/tokenizer.h"

namespace pawl::tokenizer {
namespace {

using sentencepiece::SentencePieceProcessor;

class SentencePieceEncoder final : public Encoder {
 public:
  explicit SentencePieceEncoder(const SentencePieceProcessor& model) : model_(model) {}
  Status encode(std::string_view text, std::vector<TokenId>& out) override {
    if (!is_utf8(text)) return bad_input("text that is no UTF-8");
    ids_.clear();
    if (const auto status = model_.Encode(text, &ids_); !status.ok()) return bad_input("text that SentencePiece refuses: " + status.ToString());
    out.insert(out.end(), ids_.begin(), ids_.end());
    return {};
  }

 private:
  const SentencePieceProcessor& model_;
  std::vector<int> ids_;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::shared_ptr<const SentencePieceProcessor> model, std::string name) : model_(std::move(model)), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  std::string kind() const override { return "SentencePiece"; }
  std::int64_t vocab_size() const override { return model_->GetPieceSize(); }
  TokenId id_limit() const override { return model_->GetPieceSize(); }
  std::int64_t special_overhead() const override { return model_->bos_id() >= 0 ? 1 : 0; }
  bool is_special(TokenId id) const override {
    return id < 0 || id >= model_->GetPieceSize() || model_->IsControl(id) || model_->IsUnknown(id) || model_->IsUnused(id);
  }
  std::string piece(TokenId id) const override {
    if (id < 0 || id >= model_->GetPieceSize()) return {};
    const std::string& text = model_->IdToPiece(id);
    if (model_->IsByte(id) && text.size() == 6) return std::string(1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
    return replace_all(text, "\xE2\x96\x81", " ");
  }
  std::unique_ptr<Encoder> encoder() const override { return std::make_unique<SentencePieceEncoder>(*model_); }
  Result<std::string> decode(std::span<const TokenId> ids) const override {
    std::vector<int> plain(ids.begin(), ids.end());
    for (const int id : plain) {
      if (id < 0 || id >= model_->GetPieceSize()) return bad_input(fmt::format("token {} is not one of {}", id, name_));
    }
    std::string text;
    if (const auto status = model_->Decode(plain, &text); !status.ok()) return bad_input("ids that SentencePiece refuses: " + status.ToString());
    return text;
  }

 private:
  std::shared_ptr<const SentencePieceProcessor> model_;
  std::string name_;
};

}  // namespace

Result<std::shared_ptr<const Tokenizer>> load_sentencepiece(std::string_view bytes, const std::string& name) {
  constexpr std::size_t kMaxBytes = 256u << 20;
  if (bytes.size() > kMaxBytes) return bad_input(fmt::format("{}: {} bytes, at most {} are read", name, bytes.size(), kMaxBytes));
  auto model = std::make_shared<SentencePieceProcessor>();
  if (const auto status = model->LoadFromSerializedProto(bytes); !status.ok()) {
    return bad_input(name + ": neither a tokenizer.json nor a SentencePiece model", "give the tokenizer.json, tekken.json or .model file of the model");
  }
  return std::make_shared<SentencePieceTokenizer>(std::move(model), name);
}

}  // namespace pawl::tokenizer
