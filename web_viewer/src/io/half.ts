/** 16-bit floats, which h5wasm 0.10.3 hands over as bytes only. */
export function halfToFloat(bits: Uint16Array): Float32Array {
  const out = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; ++i) {
    const half = bits[i]!;
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const mantissa = half & 0x3ff;
    if (exponent === 0) out[i] = sign * mantissa * 2 ** -24;
    else if (exponent === 31) out[i] = mantissa ? NaN : sign * Infinity;
    else out[i] = sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
  }
  return out;
}
