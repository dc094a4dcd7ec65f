// The parts of Asio that are not templates, compiled once.
#include <boost/asio/impl/src.hpp>
