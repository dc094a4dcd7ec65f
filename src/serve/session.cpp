#include "session.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <utility>

namespace attnscope::serve {
namespace {

using boost::system::error_code;

// What the kernel holds for a client that reads slowly.
constexpr int kSendBuffer = 256 << 10;

// A body is not read, and what follows it cannot be found.
After after(const Request& request) {
  return request.ends_connection() || request.has_body() ? After::close : After::keep;
}

}  // namespace

Session::Session(boost::asio::ip::tcp::socket socket, Responder& responder, OnEnd on_end)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      responder_(responder),
      on_end_(std::move(on_end)) {}

void Session::start() {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(boost::asio::socket_base::send_buffer_size(kSendBuffer), ignored);
  await_request();
}

void Session::abort() {
  if (!socket_.is_open()) return;
  error_code ignored;
  timer_.cancel();
  // Closes with a reset: the kernel then forgets what a client that reads nothing has not taken.
  socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  on_end_(*this);
}

void Session::enter(Phase phase, std::chrono::seconds limit) {
  phase_ = phase;
  arm(limit);
}

void Session::arm(std::chrono::seconds limit) {
  since_ = Clock::now();
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    // A wait that ended just before it was set anew.
    if (error || self->timer_.expiry() > Clock::now()) return;
    self->on_time_out();
  });
}

void Session::on_time_out() {
  if (phase_ != Phase::receiving) return abort();
  error_code ignored;
  socket_.cancel(ignored);
  send(plain_page(Status::request_timeout), After::close, false);
}

void Session::await_request() {
  if (received_.empty()) {
    enter(Phase::idle, kIdleTime);
    return receive();
  }
  // The next request came along with the one before.
  enter(Phase::receiving, kRequestTime);
  take_request();
}

void Session::receive() {
  socket_.async_read_some(boost::asio::buffer(incoming_),
                          [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                            if (self->phase_ != Phase::idle && self->phase_ != Phase::receiving)
                              return;
                            if (error) return self->abort();
                            self->on_received(bytes);
                          });
}

void Session::on_received(std::size_t bytes) {
  received_.append(incoming_.data(), bytes);
  if (phase_ == Phase::idle) enter(Phase::receiving, kRequestTime);
  take_request();
}

void Session::take_request() {
  const HeadEnd end = find_head_end(received_);
  if (end.state == HeadEnd::State::incomplete) return receive();
  if (end.state == HeadEnd::State::refused) {
    return send(plain_page(end.status), After::close, false);
  }
  const auto request = parse_head(std::string_view(received_).substr(0, end.bytes));
  received_.erase(0, end.bytes);
  if (!request) return send(plain_page(Status::bad_request), After::close, false);
  send(responder_.answer(*request, Clock::now()), after(*request), request->method == "HEAD");
}

void Session::send(const Answer& answer, After after, bool head_only) {
  after_ = after;
  head_ = head_of(answer, after);
  asset_ = {};
  file_ = {};
  if (!head_only && answer.status != Status::not_modified) {
    if (const auto* text = std::get_if<std::string>(&answer.body)) head_ += *text;
    if (const auto* bytes = std::get_if<std::string_view>(&answer.body)) asset_ = *bytes;
    if (const auto* part = std::get_if<FilePart>(&answer.body)) file_ = *part;
  }
  pending_ = head_;
  enter(Phase::sending, kStallTime);
  send_more();
}

void Session::send_more() {
  if (pending_.empty()) pending_ = std::exchange(asset_, {});
  if (pending_.empty() && file_.bytes > 0 && !read_next_piece()) return abort();
  if (pending_.empty()) return on_sent();
  socket_.async_write_some(boost::asio::buffer(pending_.data(), pending_.size()),
                           [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                             if (error || !self->socket_.is_open()) return self->abort();
                             self->pending_.remove_prefix(bytes);
                             self->arm(kStallTime);
                             self->send_more();
                           });
}

// False if the file was cut since its length was sent: only a broken connection tells the client.
bool Session::read_next_piece() {
  piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, file_.bytes)));
  if (file_.file->read(file_.offset, piece_.data(), piece_.size()) < piece_.size()) return false;
  file_.offset += piece_.size();
  file_.bytes -= piece_.size();
  pending_ = {piece_.data(), piece_.size()};
  return true;
}

void Session::on_sent() {
  piece_ = {};
  file_ = {};
  if (after_ == After::keep) return await_request();
  say_farewell();
}

// Closing while the client still sends would reset the connection, and the answer could be lost.
void Session::say_farewell() {
  error_code ignored;
  socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
  enter(Phase::farewell, kFarewellTime);
  discard();
}

void Session::discard() {
  socket_.async_read_some(boost::asio::buffer(incoming_),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (error) return self->abort();
                            self->discard();
                          });
}

}  // namespace attnscope::serve
