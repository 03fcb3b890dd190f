#pragma once

namespace refit::detail {

// How late those who ask to be woken regularly get their turn: the worst of the last moments,
// fading. On a busy machine everybody's sign of life is late in this way, and a silence of a few
// such delays proves nothing.
class Lateness {
 public:
  // A delay fades to 1/e of it within `memory_s`.
  explicit Lateness(double memory_s) : memory_s_(memory_s) {}

  // At `now_s` somebody had a turn that was due `late_s` before.
  void add(double now_s, double late_s);
  double worst_s(double now_s) const;

 private:
  double memory_s_;
  double worst_s_ = 0, since_s_ = 0;
};

}  // namespace refit::detail
