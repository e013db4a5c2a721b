#include "results/tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace pawl::results {
namespace {

bool equal_in_constant_time(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace

Result<std::string> Tokens::create(const std::string& name, const std::string& scopes, const std::string& random_hex, const std::string& at) {
  constexpr std::size_t kHexDigits = 64, kSalt = 16;
  if (random_hex.size() != kHexDigits) return internal_error("a token needs 32 random bytes");
  for (const std::string_view scope : split(scopes, ',')) {
    if (scope != "ingest" && scope != "admin") return usage_error(fmt::format("{}: not a scope of a token", scope), "scopes: ingest, admin");
  }
  const std::string secret = "pawl_" + random_hex.substr(kSalt), salt = random_hex.substr(0, kSalt);
  PAWL_TRY(database_->execute("INSERT INTO results_token (name, scopes, salt, hash, created_at, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, '')",
                              {name, scopes, salt, sha256_hex(salt + secret), at}));
  PAWL_TRY(audit(at, "local", "token", fmt::format("created {} ({})", name, scopes)));
  return secret;
}

Status Tokens::revoke(std::int64_t id, const std::string& at) {
  PAWL_TRY(database_->execute("UPDATE results_token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at = ''", {id, at.empty() ? std::string("-") : at}));
  if (database_->changes() == 0) return not_found(fmt::format("there is no token {}", id));
  return audit(at, "local", "token", fmt::format("revoked {}", id));
}

Result<std::vector<TokenInfo>> Tokens::list() {
  std::vector<TokenInfo> all;
  PAWL_TRY(database_->query("SELECT id, name, scopes, created_at, revoked_at FROM results_token ORDER BY id", {}, [&](const store::Row& row) {
    all.push_back({row.whole(0), row.text(1), row.text(2), row.text(3), row.text(4)});
    return Status();
  }));
  return all;
}

Result<std::optional<std::string>> Tokens::check(const std::string& secret, const std::string& scope) {
  std::optional<std::string> who;
  PAWL_TRY(database_->query("SELECT name, scopes, salt, hash FROM results_token WHERE revoked_at = ''", {}, [&](const store::Row& row) {
    const std::string scopes = row.text(1);
    const auto all = split(scopes, ',');
    const bool allowed = std::ranges::find(all, std::string_view(scope)) != all.end();
    if (equal_in_constant_time(sha256_hex(row.text(2) + secret), row.text(3)) && allowed) who = row.text(0);
    return Status();
  }));
  return who;
}

Status Tokens::audit(const std::string& at, const std::string& who, const std::string& action, const std::string& detail) {
  return database_->execute("INSERT INTO results_audit (at, who, action, detail) VALUES (?1, ?2, ?3, ?4)", {at, who, action, detail});
}

}  // namespace pawl::results
