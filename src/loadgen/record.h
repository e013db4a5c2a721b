#pragma once

#include "measure/record.h"

/// The load generator fills the records of `measure`; their names stand here without the prefix.
namespace pawl::loadgen {

using measure::Outcome;
using measure::Phase;
using measure::RequestRecord;
using measure::StreamEvent;

}  // namespace pawl::loadgen
