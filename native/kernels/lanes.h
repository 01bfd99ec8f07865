/**
 * @file
 * Vectors of float32 in as many lanes as the instruction set has that a file is compiled for, for the kernels
 * of a training. Plain vector types of GCC and Clang; only the dot products of bfloat16 need intrinsics.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace HONE_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

// What torch allocates is aligned, but not slices of it: memory is read and written with memcpy alone.
typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef int32_t Integers __attribute__((vector_size(kLanes * 4)));
typedef uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef uint16_t Halves __attribute__((vector_size(kLanes * 2)));

/** A bfloat16: the upper half of a float32. */
using Half = uint16_t;

inline Lanes All(float value) { return Lanes{} + value; }

inline Lanes Load(const float* from) {
  Lanes found;
  std::memcpy(&found, from, sizeof found);
  return found;
}

inline Lanes Load(const Half* from) {
  Halves found;
  std::memcpy(&found, from, sizeof found);
#if defined(__AVX512F__)
  // GCC 12 would convert each half apart.
  return (Lanes)((Words)_mm512_cvtepu16_epi32((__m256i)found) << 16);
#else
  return (Lanes)(__builtin_convertvector(found, Words) << 16);
#endif
}

inline void Store(float* to, Lanes value) { std::memcpy(to, &value, sizeof value); }

/**
 * The upper halves of `value` as bfloat16, in the lower halves: rounded to the nearest, of two to the even
 * one, as torch does. What is no number stays none.
 */
inline Words Narrowed(Lanes value) {
#if defined(__AVX512BF16__)
  return (Words)_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)value));
#else
  const Words bits = (Words)value;
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Words number = (Words)(value == value);
  return (rounded & number) | (0x7fc0u & ~number);
#endif
}

inline void Store(Half* to, Lanes value) {
#if defined(__AVX512BF16__)
  const __m256bh found = _mm512_cvtneps_pbh((__m512)value);
#else
  const Halves found = __builtin_convertvector(Narrowed(value), Halves);
#endif
  std::memcpy(to, &found, sizeof found);
}

/** What `value` is after it was stored as an `Element`. */
template <typename Element>
inline Lanes Rounded(Lanes value) {
  if constexpr (sizeof(Element) == 4) return value;
  return (Lanes)(Narrowed(value) << 16);
}

/** `Load` and `Store` of the first `count` elements; the others are 0. */
template <typename Element>
inline Lanes LoadSome(const Element* from, size_t count) {
  Element some[kLanes] = {};
  std::memcpy(some, from, count * sizeof(Element));
  return Load(some);
}

template <typename Element>
inline void StoreSome(Element* to, Lanes value, size_t count) {
  Element some[kLanes];
  Store(some, value);
  std::memcpy(to, some, count * sizeof(Element));
}

inline Lanes Larger(Lanes left, Lanes right) { return left > right ? left : right; }

inline float Sum(Lanes value) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += value[lane];
  return total;
}

inline float Largest(Lanes value) {
  float largest = value[0];
  for (int lane = 1; lane < kLanes; ++lane) largest = value[lane] > largest ? value[lane] : largest;
  return largest;
}

/**
 * The exponential function, to about two units in the last place: exp(x) = 2^n exp(r) with |r| <= ln(2) / 2,
 * and the polynomial of Cephes' `expf` for exp(r) (Moshier, public domain). `x` counts as at least
 * -87.33 and at most 88.02, whose results are normal numbers.
 */
inline Lanes Exp(Lanes x) {
  const Lanes least = All(-87.33f), most = All(88.02f);
  x = x < least ? least : x;
  x = x > most ? most : x;
  // 1.5 * 2^23: adding it rounds to an integer, which is then in the lowest bits.
  const Lanes magic = All(12582912.0f);
  const Lanes shifted = x * 1.44269504088896341f + magic;
  const Lanes n = shifted - magic;
  const Lanes r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  return p * (Lanes)(((Integers)shifted << 23) + 0x3f800000);
}

}  // namespace HONE_ISA
