/** The menu of what a screen can write to files. */

import { Pick } from '../ui/controls';

export type ExportActions = Record<string, { label: string; run: () => Promise<void> | void }>;

export function ExportMenu({ actions }: { actions: ExportActions }) {
  return (
    <Pick
      label="Export"
      hideLabel
      value=""
      options={[
        { value: '', label: 'Export …' },
        ...Object.entries(actions).map(([value, { label }]) => ({ value, label })),
      ]}
      onPick={(name) => void actions[name]?.run()}
    />
  );
}
