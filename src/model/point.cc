#include "model/point.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace pawl::model {
namespace {

using codec::Json;

/// Typed look-ups that collect the first complaint.
class RowReader {
 public:
  explicit RowReader(const Json& row) : row_(row) {}

  std::string text(const char* key) {
    const auto it = row_.find(key);
    if (it == row_.end() || !it->is_string()) {
      complain(key, "a text");
      return {};
    }
    return it->get<std::string>();
  }
  std::optional<std::int64_t> whole_if(const char* key) {
    const auto it = row_.find(key);
    if (it == row_.end() || it->is_null()) return std::nullopt;
    if (it->is_number_integer()) return it->get<std::int64_t>();
    if (it->is_boolean()) return it->get<bool>() ? 1 : 0;
    if (it->is_number_float() && it->get<double>() == static_cast<double>(static_cast<std::int64_t>(it->get<double>()))) {
      return static_cast<std::int64_t>(it->get<double>());
    }
    complain(key, "an integer");
    return std::nullopt;
  }
  std::int64_t whole(const char* key, std::optional<std::int64_t> otherwise = std::nullopt) {
    const auto value = whole_if(key);
    if (value) return *value;
    if (otherwise) return *otherwise;
    complain(key, "an integer");
    return 0;
  }
  bool flag(const char* key) {
    const auto it = row_.find(key);
    if (it == row_.end() || it->is_null()) return false;
    if (it->is_boolean()) return it->get<bool>();
    if (it->is_number_integer()) return it->get<std::int64_t>() != 0;
    complain(key, "true or false");
    return false;
  }
  std::optional<Worker> worker(const char* key) {
    const auto it = row_.find(key);
    if (it == row_.end() || !it->is_object()) return std::nullopt;
    RowReader inner(*it);
    Worker w{inner.whole("num-worker"),  inner.whole("tp"), inner.whole("pp", 1),  inner.whole("dcp-size", 1),
             inner.whole("pcp-size", 1), inner.whole("ep"), inner.flag("dp-attn"), {}};
    if (it->contains("hardware")) w.hardware = inner.text("hardware");
    if (problem_.empty() && !inner.problem_.empty()) problem_ = std::string(key) + "." + inner.problem_;
    return w;
  }
  std::int64_t concurrency() {
    const auto it = row_.find("conc");
    if (it != row_.end() && it->is_array()) {
      if (it->empty() || !(*it)[0].is_number_integer()) {
        complain("conc", "a list of integers");
        return 0;
      }
      return (*it)[0].get<std::int64_t>();
    }
    return whole("conc");
  }
  [[nodiscard]] bool has(const char* key) const { return row_.contains(key); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void complain(const char* key, const char* wanted) {
    if (problem_.empty()) problem_ = fmt::format("{}: expected {}", key, wanted);
  }
  const Json& row_;
  std::string problem_;
};

Json without(const Json& row, std::initializer_list<const char*> keys) {
  Json kept = row;
  for (const char* key : keys) kept.erase(key);
  return kept;
}

}  // namespace

std::int64_t Point::gpus() const {
  if (!prefill) return tp * pp * pcp_size;
  std::int64_t total = prefill->num_worker * prefill->tp * prefill->pp * prefill->pcp_size;
  if (decode) total += decode->num_worker * decode->tp * decode->pp * decode->pcp_size;
  return total;
}

std::string Point::workload() const {
  if (!isl || !osl) return "AgentX";
  const auto short_form = [](std::int64_t n) { return n % 1024 == 0 ? fmt::format("{}k", n / 1024) : fmt::format("{}", n); };
  return short_form(*isl) + "/" + short_form(*osl);
}

std::string Point::topology() const {
  if (prefill) {
    std::string text = fmt::format("PTP{}x{}", prefill->tp, prefill->num_worker);
    text += fmt::format("/DTP{}x{}", decode ? decode->tp : 0, decode ? decode->num_worker : 0);
    return text;
  }
  std::string text = fmt::format("TP{}", tp);
  if (pp > 1) text += fmt::format("/PP{}", pp);
  if (dcp_size > 1) text += fmt::format("/DCP{}", dcp_size);
  if (pcp_size > 1) text += fmt::format("/PCP{}", pcp_size);
  text += fmt::format("/EP{}", ep);
  if (dp_attn) text += "/DPA";
  return text;
}

std::string Point::label() const {
  std::string text = fmt::format("{} conc {}", topology(), conc);
  if (spec_decoding != "none") text += " " + spec_decoding;
  return text;
}

Result<Point> point_of_row(const Json& row) {
  if (!row.is_object()) return bad_input("a matrix row must be an object");
  RowReader in(row);
  Point p;
  p.image = in.text("image");
  p.model = in.text("model");
  p.model_prefix = in.text("model-prefix");
  p.precision = in.text("precision");
  p.framework = in.text("framework");
  p.runner = in.text("runner");
  p.exp_name = in.text("exp-name");
  p.isl = in.whole_if("isl");
  p.osl = in.whole_if("osl");
  p.prefill = in.worker("prefill");
  p.decode = in.worker("decode");
  if (!p.prefill) {
    p.tp = in.whole("tp");
    p.pp = in.whole("pp", 1);
    p.dcp_size = in.whole("dcp-size", 1);
    p.pcp_size = in.whole("pcp-size", 1);
    p.ep = in.whole("ep", 1);
    p.dp_attn = in.flag("dp-attn");
  }
  if (in.has("spec-decoding")) p.spec_decoding = in.text("spec-decoding");
  p.conc = in.concurrency();
  p.disagg = in.flag("disagg");
  p.eval_only = in.flag("eval-only");
  p.scenario = in.has("scenario-type") ? in.text("scenario-type") : "fixed-seq-len";
  if (!in.problem().empty()) return bad_input("matrix row: " + in.problem());
  return p;
}

std::string point_key(const Json& row) {
  return sha256_hex(codec::write_json_sorted(without(
      row, {"image", "exp-name", "recipe-fingerprint", "priority", "queue-token", "skip-queue-pr", "run-eval", "eval-only", "eval-conc", "eval-all-concs"})));
}

std::string shape_key(const Json& row) {
  return sha256_hex(codec::write_json_sorted(without(row, {"image", "exp-name", "recipe-fingerprint", "priority", "queue-token", "skip-queue-pr", "run-eval",
                                                           "eval-only", "eval-conc", "eval-all-concs", "conc"})));
}

std::string recipe_fingerprint(const Json& row) { return sha256_hex(codec::write_json_sorted(without(row, {"conc", "exp-name", "recipe-fingerprint"}))); }

}  // namespace pawl::model
