// File: server.h
// A server for one person on this machine: it gives the web viewer's page and a fixed list of files
// to a browser, and nothing to anybody else. It reads files as bytes and never parses them.
//
//   Server server({.files = {"run.h5"}});
//   std::cout << server.address() << "\n";   // http://127.0.0.1:8765/?token=…
//   server.run();                            // until SIGINT or SIGTERM
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::serve {

enum class Loopback { ipv4, ipv6 };

// "127.0.0.1", "localhost" or "::1"; nothing for every other name, which other machines may reach.
std::optional<Loopback> parse_loopback(std::string_view host);

inline constexpr int kDefaultPort = 8765;
inline constexpr int kPortsToTry = 20;  // after the default one

struct ServerOptions {
  Loopback loopback = Loopback::ipv4;
  // 0: one that the system chooses. Nothing: the default one, or the next that is free.
  std::optional<int> port;
  std::vector<std::string> files;
};

class Server {
 public:
  // Listens, but answers nobody yet. Throws HT02 (exit 3) if the address is taken.
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // With the token that lets in.
  std::string address() const;
  // For the arguments of a program: with a token that lets in once, within the next minute.
  std::string launch_address();
  // Answers until SIGINT or SIGTERM, then drops what is open and returns.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attnscope::serve
