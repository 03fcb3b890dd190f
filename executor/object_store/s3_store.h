#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "executor/object_store/object_store.h"

namespace refit {

struct S3Options {
  std::string region = "us-east-1";
  std::string access_key, secret_key;  // empty: requests are not signed
  std::uint64_t part_bytes = 8 << 20;  // larger objects go up in parts; S3 wants at least 5 MiB
  int attempts = 5;                    // of a request, until an error is one
  double first_pause_s = 0.05;         // before the second attempt; doubled each time
  double timeout_s = 60;               // of one request without progress
};

struct S3Counts {
  std::uint64_t requests = 0, retries = 0, parts = 0;
};

// A bucket of an object store that speaks S3, or a folder in it:
// http://HOST[:PORT]/BUCKET[/PREFIX].
class S3Store : public ObjectStore {
 public:
  // Error(bad_input) if the URL is none of these. Nothing is asked of the server yet.
  S3Store(const std::string& url, S3Options options);
  ~S3Store() override;

  void create_bucket();  // fine if it exists

  void put(const std::string& key, std::string_view bytes) override;
  std::string get(const std::string& key, std::uint64_t first, std::uint64_t bytes) override;
  std::string get_all(const std::string& key, std::uint64_t most_bytes) override;

  const S3Counts& counts() const { return counts_; }

 private:
  struct Reply;
  struct Request;
  Reply ask(const Request& request);
  Reply attempt(const Request& request);
  void put_in_parts(const std::string& key, std::string_view bytes);
  std::string url_of(const std::string& key) const;

  std::string bucket_url_, prefix_;
  S3Options options_;
  S3Counts counts_;
  std::unique_ptr<void, void (*)(void*)> curl_;
};

}  // namespace refit
