#include "base/hash.h"

#include <openssl/evp.h>

#include <array>

#include "base/assert.h"

namespace pawl {
namespace {

using Digest = std::array<unsigned char, 32>;

std::string hex_of(const Digest& digest) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (const unsigned char b : digest) {
    out += kHex[b >> 4];
    out += kHex[b & 15];
  }
  return out;
}

struct ContextDeleter {
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
};

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Digest digest{};
  unsigned int size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  PAWL_ASSERT(ok == 1 && size == digest.size());
  return hex_of(digest);
}

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, ContextDeleter> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  const int ok = EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
  PAWL_ASSERT(ok == 1);
}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  const int ok = EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
  PAWL_ASSERT(ok == 1);
}

std::string Sha256::hex() {
  Digest digest{};
  unsigned int size = 0;
  const int ok = EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size);
  PAWL_ASSERT(ok == 1 && size == digest.size());
  return hex_of(digest);
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.empty()) return std::string();
  if (text.size() % 4 != 0 || text.size() > (1u << 24)) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text), static_cast<int>(text.size()));
  if (n < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(n) - padding);  // EVP_DecodeBlock counts the padding as bytes
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  if (!bytes.empty()) EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(bytes), static_cast<int>(bytes.size()));
  return out;
}

}  // namespace pawl
