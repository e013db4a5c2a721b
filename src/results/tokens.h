#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace pawl::results {

struct TokenInfo {
  std::int64_t id = 0;
  std::string name, scopes, created_at, revoked_at;
};

/// Who may write: tokens with scopes ("ingest", "admin", comma-separated), kept as salted SHA-256 only, and the log of
/// what was done with them.
class Tokens {
 public:
  explicit Tokens(store::Database& database) : database_(&database) {}
  /// Makes a token from 32 random bytes of the caller; the text is told once and never kept.
  Result<std::string> create(const std::string& name, const std::string& scopes, const std::string& random_hex, const std::string& at);
  Status revoke(std::int64_t id, const std::string& at);
  Result<std::vector<TokenInfo>> list();
  /// The name of the token's owner when it is valid and has the scope. Compares in constant time.
  Result<std::optional<std::string>> check(const std::string& secret, const std::string& scope);
  Status audit(const std::string& at, const std::string& who, const std::string& action, const std::string& detail);

 private:
  store::Database* database_;
};

}  // namespace pawl::results
