#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace refit {

// When each of many numbered things ends, the earliest first, of equals the smallest number. A
// thing's time can be changed, so there is one entry per thing, however often that happens.
class EventHeap {
 public:
  struct Event {
    double time_s = 0;
    std::uint32_t id = 0;
  };

  bool empty() const { return heap_.empty(); }
  const Event& first() const { return heap_.front(); }

  void set(std::uint32_t id, double time_s) {
    if (id >= place_.size()) place_.resize(id + 1, kNowhere);
    const Event event{time_s, id};
    std::uint32_t place = place_[id];
    if (place == kNowhere) {
      place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(event);
    }
    move(event, place);
  }

  void erase(std::uint32_t id) {
    if (id >= place_.size() || place_[id] == kNowhere) return;
    const std::uint32_t place = place_[id];
    place_[id] = kNowhere;
    const Event last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) move(last, place);
  }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kChildren = 4;  // of one cache line

  static bool before(const Event& a, const Event& b) {
    return a.time_s < b.time_s || (a.time_s == b.time_s && a.id < b.id);
  }

  // Puts the event where it belongs; what stood at `place` is overwritten.
  void move(const Event& event, std::size_t place) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / kChildren;
      if (!before(event, heap_[parent])) break;
      put(heap_[parent], place);
      place = parent;
    }
    for (std::size_t child; (child = first_child(place)) < heap_.size();) {
      if (!before(heap_[child], event)) break;
      put(heap_[child], place);
      place = child;
    }
    put(event, place);
  }

  std::size_t first_child(std::size_t place) const {
    const std::size_t begin = place * kChildren + 1;
    std::size_t best = begin;
    for (std::size_t i = begin + 1; i < begin + kChildren && i < heap_.size(); ++i) {
      if (before(heap_[i], heap_[best])) best = i;
    }
    return best;
  }

  void put(const Event& event, std::size_t place) {
    heap_[place] = event;
    place_[event.id] = static_cast<std::uint32_t>(place);
  }

  std::vector<Event> heap_;
  std::vector<std::uint32_t> place_;  // by id
};

}  // namespace refit
