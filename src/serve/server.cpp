#include "attnscope/serve/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <list>

#include "attnscope/serve/page.h"
#include "attnscope/support/error.h"
#include "responder.h"
#include "session.h"

namespace attnscope::serve {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxConnections = 256;
// Of this process, for all that is no connection.
constexpr std::size_t kOtherDescriptors = 32;
// After a connection could not be taken.
constexpr std::chrono::milliseconds kPause{50};

// A connection has two descriptors while it is sent a file.
std::size_t connection_limit() {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kMaxConnections;
  const auto allowed = static_cast<std::size_t>(descriptors.rlim_cur);
  const std::size_t free = allowed > kOtherDescriptors ? allowed - kOtherDescriptors : 0;
  return std::clamp<std::size_t>(free / 2, 1, kMaxConnections);
}

boost::asio::ip::address bytes_of(Loopback loopback) {
  if (loopback == Loopback::ipv6) return boost::asio::ip::address_v6::loopback();
  return boost::asio::ip::address_v4::loopback();
}

std::string text_of(Loopback loopback, int port) {
  return (loopback == Loopback::ipv6 ? "[::1]:" : "127.0.0.1:") + std::to_string(port);
}

[[noreturn]] void fail_to_listen(const ServerOptions& options, int port, const error_code& error) {
  const bool taken = error == boost::asio::error::address_in_use;
  throw Error(
      ErrorKind::output, "HT02",
      {.where = text_of(options.loopback, port),
       .what = taken ? "another program listens there" : "cannot listen there: " + error.message(),
       .next = options.port ? "choose another --port, or leave it out"
                            : "name a free one with --port"});
}

// What went wrong, if anything.
error_code listen(tcp::acceptor& acceptor, Loopback loopback, int port) {
  const tcp::endpoint endpoint(bytes_of(loopback), static_cast<std::uint16_t>(port));
  error_code error;
  error_code ignored;
  acceptor.close(ignored);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  return error;
}

tcp::acceptor listen(boost::asio::io_context& context, const ServerOptions& options) {
  tcp::acceptor acceptor(context);
  const int first = options.port.value_or(kDefaultPort);
  const int last = options.port ? first : kDefaultPort + kPortsToTry;
  for (int port = first;; ++port) {
    const error_code error = listen(acceptor, options.loopback, port);
    if (!error) return acceptor;
    if (error != boost::asio::error::address_in_use || port == last) {
      fail_to_listen(options, port, error);
    }
  }
}

}  // namespace

std::optional<Loopback> parse_loopback(std::string_view host) {
  if (host == "127.0.0.1" || host == "localhost") return Loopback::ipv4;
  if (host == "::1" || host == "[::1]") return Loopback::ipv6;
  return std::nullopt;
}

struct Server::State {
  boost::asio::io_context context{1};  // one thread
  Loopback loopback;
  tcp::acceptor acceptor;
  boost::asio::signal_set signals;
  boost::asio::steady_timer pause;
  Responder responder;
  std::list<std::shared_ptr<Session>> sessions;
  std::size_t max_connections = connection_limit();

  explicit State(const ServerOptions& options)
      : loopback(options.loopback),
        acceptor(listen(context, options)),
        signals(context, SIGINT, SIGTERM),
        pause(context),
        responder(port(), page_assets(), options.files) {}

  std::uint16_t port() const { return acceptor.local_endpoint().port(); }
  std::string address(const std::string& token) const {
    return "http://" + text_of(loopback, port()) + "/?token=" + token;
  }
  void accept();
  void on_accepted(const error_code& error, tcp::socket socket);
  void make_room();
  void remove(const Session& session);
};

void Server::State::accept() {
  acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    on_accepted(error, std::move(socket));
  });
}

void Server::State::on_accepted(const error_code& error, tcp::socket socket) {
  if (error) {
    pause.expires_after(kPause);
    pause.async_wait([this](const error_code& stopped) {
      if (!stopped) accept();
    });
    return;
  }
  if (sessions.size() >= max_connections) make_room();
  const auto on_end = [this](const Session& session) { remove(session); };
  sessions.push_back(std::make_shared<Session>(std::move(socket), responder, on_end));
  sessions.back()->start();
  accept();
}

// Gives up the connection that is least likely to be missed, so that somebody who opens many and
// uses none does not keep the page from answering.
void Server::State::make_room() {
  const auto least =
      std::min_element(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) {
        return std::pair(a->phase(), a->since()) < std::pair(b->phase(), b->since());
      });
  if (least == sessions.end()) return;
  const std::shared_ptr<Session> session = *least;
  session->abort();
}

void Server::State::remove(const Session& session) {
  sessions.remove_if([&](const auto& one) { return one.get() == &session; });
}

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}

Server::~Server() = default;

std::string Server::address() const {
  return state_->address(state_->responder.access().token());
}

std::string Server::launch_address() {
  return state_->address(state_->responder.access().issue_launch_token(Clock::now()));
}

void Server::run() {
  state_->signals.async_wait([this](const error_code&, int) { state_->context.stop(); });
  state_->accept();
  state_->context.run();
  while (!state_->sessions.empty()) {
    const std::shared_ptr<Session> session = state_->sessions.front();
    session->abort();
  }
}

}  // namespace attnscope::serve
