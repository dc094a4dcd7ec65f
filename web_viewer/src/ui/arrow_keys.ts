const STEPS: Record<string, [rows: number, columns: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Where an arrow key leads, in rows and columns; undefined for other keys. */
export const arrowStep = ({ key }: KeyboardEvent) => STEPS[key];
