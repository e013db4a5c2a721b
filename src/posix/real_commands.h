#pragma once

#include "io/commands.h"

namespace pawl::posix {

/// Commands of this machine, through posix_spawn and two pipes. Standard input is empty.
class RealCommands final : public io::Commands {
 public:
  Result<io::CommandOutput> run(const io::CommandSpec& spec, Nanos limit, std::stop_token stop) override;
};

}  // namespace pawl::posix
