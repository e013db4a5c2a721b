#include "engine_law/law.h"

#include <fmt/format.h>

#include <cmath>

namespace pawl::engine_law {

double Speculation::expected_tokens() const { return (1 - std::pow(acceptance, static_cast<double>(draft_tokens + 1))) / (1 - acceptance); }

double Law::decode_ms(std::int64_t batch, std::int64_t resident) const {
  if (batch <= 0) return 0;
  double sequences = static_cast<double>(batch);
  double draft = 0;
  if (speculation && speculation->draft_tokens > 0) {
    sequences *= 1 + speculation->verify_share * static_cast<double>(speculation->draft_tokens);
    draft = speculation->draft_ms * static_cast<double>(speculation->draft_tokens);
  }
  return draft + decode_base_ms + decode_per_seq_ms * std::pow(sequences, decode_exponent) + decode_per_ktoken_ms * static_cast<double>(resident) / 1000;
}

double Law::prefill_ms(std::int64_t tokens, double context) const {
  if (tokens <= 0) return 0;
  const double count = static_cast<double>(tokens);
  return prefill_base_ms + count / prefill_tok_per_ms + prefill_attention_ms * (count / 1000) * (context / 1000);
}

Status complete(Law& law, const std::string& where) {
  if (std::isnan(law.prefill_attention_ms)) law.prefill_attention_ms = 0;
  if (std::isnan(law.reserve_share)) law.reserve_share = 1;
  const auto wrong = [&](const std::string& what) -> Status { return bad_input(fmt::format("{}: {}", where, what)); };
  for (const double value :
       {law.decode_base_ms, law.decode_per_seq_ms, law.decode_per_ktoken_ms, law.prefill_base_ms, law.admit_ms, law.prefill_attention_ms}) {
    if (!(value >= 0 && value <= 1e6)) return wrong("a time is missing, negative or above 1e6 ms");
  }
  if (!(law.decode_exponent > 0 && law.decode_exponent <= 3)) return wrong("decode_exponent must be above 0 and at most 3");
  if (!(law.prefill_tok_per_ms > 0)) return wrong("prefill_tok_per_ms must be above 0");
  if (!(law.jitter >= 0 && law.jitter < 1)) return wrong("jitter must be 0 to below 1");
  if (!(law.reserve_share >= 0 && law.reserve_share <= 1)) return wrong("reserve_share must be 0 to 1");
  if (law.chunk_tokens < 1 || law.kv_tokens < 1) return wrong("chunk_tokens and kv_tokens must be at least 1");
  if (law.block_tokens.value_or(0) < 0 || law.block_tokens.value_or(0) > law.kv_tokens) return wrong("block_tokens must be 0 to kv_tokens");
  if (law.poll_steps.value_or(1) < 1) return wrong("poll_steps must be at least 1");
  if (law.speculation) {
    Speculation& s = *law.speculation;
    if (std::isnan(s.draft_ms)) s.draft_ms = 0;
    if (std::isnan(s.verify_share)) s.verify_share = 0.125;
    if (s.draft_tokens < 0 || s.draft_tokens > 64) return wrong("speculation.draft_tokens must be 0 to 64");
    if (!(s.acceptance >= 0 && s.acceptance < 1)) return wrong("speculation.acceptance must be 0 to below 1");
    if (!(s.draft_ms >= 0 && s.verify_share >= 0)) return wrong("speculation: draft_ms and verify_share must not be negative");
  }
  return {};
}

Law scaled(const Law& law, const Scaling& scaling, std::int64_t from, std::int64_t to, std::int64_t ep_from, std::int64_t ep_to) {
  Law out = law;
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double time = (1 - scaling.serial_share) * ratio + scaling.serial_share;
  const double imbalance = std::pow(1 + scaling.ep_imbalance, std::log2(static_cast<double>(ep_to)) - std::log2(static_cast<double>(ep_from)));
  out.decode_base_ms *= time;
  out.decode_per_seq_ms *= time * imbalance;
  out.decode_per_ktoken_ms *= time;
  out.prefill_base_ms *= time;
  out.prefill_attention_ms *= time;
  out.prefill_tok_per_ms /= time * imbalance;
  if (from != to) {
    const double room_from = static_cast<double>(from) - scaling.weights_gpus, room_to = static_cast<double>(to) - scaling.weights_gpus;
    out.kv_tokens = room_from <= 0 || room_to <= 0 ? 0 : std::llround(static_cast<double>(law.kv_tokens) * room_to / room_from);
  }
  return out;
}

}  // namespace pawl::engine_law
