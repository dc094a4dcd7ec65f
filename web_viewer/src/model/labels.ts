/** Automatic labels of heads. Each is a threshold on one statistic, and says so. */

import type { HeadTable } from './heads';

interface Rule {
  label: string;
  column: string;
  atLeast: number;
}

const RULES: readonly Rule[] = [
  { label: 'induction', column: 'induction', atLeast: 0.4 },
  { label: 'previous token', column: 'previous', atLeast: 0.5 },
  { label: 'duplicate token', column: 'duplicate', atLeast: 0.4 },
  { label: 'first token', column: 'sink', atLeast: 0.8 },
  { label: 'itself', column: 'self', atLeast: 0.5 },
  { label: 'uniform', column: 'entropy_norm', atLeast: 0.95 },
];

export interface Label {
  label: string;
  /** Why the head has it, with the threshold. */
  reason: string;
}

export function labelsOf(table: HeadTable, head: number): Label[] {
  return RULES.filter(({ column, atLeast }) => {
    const value = table.columns.get(column)?.values[head];
    return value !== undefined && value >= atLeast;
  }).map(({ label, column, atLeast }) => ({ label, reason: `${column} ≥ ${atLeast}` }));
}
