// File: session.h
// One connection: reads requests, sends their answers, and ends when either takes too long.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "answer.h"
#include "responder.h"

namespace attnscope::serve {

inline constexpr std::chrono::seconds kRequestTime{5};   // from its first byte to its last
inline constexpr std::chrono::seconds kStallTime{10};    // of an answer that nobody takes
inline constexpr std::chrono::seconds kIdleTime{60};     // between requests
inline constexpr std::chrono::seconds kFarewellTime{2};  // for the client to close, after the end
inline constexpr std::size_t kPieceBytes = 128U << 10U;  // of a file, in memory

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Which connection is given up first when there are too many: the first of these.
  enum class Phase { idle, receiving, farewell, sending };
  using OnEnd = std::function<void(const Session& session)>;

  Session(boost::asio::ip::tcp::socket socket, Responder& responder, OnEnd on_end);
  void start();
  // Drops the connection and what was not sent.
  void abort();

  Phase phase() const { return phase_; }
  // Since when it is in this phase; while sending, since when nothing was taken.
  Clock::time_point since() const { return since_; }

 private:
  void enter(Phase phase, std::chrono::seconds limit);
  void arm(std::chrono::seconds limit);
  void on_time_out();

  void await_request();
  void receive();
  void on_received(std::size_t bytes);
  void take_request();
  void send(const Answer& answer, After after, bool head_only);
  void send_more();
  bool read_next_piece();
  void on_sent();
  void say_farewell();
  void discard();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  Responder& responder_;
  OnEnd on_end_;
  Phase phase_ = Phase::idle;
  Clock::time_point since_;
  std::string received_;
  std::array<char, 4096> incoming_{};

  // What is being sent: what of it is in memory, and the rest.
  std::string head_;
  std::vector<char> piece_;
  std::string_view pending_;
  std::string_view asset_;
  FilePart file_;
  After after_ = After::keep;
};

}  // namespace attnscope::serve
