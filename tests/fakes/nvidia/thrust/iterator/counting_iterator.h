#pragma once

// Stands in for Thrust's: as much as delta/cuda/scan.cu asks of it.
namespace thrust {

template <class Integer>
class counting_iterator {
 public:
  explicit counting_iterator(Integer first) : first_(first) {}

  template <class Distance>
  Integer operator[](Distance i) const {
    return static_cast<Integer>(first_ + static_cast<Integer>(i));
  }

 private:
  Integer first_;
};

}  // namespace thrust
