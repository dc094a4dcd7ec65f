/** Rank correlations. Pairs with a missing value are left out. */

export interface RankCorrelation {
  tauB: number;
  rho: number;
  n: number;
}

/** Ranks from 1; ties share the mean of their ranks. */
export function ranks(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const out = new Array<number>(values.length);
  for (let begin = 0; begin < order.length;) {
    let end = begin + 1;
    while (end < order.length && values[order[end]!] === values[order[begin]!]) ++end;
    for (let i = begin; i < end; ++i) out[order[i]!] = (begin + end + 1) / 2;
    begin = end;
  }
  return out;
}

function pearson(x: readonly number[], y: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const [mx, my] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; ++i) {
    const [dx, dy] = [x[i]! - mx, y[i]! - my];
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : NaN;
}

/** Kendall's tau-b: concordant minus discordant pairs, corrected for ties. */
function tauB(x: readonly number[], y: readonly number[]): number {
  let [balance, untiedX, untiedY] = [0, 0, 0];
  for (let i = 0; i < x.length; ++i) {
    for (let j = 0; j < i; ++j) {
      const sx = Math.sign(x[i]! - x[j]!);
      const sy = Math.sign(y[i]! - y[j]!);
      balance += sx * sy;
      untiedX += sx * sx;
      untiedY += sy * sy;
    }
  }
  return untiedX > 0 && untiedY > 0 ? balance / Math.sqrt(untiedX * untiedY) : NaN;
}

export function rankCorrelation(x: ArrayLike<number>, y: ArrayLike<number>): RankCorrelation {
  const xs: number[] = [];
  const ys: number[] = [];
  for (let i = 0; i < x.length; ++i) {
    if (Number.isNaN(x[i]) || Number.isNaN(y[i])) continue;
    xs.push(x[i]!);
    ys.push(y[i]!);
  }
  return { tauB: tauB(xs, ys), rho: pearson(ranks(xs), ranks(ys)), n: xs.length };
}
