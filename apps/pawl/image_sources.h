#pragma once

#include <memory>
#include <string>

#include "cli.h"
#include "images/image_choice.h"
#include "images/retention.h"
#include "registry/image_sources.h"

namespace pawl::app {

/// Flags that every command takes that asks a registry.
struct RegistryFlags {
  std::string auth, registries, index, cache;
  int tries = registry::RetryPolicy{}.tries;

  void add_to(CLI::App& app);
};

/// Registries, accounts, grammars and retention rules, wired once. Not movable: parts refer to each other.
class ImageDesk {
 public:
  static Result<std::unique_ptr<ImageDesk>> open(World& world, const RegistryFlags& flags);

  [[nodiscard]] registry::ImageSources& sources() { return *sources_; }
  [[nodiscard]] const images::TagGrammars& grammars() const { return grammars_; }
  [[nodiscard]] const std::vector<images::RetentionRule>& retention() const { return retention_; }
  [[nodiscard]] std::int64_t requests() const { return session_->requests(); }

 private:
  ImageDesk() = default;
  images::TagGrammars grammars_;
  std::vector<images::RetentionRule> retention_;
  registry::RegistryBook book_;
  std::unique_ptr<registry::WebSession> session_;
  std::unique_ptr<registry::ImageSources> sources_;
};

/// "90s", "30m", "12h", "3d". Error: kInvalid, naming `flag`.
[[nodiscard]] Result<Nanos> parse_age(const std::string& text, const char* flag);

}  // namespace pawl::app
