#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "model/job.h"

namespace pawl::evals {

/// What an engine says of itself, under the names of a row: tp, ep, dp_attention, spec_decoding, model, max_model_len. What it does not say is absent.
using Claims = std::map<std::string, codec::Json>;

/// Asks the engine: /server_info or /get_server_info (SGLang), /v1/models (all). Never an error: an engine that says nothing contradicts nothing.
[[nodiscard]] Claims ask_claims(const std::string& url, std::stop_token stop);

/// Claims out of the two answers; a null for one that there is not. Pure.
[[nodiscard]] Claims read_claims(const codec::Json& server_info, const codec::Json& models);

/// Where an engine says otherwise than the row of its job does (failure-playbook 7.13): such a row is of another deployment than it says, and does not count.
/// Only what both say is compared. `row`: a matrix row of one node; `served`: the name that requests carried. Pure.
[[nodiscard]] std::vector<std::string> contradictions(const codec::Json& row, const std::string& served, const Claims& claims);

/// Notes contradictions in a result: with one it has not passed.
void invalidate(model::EvalResult& result, const std::vector<std::string>& contradictions);

}  // namespace pawl::evals
