#include "twin/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::twin {

Result<engine_law::Rows> read_rows(std::string text, const std::string& file) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
  PAWL_ASSIGN(const codec::Json value, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(engine_law::Rows rows, codec::from_json<engine_law::Rows>(value, file));
  PAWL_TRY(engine_law::check(rows, file));
  return rows;
}

std::vector<std::string> rows_names(const io::Assets& assets) {
  std::vector<std::string> names;
  for (const std::string& file : assets.list("twin-rows/")) {
    if (file.ends_with(".yaml")) names.push_back(file.substr(10, file.size() - 15));
  }
  return names;
}

std::string profile_text(const Profile& like, const std::string& name, const engine_law::Rows& rows, const engine_law::Fit& fit) {
  std::string text = fmt::format(
      "# Simulated: a law fitted to published numbers, no model. Written by `pawl twin fit`.\n# Source: {}\n# Residuals (law against rows):\n", rows.source);
  double worst_tpot = 0, worst_ttft = 0;
  std::string line;
  std::int64_t tp = -1, conc = -1;
  for (const engine_law::Residual& r : fit.residuals) {
    if (r.tp != tp || r.conc != conc) {
      text += line + (line.empty() ? "" : "\n");
      tp = r.tp;
      conc = r.conc;
      line = fmt::format("#   tp {} conc {:>3}:", tp, conc);
    }
    line += fmt::format("  {} {:+.1f}%", r.what, 100 * r.relative());
    if (r.what == "tpot_ms") worst_tpot = std::max(worst_tpot, std::abs(r.relative()));
    if (r.what == "ttft_ms") worst_ttft = std::max(worst_ttft, std::abs(r.relative()));
  }
  text += line + "\n# load_s, accuracy and jitter are chosen.\n";
  text += fmt::format("name: {}\ndescribes: \"{}; within {:.0f} % of TPOT and {:.0f} % of TTFT of the rows\"\n", name, rows.name, std::ceil(100 * worst_tpot),
                      std::ceil(100 * worst_ttft));
  text += fmt::format("engine: {}\nversion: \"{}\"\nload_s: {}\n", like.engine, like.version, like.load_s);
  if (like.real_start_s > 0) text += fmt::format("real_start_s: {}\n", like.real_start_s);
  text += fmt::format("accuracy: {}\ncontext_length: {}\nmax_running_requests: {}\n", like.accuracy, like.context_length, like.max_running_requests);
  if (like.ep) text += fmt::format("ep: {}\n", *like.ep);
  if (like.scaling) {
    text += fmt::format("scaling: {{serial_share: {}, weights_gpus: {}, ep_imbalance: {}}}\n", like.scaling->serial_share, like.scaling->weights_gpus,
                        like.scaling->ep_imbalance);
  }
  if (like.poll_steps_from) {
    std::string entries;
    for (const auto& [from, steps] : *like.poll_steps_from) entries += fmt::format("{}\"{}\": {}", entries.empty() ? "" : ", ", from, steps);
    text += fmt::format("poll_steps_from: {{{}}}\n", entries);
  }
  text += fmt::format("rows: twin-rows/{}.yaml\nlaw:\n", rows.name);
  for (const auto& [gpus, law] : fit.law) {
    const double jitter = like.law.empty() ? 0.03 : like.law.begin()->second.jitter;
    text += fmt::format(
        "  \"{}\":\n    decode_base_ms: {:.4f}\n    decode_per_seq_ms: {:.4f}\n    decode_exponent: {:.4f}\n    decode_per_ktoken_ms: {:.6f}\n"
        "    prefill_base_ms: {}\n    prefill_tok_per_ms: {:.3f}\n    admit_ms: {:.2f}\n    jitter: {}\n    chunk_tokens: {}\n    kv_tokens: {}\n    mixed: "
        "{}\n",
        gpus, law.decode_base_ms, law.decode_per_seq_ms, law.decode_exponent, law.decode_per_ktoken_ms, law.prefill_base_ms, law.prefill_tok_per_ms,
        law.admit_ms, jitter, law.chunk_tokens, law.kv_tokens, law.is_mixed());
  }
  if (like.deprecated) {
    std::string entries;
    for (const auto& [flag, instead] : *like.deprecated) entries += fmt::format("{}{}: \"{}\"", entries.empty() ? "" : ", ", flag, instead);
    text += fmt::format("deprecated: {{{}}}\n", entries);
  }
  text += "flags:\n  [";
  std::size_t width = 3;
  for (std::size_t i = 0; i < like.flags.size(); ++i) {
    const std::string item = like.flags[i] + (i + 1 < like.flags.size() ? "," : "]");
    if (width + item.size() + 1 > 118) {
      text += "\n   ";
      width = 3;
    } else if (i > 0) {
      text += " ";
    }
    text += item;
    width += item.size() + 1;
  }
  return text + "\n";
}

}  // namespace pawl::twin
