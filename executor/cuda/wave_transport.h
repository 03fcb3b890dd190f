#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "executor/cuda/box_parts.h"
#include "executor/cuda/device_buffer.h"
#include "executor/cuda/part_table.h"
#include "executor/cuda/waves.h"
#include "executor/cuda/wire.h"
#include "executor/failure.h"
#include "executor/op_times.h"
#include "executor/transport.h"

namespace refit {

struct WaveOptions {
  // Longer messages travel in pieces of this many bytes, a multiple of 16: a message may be larger
  // than staging or than one NCCL call should be.
  std::int64_t piece_bytes = 64 << 20;
  double timeout_s = 60;  // without any message ending
};

// Device seconds by CUDA events, summed over the pieces of a run; work on different lanes overlaps.
struct WaveTimes {
  double pack_s = 0;
  double wire_s = 0;
  double unpack_s = 0;
  std::int64_t packed_bytes = 0;  // that did not lie in one piece and went through staging
  std::int64_t unpacked_bytes = 0;
};

// A rank's messages over a wire that only knows groups: collects what run_rank starts, and once all
// of the next wave is there, packs it, exchanges it as one group and unpacks it. Waves leave in the
// order of (level, lane), on every rank the same.
//
//   pack stream    pack 0   pack 1     pack 2          two slots of staging per lane: a piece is
//   wire stream        exchange 0  exchange 1   ...    packed while the one before travels and the
//   unpack stream               unpack 0  unpack 1     one before that is unpacked
class WaveTransport : public Transport {
 public:
  // `waves` are this rank's (waves_of); they may be run any number of times.
  WaveTransport(const Moves& moves, std::vector<Wave> waves, Rank self, Wire& wire,
                WaveOptions options);

  void send(Message message) override;
  void receive(Message message) override;
  void wait(std::vector<Ended>& ended) override;
  bool in_groups() const override { return true; }

  // Before an iteration: forgets what was received and takes the device's time.
  void begin();

  // After it, with nothing under way: since begin().
  WaveTimes take_times();
  // When the messages of each op were packed first and unpacked last here, by the device's events,
  // in seconds since `clock_zero_s` on the steady clock; {0, 0} for ops without messages here.
  OpTimes take_op_times(double clock_zero_s);

  // What has arrived since begin(), and what is open with whom; also after wait() has thrown.
  RankReport report();

  // After the wire has ended what was under way, before anything that it used is freed or used
  // anew: until all streams have run dry.
  void drain();

 private:
  // Staging, lists and marks of one piece of a wave.
  struct Slot {
    DeviceBuffer outgoing, incoming;
    PartTable table;
    Event pack_begin, packed, wire_begin, wired, unpack_begin, unpacked;
    bool used = false;  // its marks are not in the times yet
  };
  struct Lane {
    Stream pack, wire, unpack;
    std::array<Slot, 2> slots;
    std::size_t turn = 0;
  };
  struct Posted {
    Message message;
    bool sending = false;
  };
  struct UnderWay {
    const Wave* wave = nullptr;
    Event begun, sent, received;
    bool sends_ended = false;  // before the receives
    bool has_receives = false;
    bool sent_reached = false, received_reached = false;  // seen, and not yet believed
  };

  void post(Message message, bool sending);
  bool next_is_complete() const;
  [[noreturn]] void stand_still() const;
  void issue(const Wave& wave);
  void issue_piece(const Wave& wave, std::int64_t begin, Lane& lane);
  void collect(std::vector<Ended>& ended);
  void end(const UnderWay& group, bool sends, std::vector<Ended>& ended);
  Slot& free_slot(Lane& lane);
  void wait_for(const Event& event, const char* what);
  void add_times(Slot& slot);

  const Moves& moves_;
  std::vector<Wave> waves_;
  Rank self_;
  Wire& wire_;
  WaveOptions options_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // those that have waves
  std::unordered_map<std::uint32_t, Posted> posted_;
  std::size_t next_ = 0;  // of waves_, to be issued
  std::list<UnderWay> under_way_;
  DeviceBuffer token_;  // an empty message is a byte of it
  WaveTimes times_;
  Stream clock_stream_;
  Event clock_;  // of the device, reached at clock_s_ on the steady clock
  double clock_s_ = 0;
  OpTimes op_times_;                     // in seconds since clock_
  std::vector<std::uint64_t> received_;  // a bit per move
};

// A rank's times with the device's times in place of the host's, which sees an end only when it
// looks. A collective ends when its bucket is unpacked, for which the host waits.
void use_device_times(const Schedule& schedule, const OpTimes& of_device, OpTimes& times);

}  // namespace refit
