/** What tests read of the page: numbers, not pictures. */

import { currentState } from '../state/view';
import { failures, runs, table } from '../state/workspace';

export function exposeForTests(): void {
  const surface = {
    state: () => ({
      ...currentState(),
      files: runs.value.map(({ summary }) => summary.name),
      failures: failures.value.map(({ name, code, message }) => ({ name, code, message })),
      heads: table.value.heads.length,
      columns: Object.fromEntries(
        [...table.value.columns].map(([id, column]) => [id, Array.from(column.values)]),
      ),
    }),
  };
  Object.assign(window, { __attnscope: surface });
}
