#include "executor/cuda/local_wire.h"

#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {

class LocalWire : public Wire {
 public:
  LocalWire(LocalHub& hub, Rank rank) : hub_(hub), rank_(rank) {}

  void exchange(int lane, std::span<const WirePart> sends, std::span<const WirePart> receives,
                cudaStream_t stream) override {
    const auto mine = post(lane, sends, stream);
    take(lane, receives, stream);
    for (const auto& sent : mine) {
      std::unique_lock lock(hub_.mutex_);
      wait(lock, [&] { return sent->taken != nullptr; });
      sent->taken->hold(stream);
    }
  }

  bool is_whole() noexcept override {
    const std::lock_guard lock(hub_.mutex_);
    return hub_.aborted_.empty();
  }

  void check() override {
    const std::lock_guard lock(hub_.mutex_);
    check_locked();
  }

  void abort(const std::string& reason) noexcept override { hub_.abort(reason); }

 private:
  using Posts = std::vector<std::shared_ptr<LocalHub::Post>>;

  Posts post(int lane, std::span<const WirePart> sends, cudaStream_t stream) {
    Posts mine;
    if (sends.empty()) return mine;
    const auto packed = std::make_shared<Event>();
    packed->record(stream);
    {
      const std::lock_guard lock(hub_.mutex_);
      for (const WirePart& part : sends) {
        mine.push_back(
            std::make_shared<LocalHub::Post>(LocalHub::Post{part.at, part.bytes, packed, nullptr}));
        hub_.posts_[{lane, rank_, part.peer}].push_back(mine.back());
      }
    }
    hub_.changed_.notify_all();
    return mine;
  }

  void take(int lane, std::span<const WirePart> receives, cudaStream_t stream) {
    if (receives.empty()) return;
    Posts theirs;
    for (const WirePart& part : receives) {
      theirs.push_back(next(lane, part));
      const LocalHub::Post& post = *theirs.back();
      if (post.bytes != part.bytes) {
        throw Error(ErrorCode::check_failed,
                    fmt::format("rank {} sends {} bytes on lane {} where rank {} expects {}",
                                part.peer.value, post.bytes, lane, rank_.value, part.bytes));
      }
      post.packed->hold(stream);
      cuda_check(cudaMemcpyAsync(part.at, post.at, static_cast<std::size_t>(part.bytes),
                                 cudaMemcpyDeviceToDevice, stream),
                 "cudaMemcpyAsync between virtual ranks");
    }
    const auto taken = std::make_shared<Event>();
    taken->record(stream);
    {
      const std::lock_guard lock(hub_.mutex_);
      for (const auto& post : theirs) post->taken = taken;
    }
    hub_.changed_.notify_all();
  }

  std::shared_ptr<LocalHub::Post> next(int lane, const WirePart& part) {
    std::unique_lock lock(hub_.mutex_);
    auto& queue = hub_.posts_[{lane, part.peer, rank_}];
    wait(lock, [&] { return !queue.empty(); });
    const auto post = queue.front();
    queue.pop_front();
    return post;
  }

  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    hub_.changed_.wait(lock, [&] { return condition() || !hub_.aborted_.empty(); });
    check_locked();
  }

  void check_locked() const {
    if (!hub_.aborted_.empty()) throw Error(ErrorCode::environment, hub_.aborted_);
  }

  LocalHub& hub_;
  Rank rank_;
};

std::unique_ptr<Wire> LocalHub::wire(Rank rank) { return std::make_unique<LocalWire>(*this, rank); }

void LocalHub::abort(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_.empty()) aborted_ = reason;
  }
  changed_.notify_all();
}

}  // namespace refit
