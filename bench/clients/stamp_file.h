#pragma once

#include "twin/stamp_file.h"  // the twin writes the same records
