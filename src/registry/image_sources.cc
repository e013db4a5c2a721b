#include "registry/image_sources.h"

#include <fmt/format.h>

namespace pawl::registry {

Result<model::ImageRef> parse_image_name(const std::string& text) {
  if (text.starts_with("oci:")) {
    const auto colon = text.rfind(':');
    const bool tagged = colon > 3 && text.find('/', colon) == std::string::npos;
    model::ImageRef image{tagged ? text.substr(0, colon) : text, tagged ? text.substr(colon + 1) : std::string(), {}};
    if (image.name == "oci:") return bad_input(fmt::format("'{}' names no folder", text), "write it as oci:FOLDER:TAG");
    return image;
  }
  if (text.starts_with("pypi:")) {
    const auto equals = text.find("==");
    model::ImageRef image{text.substr(0, equals), equals == std::string::npos ? std::string() : text.substr(equals + 2), {}};
    if (normal_package_name(image.name.substr(5)).empty()) return bad_input(fmt::format("'{}' names no package", text), "write it as pypi:NAME==VERSION");
    return image;
  }
  return model::parse_image(text);
}

std::string image_name_text(const model::ImageRef& image) {
  if (!image.name.starts_with("pypi:")) return image.text();
  return image.tag.empty() ? image.name : image.name + "==" + image.tag;
}

Result<io::ImageRegistry*> ImageSources::source(const std::string& name) {
  if (name.starts_with("oci:")) return &layout_;
  if (!name.starts_with("pypi:")) return &registry_;
  if (!packages_) {
    PAWL_ASSIGN(std::string base, package_index_());
    packages_ = std::make_unique<PackageIndex>(std::move(base), session_);
  }
  return packages_.get();
}

Result<io::TagListing> ImageSources::tags(const std::string& name, std::stop_token stop) {
  PAWL_ASSIGN(io::ImageRegistry * from, source(name));
  return from->tags(name, stop);
}

Result<std::string> ImageSources::digest(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(io::ImageRegistry * from, source(image.name));
  return from->digest(image, stop);
}

Result<io::ImageFacts> ImageSources::facts(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(io::ImageRegistry * from, source(image.name));
  return from->facts(image, stop);
}

Result<std::vector<std::string>> ImageSources::missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token stop) {
  PAWL_ASSIGN(io::ImageRegistry * from, source(image.name));
  return from->missing_blobs(image, facts, stop);
}

Result<bool> ImageSources::anonymous(const model::ImageRef& image, std::stop_token stop) {
  PAWL_ASSIGN(io::ImageRegistry * from, source(image.name));
  return from->anonymous(image, stop);
}

Result<std::filesystem::path> ImageSources::layer(const model::ImageRef& image, const std::string& digest, const std::filesystem::path& folder,
                                                  std::uint64_t bytes_max, std::stop_token stop) {
  if (image.name.starts_with("oci:")) return OciLayout::blob_path(image.name, digest);
  if (image.name.starts_with("pypi:")) return bad_input(fmt::format("{} has no layers: a package is no image", image_name_text(image)));
  const std::filesystem::path path = folder / digest.substr(7);
  PAWL_TRY(registry_.download(image, digest, path, bytes_max, stop));
  return path;
}

}  // namespace pawl::registry
