#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/domain/image_registry.h"
#include "registry/registry_host.h"
#include "registry/web_session.h"

namespace pawl::registry {

/// Registries that speak the OCI distribution protocol: Docker Hub, ghcr, nvcr, quay, docker-registry and mirrors of them
/// (upgrade-loop 26.2). Every digest is checked against the bytes.
class OciRegistry final : public io::ImageRegistry {
 public:
  /// Both must outlive it.
  OciRegistry(const RegistryBook& book, WebSession& session) : book_(book), session_(session) {}

  Result<io::TagListing> tags(const std::string& name, std::stop_token stop) override;
  Result<std::string> digest(const model::ImageRef& image, std::stop_token stop) override;
  Result<io::ImageFacts> facts(const model::ImageRef& image, std::stop_token stop) override;
  Result<std::vector<std::string>> missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token stop) override;
  Result<bool> anonymous(const model::ImageRef& image, std::stop_token stop) override;

  /// Downloads one blob to `to`, checked against its digest; at most `bytes_max`.
  Status download(const model::ImageRef& image, const std::string& digest, const std::filesystem::path& to, std::uint64_t bytes_max, std::stop_token stop);

 private:
  struct Place {
    RepositoryAddress address;
    std::vector<std::string> bases;  ///< mirrors first, then the registry itself: scheme, host and port
  };
  Result<Place> place(const std::string& name) const;
  /// The first base that has an answer; a mirror that has none, or lacks it, is passed over.
  Result<WebSession::Answer> ask(const Place& place, WebSession::Ask request, const std::string& path, std::stop_token stop);
  Result<std::string> blob(const Place& place, const std::string& digest, std::stop_token stop);
  Status add_push_times(const Place& place, io::TagListing& listing, std::stop_token stop);
  Result<io::TagListing> list_at(const Place& place, const std::string& base, std::stop_token stop);

  const RegistryBook& book_;
  WebSession& session_;
};

}  // namespace pawl::registry
