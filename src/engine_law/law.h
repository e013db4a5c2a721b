#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace pawl::engine_law {

/// Speculative decoding: a draft of `draft_tokens` is verified in each step; each of its tokens is accepted with
/// probability `acceptance` as long as all before it were (Leviathan et al. 2023, arXiv:2211.17192, section 3.1).
struct Speculation {
  std::int64_t draft_tokens = 0;
  double acceptance = 0;        ///< 0 to below 1
  double draft_ms = 0;          ///< a drafted token costs, before the step
  double verify_share = 0.125;  ///< of a sequence, that one drafted token adds to the batch of the verifying step

  /// Mean tokens a step: (1 − a^(k+1)) / (1 − a).
  [[nodiscard]] double expected_tokens() const;
};
BOOST_DESCRIBE_STRUCT(Speculation, (), (draft_tokens, acceptance, draft_ms, verify_share))

/// The performance law of one engine on one number of GPUs: what an iteration costs, and what fits. docs/twin.md has the
/// formulae with their sources. In files the keys behind `kv_tokens` may be missing; `complete` gives them their values.
struct Law {
  double decode_base_ms = 0;     ///< one decode iteration with an empty batch: weights read once, kernels launched
  double decode_per_seq_ms = 0;  ///< times batch^decode_exponent
  double decode_exponent = 1;
  double decode_per_ktoken_ms = 0;  ///< times the thousands of tokens that the running sequences hold in the KV cache
  double prefill_base_ms = 0;       ///< of every iteration that prefills
  double prefill_tok_per_ms = 1;
  double admit_ms = 0;                       ///< from arrival to the waiting queue: HTTP, tokenizer; blocks nobody else
  double jitter = 0;                         ///< share: each iteration is longer or shorter by up to this
  std::int64_t chunk_tokens = 8192;          ///< most prompt tokens in one iteration
  std::int64_t kv_tokens = 100000;           ///< KV cache
  double prefill_attention_ms = 0;           ///< times (thousands of tokens prefilled) × (thousands of tokens before them)
  double reserve_share = 1;                  ///< of the output still to come, that is reserved at admission; below 1 preemption can happen
  std::optional<bool> mixed;                 ///< one iteration decodes and prefills (absent: true); false: prefill goes first, alone
  std::optional<std::int64_t> poll_steps;    ///< new requests are looked for after so many decode-only iterations, and after every prefill (absent: 1)
  std::optional<std::int64_t> block_tokens;  ///< of the prefix cache; absent or 0: there is none
  std::optional<Speculation> speculation;

  [[nodiscard]] bool is_mixed() const { return mixed.value_or(true); }
  /// ms of a decode iteration over `batch` sequences that hold `resident` tokens; 0 for an empty batch.
  [[nodiscard]] double decode_ms(std::int64_t batch, std::int64_t resident) const;
  /// ms of prefilling `tokens` prompt tokens with `context` tokens (of the same sequences) before them; 0 for none.
  [[nodiscard]] double prefill_ms(std::int64_t tokens, double context) const;
};
BOOST_DESCRIBE_STRUCT(Law, (),
                      (decode_base_ms, decode_per_seq_ms, decode_exponent, decode_per_ktoken_ms, prefill_base_ms, prefill_tok_per_ms, admit_ms, jitter,
                       chunk_tokens, kv_tokens, prefill_attention_ms, reserve_share, mixed, poll_steps, block_tokens, speculation))

/// Gives keys that a file left out their values, then checks the ranges. `where` begins each message.
[[nodiscard]] Status complete(Law& law, const std::string& where);

/// How a law changes with the number of GPUs, for numbers that were not measured.
struct Scaling {
  double serial_share = 0.75;  ///< of every time, that more GPUs do not shorten (Amdahl 1967): launches, collectives
  double weights_gpus = 0.7;   ///< the weights, in units of one GPU's memory for weights and KV cache
  double ep_imbalance = 0.05;  ///< share by which the busiest expert rank is above the mean, a doubling of the expert parallelism
};
BOOST_DESCRIBE_STRUCT(Scaling, (), (serial_share, weights_gpus, ep_imbalance))

/// `law`, fitted on `from` GPUs, for `to` GPUs and `ep` expert ranks (1: none). The KV cache becomes smaller than one
/// token when the weights do not fit: `kv_tokens` is then 0.
[[nodiscard]] Law scaled(const Law& law, const Scaling& scaling, std::int64_t from, std::int64_t to, std::int64_t ep_from, std::int64_t ep_to);

/// A well-spread 64-bit value that depends on both inputs only (the finalizer of SplitMix64; Steele, Lea, Flood 2014).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + position + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// 0 to below 1.
[[nodiscard]] constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace pawl::engine_law
