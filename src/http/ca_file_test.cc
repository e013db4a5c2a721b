#include "http/ca_file.h"

#include <gtest/gtest.h>

#include <string_view>

namespace pawl::http {
namespace {

auto only(std::string_view present) {
  return [present](const char* path) { return present == path; };
}

TEST(CaFile, IsFoundWhereDebianAndWhereRhelKeepIt) {
  EXPECT_EQ(find_ca_file(nullptr, only("/etc/ssl/certs/ca-certificates.crt")), "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(find_ca_file("", only("/etc/pki/tls/certs/ca-bundle.crt")), "/etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(find_ca_file(nullptr, only("/etc/ssl/cert.pem")), "/etc/ssl/cert.pem");
}

TEST(CaFile, OfTheEnvironmentGoesFirstEvenWhenItIsNotThere) {
  EXPECT_EQ(find_ca_file("/home/me/ca.pem", only("/etc/ssl/certs/ca-certificates.crt")), "/home/me/ca.pem");
}

TEST(CaFile, IsLeftToTheLibraryWhenThereIsNone) { EXPECT_EQ(find_ca_file(nullptr, only("")), std::nullopt); }

}  // namespace
}  // namespace pawl::http
