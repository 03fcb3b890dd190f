#include "executor/object_store/s3_store.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

// What the server may say beside the bytes that were asked for.
constexpr std::uint64_t kMostWords = 1 << 20;
constexpr std::uint64_t kMostParts = 10000;  // S3's own limit

// The text of the first such element; objects' names have nothing in them that XML would escape.
std::string element(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name), close = fmt::format("</{}>", name);
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return {};
  return std::string(xml.substr(begin + open.size(), end - begin - open.size()));
}

bool worth_another_try(long status) { return status == 0 || status == 429 || status >= 500; }

}  // namespace

struct S3Store::Request {
  const char* verb;
  std::string url;
  std::string_view body = {};
  std::string range = {};                 // "0-99"
  std::uint64_t most_bytes = kMostWords;  // of the answer
};

struct S3Store::Reply {
  long status = 0;
  std::string body, etag;
  std::string problem;  // of the connection
  std::uint64_t most_bytes = 0;

  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* reply) {
    auto& self = *static_cast<Reply*>(reply);
    // More than was asked for is no answer; 0 ends the transfer.
    if (self.body.size() + size * count > self.most_bytes) return 0;
    self.body.append(data, size * count);
    return size * count;
  }
  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* reply) {
    std::string line(data, size * count);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) {
      std::string name = line.substr(0, colon);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      if (name == "etag") {
        std::string value = line.substr(colon + 1);
        std::erase_if(value, [](char c) { return c == ' ' || c == '\r' || c == '\n'; });
        static_cast<Reply*>(reply)->etag = value;
      }
    }
    return size * count;
  }
};

S3Store::S3Store(const std::string& url, S3Options options)
    : options_(std::move(options)), curl_(nullptr, [](void* curl) { curl_easy_cleanup(curl); }) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw Error(ErrorCode::environment, "libcurl can't be initialised");
  curl_.reset(curl_easy_init());
  if (!curl_) throw Error(ErrorCode::environment, "libcurl can't be initialised");
  const std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  const std::size_t bucket = scheme == 0 ? std::string::npos : url.find('/', scheme);
  if (bucket == std::string::npos || bucket == scheme || bucket + 1 >= url.size() ||
      url.find_first_of("?#") != std::string::npos) {
    throw Error(ErrorCode::bad_input,
                fmt::format("store '{}': expected http://HOST[:PORT]/BUCKET[/PREFIX]", url));
  }
  const std::size_t prefix = std::min(url.find('/', bucket + 1), url.size());
  bucket_url_ = url.substr(0, prefix);
  prefix_ = url.substr(prefix);
  while (prefix_.ends_with('/')) prefix_.pop_back();
}

S3Store::~S3Store() = default;

std::string S3Store::url_of(const std::string& key) const {
  return bucket_url_ + prefix_ + "/" + key;
}

S3Store::Reply S3Store::attempt(const Request& request) {
  CURL* curl = curl_.get();
  curl_easy_reset(curl);  // keeps the connection
  Reply reply;
  reply.most_bytes = request.most_bytes;
  char problem[CURL_ERROR_SIZE] = "";
  const std::string signing = fmt::format("aws:amz:{}:s3", options_.region);
  const std::string keys = options_.access_key + ":" + options_.secret_key;
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.timeout_s));
  if (!options_.access_key.empty()) {
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signing.c_str());
    curl_easy_setopt(curl, CURLOPT_USERPWD, keys.c_str());
  }
  // As the body of a POST whose verb is another: its hash is in the signature.
  if (std::string_view(request.verb) != "GET") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.verb);
  if (!request.range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, request.range.c_str());
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/octet-stream");
  headers = curl_slist_append(headers, "Expect:");  // no round trip before a body
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Reply::take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Reply::take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &reply);
  const CURLcode result = curl_easy_perform(curl);
  curl_slist_free_all(headers);
  ++counts_.requests;
  if (result != CURLE_OK) {
    reply.problem = *problem != '\0' ? problem : curl_easy_strerror(result);
    return reply;  // status 0: half an answer is none
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

S3Store::Reply S3Store::ask(const Request& request) {
  double pause_s = options_.first_pause_s;
  for (int n = 1;; ++n) {
    Reply reply = attempt(request);
    // A completed upload can be an error that is said late, under status 200.
    const bool late_error = reply.status == 200 && reply.body.find("<Error>") < 200 &&
                            std::string_view(request.verb) == "POST";
    if (reply.status >= 200 && reply.status < 300 && !late_error) return reply;
    const bool again = late_error || worth_another_try(reply.status);
    if (!again || n == options_.attempts) {
      const std::string code = element(reply.body, "Code");
      constexpr long kRangeBeyondTheEnd = 416;
      throw Error(
          reply.status == kRangeBeyondTheEnd ? ErrorCode::check_failed : ErrorCode::environment,
          fmt::format("{} {}: {}{}", request.verb, request.url,
                      reply.status == 0 ? reply.problem
                                        : fmt::format("status {}{}{}", reply.status,
                                                      code.empty() ? "" : ", ", code),
                      again ? fmt::format(", {} times", n) : ""));
    }
    ++counts_.retries;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
    pause_s *= 2;
  }
}

void S3Store::create_bucket() {
  try {
    ask({"PUT", bucket_url_});
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("BucketAlready") == std::string_view::npos) throw;
  }
}

void S3Store::put(const std::string& key, std::string_view bytes) {
  if (bytes.size() > options_.part_bytes) return put_in_parts(key, bytes);
  ask({"PUT", url_of(key), bytes});
}

void S3Store::put_in_parts(const std::string& key, std::string_view bytes) {
  const std::uint64_t part_bytes =
      std::max(options_.part_bytes, (bytes.size() + kMostParts - 1) / kMostParts);
  const std::string upload = element(ask({"POST", url_of(key) + "?uploads="}).body, "UploadId");
  if (upload.empty() || upload.find_first_of("&?#% ") != std::string::npos)
    throw Error(ErrorCode::environment,
                fmt::format("{}: the store begins no upload in parts", url_of(key)));
  std::string list = "<CompleteMultipartUpload>";
  try {
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < bytes.size(); at += part_bytes) {
      ++number;
      const Reply part =
          ask({"PUT", fmt::format("{}?partNumber={}&uploadId={}", url_of(key), number, upload),
               bytes.substr(at, part_bytes)});
      ++counts_.parts;
      list +=
          fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number, part.etag);
    }
    list += "</CompleteMultipartUpload>";
    ask({"POST", fmt::format("{}?uploadId={}", url_of(key), upload), list});
  } catch (const Error&) {
    // Parts that belong to nothing are paid for until somebody ends the upload.
    attempt({"DELETE", fmt::format("{}?uploadId={}", url_of(key), upload)});
    throw;
  }
}

std::string S3Store::get(const std::string& key, std::uint64_t first, std::uint64_t bytes) {
  Reply reply = ask({"GET",
                     url_of(key),
                     {},
                     fmt::format("{}-{}", first, first + bytes - 1),
                     std::max(bytes, kMostWords)});
  if (reply.body.size() != bytes)
    throw Error(ErrorCode::check_failed,
                fmt::format("{}: bytes {} to {} were asked for, {} came; the object is shorter",
                            url_of(key), first, first + bytes - 1, reply.body.size()));
  return std::move(reply.body);
}

std::string S3Store::get_all(const std::string& key, std::uint64_t most_bytes) {
  Reply reply = ask({"GET", url_of(key), {}, {}, std::max(most_bytes, kMostWords)});
  if (reply.body.size() > most_bytes)
    throw Error(ErrorCode::environment,
                fmt::format("{}: has {} bytes, more than the {} it may have", url_of(key),
                            reply.body.size(), most_bytes));
  return std::move(reply.body);
}

}  // namespace refit
