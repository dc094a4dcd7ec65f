#include "attnscope/stats/distributions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace attnscope {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double polynomial(const std::array<double, 8>& c, double x) {
  double value = 0;
  for (int i = 7; i >= 0; --i) value = value * x + c[static_cast<std::size_t>(i)];
  return value;
}

// Regularised incomplete beta function by its continued fraction (modified Lentz; Press et al.
// 2007, section 6.4), which converges fast for x < (a+1)/(a+b+2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    value *= step;
    if (std::fabs(step - 1) < 1e-16) break;
  }
  return value;
}

// The logarithm of the Gamma function without std::lgamma's global `signgam`.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// `y` is 1 − x, given because it may be known to more digits.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front =
      std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

double student_t_density(double t, double df) {
  return std::exp(log_gamma((df + 1) / 2) - log_gamma(df / 2) -
                  (df + 1) / 2 * std::log1p(t * t / df)) /
         std::sqrt(df * std::numbers::pi);
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

// Wichura 1988, algorithm AS 241 (PPND16): relative accuracy about 1e-16.
double normal_quantile(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNaN;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    static constexpr std::array<double, 8> kA = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                                 1.9715909503065514427e3, 1.3731693765509461125e4,
                                                 4.5921953931549871457e4, 6.7265770927008700853e4,
                                                 3.3430575583588128105e4, 2.5090809287301226727e3};
    static constexpr std::array<double, 8> kB = {1.0,
                                                 4.2313330701600911252e1,
                                                 6.8718700749205790830e2,
                                                 5.3941960214247511077e3,
                                                 2.1213794301586595867e4,
                                                 3.9307895800092710610e4,
                                                 2.8729085735721942674e4,
                                                 5.2264952788528545610e3};
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  double value = 0;
  if (r <= 5) {
    static constexpr std::array<double, 8> kC = {
        1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
        3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static constexpr std::array<double, 8> kD = {1.0,
                                                 2.05319162663775882187e0,
                                                 1.67638483018380384940e0,
                                                 6.89767334985100004550e-1,
                                                 1.48103976427480074590e-1,
                                                 1.51986665636164571966e-2,
                                                 5.47593808499534494600e-4,
                                                 1.05075007164441684324e-9};
    r -= 1.6;
    value = polynomial(kC, r) / polynomial(kD, r);
  } else {
    static constexpr std::array<double, 8> kE = {
        6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static constexpr std::array<double, 8> kF = {1.0,
                                                 5.99832206555887937690e-1,
                                                 1.36929880922735805310e-1,
                                                 1.48753612908506148525e-2,
                                                 7.86869131145613259100e-4,
                                                 1.84631831751005468180e-5,
                                                 1.42151175831644588870e-7,
                                                 2.04426310338993978564e-15};
    r -= 5;
    value = polynomial(kE, r) / polynomial(kF, r);
  }
  return q < 0 ? -value : value;
}

double student_t_cdf(double t, double df) {
  if (std::isnan(t) || std::isnan(df) || df <= 0) return kNaN;
  if (std::isinf(df)) return normal_cdf(t);
  if (std::isinf(t)) return t > 0 ? 1 : 0;
  const double both_tails = incomplete_beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t));
  return t > 0 ? 1 - both_tails / 2 : both_tails / 2;
}

double student_t_quantile(double p, double df) {
  if (std::isnan(p) || std::isnan(df) || df <= 0 || p < 0 || p > 1) return kNaN;
  if (std::isinf(df)) return normal_quantile(p);
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  if (p == 0.5) return 0;
  if (p > 0.5) return -student_t_quantile(1 - p, df);
  // Newton's steps inside a bracket that shrinks; a step that leaves it is replaced by bisection.
  double low = -1, high = 0;
  while (student_t_cdf(low, df) > p) low *= 2;
  double t = std::clamp(normal_quantile(p), low, high);
  for (int i = 0; i < 200; ++i) {
    const double excess = student_t_cdf(t, df) - p;
    (excess > 0 ? high : low) = t;
    double next = t - excess / student_t_density(t, df);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::fabs(next - t) <= 1e-14 * std::fabs(t)) return next;
    t = next;
  }
  return t;
}

double sorted_quantile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return kNaN;
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = at - static_cast<double>(below);
  // Equal neighbours first: the difference of two infinities is not a number.
  if (share == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace attnscope
