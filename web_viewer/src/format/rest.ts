/** The factor that makes what is left of a row sum to one; NaN where nothing is left. */
export const restFactor = (left: number): number => (left > 1e-6 ? 1 / left : NaN);
