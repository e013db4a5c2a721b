#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <limits>

namespace pawl::model {

/// How well the client itself kept up: what its verdict is made of (BC-12.4), and how sure its times are.
struct ClientHealth {
  std::int64_t threads = 0;
  double cpu_s = 0;                                                    ///< of its sending and receiving threads, in the measured phase
  double cpu_share = std::numeric_limits<double>::quiet_NaN();         ///< of one core, of the busiest thread
  double iteration_p99_ms = std::numeric_limits<double>::quiet_NaN();  ///< from waking up to sleeping again
  double write_p99_ms = std::numeric_limits<double>::quiet_NaN();      ///< between the stamp of a send and the kernel having all of it: TTFT is off by less
  double gathered_share = 0;                                           ///< of the wake-ups, those that waited a millisecond for more
  double idle_slot_share = std::numeric_limits<double>::quiet_NaN();   ///< closed loop: how much of the wanted load was not offered, for want of this client
  double joined_first_share = 0;                                       ///< requests whose first two token events came out of one read
  bool stopped = false;                                                ///< by the user, before the end
};
BOOST_DESCRIBE_STRUCT(ClientHealth, (),
                      (threads, cpu_s, cpu_share, iteration_p99_ms, write_p99_ms, gathered_share, idle_slot_share, joined_first_share, stopped))

}  // namespace pawl::model
