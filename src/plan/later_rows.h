#pragma once

#include "base/result.h"
#include "codec/json.h"
#include "plan/catalogue.h"

namespace pawl::plan {

// What generations from 2026-09a on put into rows beyond the August layouts (october-layout 4).

/// A search-space entry as the row builder reads it: `worker` becomes the pair prefill and decode, decode without workers
/// and settings, both with written sizes; `require-power` of the scenario item is carried along.
[[nodiscard]] codec::Json entry_as_pair(const codec::Json& item, const codec::Json& entry);

/// Adds node-count (rows on several nodes), srt-recipe, eval-srt-recipe, power and require-power to a row that was built
/// from `entry` (made by `entry_as_pair`): before exp-name on fixed rows, before kv-offloading on agentic ones.
/// Errors, with the entry's place: a label without gpus-per-node, require-power with other lengths than 8192/1024.
[[nodiscard]] Status add_later_fields(const Catalogue& catalogue, const Recipe& recipe, const codec::Json& entry, const codec::YamlNode& node,
                                      codec::Json& row);

/// What a row's fingerprint is taken over beyond the row (2026-10): its recipe composed with the shared block, with the
/// row's model, image, precision and lengths, without names, concurrencies and ports. Null for rows without a recipe.
[[nodiscard]] Result<codec::Json> bound_recipe(const Catalogue& catalogue, const codec::Json& row);

}  // namespace pawl::plan
