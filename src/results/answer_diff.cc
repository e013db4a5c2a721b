#include "results/answer_diff.h"

#include <fmt/format.h>

#include <deque>
#include <set>

namespace pawl::results {
namespace {

using codec::Json;

/// What makes a row the same row elsewhere: everything but measurements and what only one server knows.
std::string identity_of(const Json& row) {
  static const std::set<std::string, std::less<>> kIdentity{"hardware",
                                                            "framework",
                                                            "model",
                                                            "precision",
                                                            "spec_method",
                                                            "disagg",
                                                            "is_multinode",
                                                            "prefill_tp",
                                                            "prefill_ep",
                                                            "prefill_dp_attention",
                                                            "prefill_num_workers",
                                                            "decode_tp",
                                                            "decode_ep",
                                                            "decode_dp_attention",
                                                            "decode_num_workers",
                                                            "num_prefill_gpu",
                                                            "num_decode_gpu",
                                                            "isl",
                                                            "osl",
                                                            "conc",
                                                            "task",
                                                            "date",
                                                            "run_url",
                                                            "github_run_id",
                                                            "base_ref",
                                                            "head_ref",
                                                            "tier",
                                                            "workload"};
  if (!row.is_object()) return codec::write_json_sorted(row);
  std::string out;
  for (const auto& [key, value] : row.items()) {
    if (!kIdentity.contains(key)) continue;
    if (!out.empty()) out += ' ';
    out += key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out.empty() ? codec::write_json_sorted(row) : out;
}

bool equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
  if (a.is_array() && b.is_array()) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i], b[i])) return false;
    }
    return true;
  }
  return a == b;
}

class Comparison {
 public:
  explicit Comparison(AnswerDiff& out) : out_(out) {}

  void lists(const Json& left, const Json& right, const std::string& prefix) {
    out_.left += static_cast<std::int64_t>(left.size()), out_.right += static_cast<std::int64_t>(right.size());
    // The members that both sides identify rows by: a side that does not tell one cannot be matched by it.
    std::map<std::string, std::deque<std::size_t>> at;
    for (std::size_t i = 0; i < right.size(); ++i) at[identity_of(right[i])].push_back(i);
    std::set<std::size_t> taken;
    std::size_t expected = 0;
    for (const Json& row : left) {
      const std::string identity = identity_of(row);
      auto found = at.find(identity);
      if (found == at.end() || found->second.empty()) {
        ++out_.only_left_count;
        if (out_.only_left.size() < 50) out_.only_left.push_back(prefix + identity);
        continue;
      }
      // Of several that are alike the equal one is the partner.
      auto best = found->second.begin();
      for (auto candidate = best; candidate != found->second.end(); ++candidate) {
        if (agrees(row, right[*candidate])) {
          best = candidate;
          break;
        }
      }
      const std::size_t partner = *best;
      found->second.erase(best);
      taken.insert(partner);
      ++out_.matched;
      if (partner != expected) ++out_.out_of_order;
      expected = partner + 1;
      members(row, right[partner], prefix, identity);
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (taken.contains(i)) continue;
      ++out_.only_right_count;
      if (out_.only_right.size() < 50) out_.only_right.push_back(prefix + identity_of(right[i]));
    }
  }

  void members(const Json& left, const Json& right, const std::string& prefix, const std::string& identity) {
    if (!left.is_object() || !right.is_object()) {
      if (!equal(left, right)) ++out_.changed[prefix];
      return;
    }
    for (const auto& [key, value] : left.items()) {
      const auto found = right.find(key);
      if (found == right.end()) {
        ++out_.missing[prefix + key];
      } else if (value.is_object() && found->is_object()) {
        members(value, *found, prefix + key + ".", identity);
      } else if (!equal(value, *found)) {
        ++out_.changed[prefix + key];
        if (out_.examples.size() < 20)
          out_.examples.push_back(fmt::format("{}{}: {} → {} ({})", prefix, key, value.dump().substr(0, 120), found->dump().substr(0, 120), identity));
      }
    }
    for (const auto& [key, value] : right.items()) {
      if (!left.contains(key)) ++out_.added[prefix + key];
    }
  }

 private:
  static bool agrees(const Json& a, const Json& b) {
    if (!a.is_object() || !b.is_object()) return equal(a, b);
    for (const auto& [key, value] : a.items()) {
      if (b.contains(key) && !equal(value, b[key]) && !value.is_object()) return false;
      if (b.contains(key) && value.is_object() && !agrees(value, b[key])) return false;
    }
    return true;
  }

  AnswerDiff& out_;
};

}  // namespace

AnswerDiff diff_answers(const Json& left, const Json& right) {
  AnswerDiff out;
  Comparison comparison(out);
  if (left.is_array() && right.is_array()) {
    comparison.lists(left, right, {});
    return out;
  }
  if (!left.is_object() || !right.is_object()) {
    if (!equal(left, right)) ++out.changed["answer"];
    return out;
  }
  Json left_rest = Json::object(), right_rest = Json::object();
  for (const auto& [key, value] : left.items()) {
    if (value.is_array() && right.contains(key) && right[key].is_array()) {
      comparison.lists(value, right[key], key + ".");
    } else {
      left_rest[key] = value;
    }
  }
  for (const auto& [key, value] : right.items()) {
    if (!(value.is_array() && left.contains(key) && left[key].is_array())) right_rest[key] = value;
  }
  comparison.members(left_rest, right_rest, {}, "answer");
  return out;
}

}  // namespace pawl::results
