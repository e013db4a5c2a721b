#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/record.h"
#include "measure/request_metrics.h"
#include "measure/samples.h"
#include "model/bench_details.h"

namespace pawl::measure {

/// The tools whose numbers can be reproduced from our timeline (BC-14). They stamp after the read, so profiles use the
/// user stamp (BC-2.5).
enum class Profile { kVllm, kSglang, kSglangGenerate, kInferencex, kAiperf, kGenaiPerf, kGuidellm };
BOOST_DESCRIBE_ENUM(Profile, kVllm, kSglang, kSglangGenerate, kInferencex, kAiperf, kGenaiPerf, kGuidellm)

[[nodiscard]] std::span<const Profile> all_profiles();

/// What a tool would have computed of one request. Milliseconds.
struct ProfileMetrics {
  std::optional<double> ttft_ms;
  std::optional<double> e2el_ms;
  std::optional<double> tpot_ms;  ///< aiperf and genai-perf call it inter_token_latency
  std::vector<Sample> itl;        ///< aiperf and genai-perf: inter_chunk_latency
  std::int64_t output_tokens = 0;
  bool osl_guessed = false;  ///< that tool would have guessed (the requested maximum) or used its own tokenizer, which we did not
};

/// `chat`: the request went to a chat endpoint. Only for ok requests; reuses the memory of `out`.
void compute_profile(Profile profile, const RequestRecord& record, bool chat, ProfileMetrics& out);

/// Collects one profile over a run. Parts merge like those of a Summary.
class ProfileSummary {
 public:
  ProfileSummary(Profile profile, bool chat) : profile_(profile), chat_(chat), table_(3, nullptr) {}
  /// Takes a measured request of any outcome; those of a skipped one say nothing.
  void add(const RequestRecord& record);
  void merge(const ProfileSummary& other);
  /// `duration_s`: the client's wall span around all requests (BC-14.2).
  [[nodiscard]] model::BenchCompat result(double duration_s) const;
  [[nodiscard]] Profile profile() const { return profile_; }

 private:
  Profile profile_;
  bool chat_;
  ProfileMetrics scratch_;
  RequestTable table_;  ///< ttft, tpot, e2el
  SampleSet itl_;
  std::int64_t completed_ = 0, failed_ = 0, input_ = 0, output_ = 0, guessed_ = 0;
};

}  // namespace pawl::measure
