/** Free notes on heads, and their export. */

import { modelName } from '../model/join';
import { plural } from '../model/numbers';
import { download } from '../state/export';
import { notes, setNote } from '../state/notes';
import { mainRun } from '../state/workspace';

export function HeadNote({ head }: { head: string }) {
  return (
    <label class="note">
      <span class="small">Note on {head}</span>
      <textarea
        rows={2}
        value={notes.value[head] ?? ''}
        onInput={(event) => setNote(head, event.currentTarget.value)}
      />
    </label>
  );
}

export function NotesExport() {
  const count = Object.keys(notes.value).length;
  const run = mainRun.value;
  if (count === 0 || !run) return null;
  const { name, weights_sha256: weights } = run.summary.model;
  const save = () => {
    const record = { model: name, weights_sha256: weights, notes: notes.value };
    const text = `${JSON.stringify(record, null, 2)}\n`;
    download(
      `${modelName(run.summary)}-notes.json`,
      new Blob([text], { type: 'application/json' }),
    );
  };
  return (
    <p class="small">
      {plural(count, 'note')} on heads of this model, kept in this browser.{' '}
      <button type="button" class="link" onClick={save}>
        Save as JSON
      </button>
    </p>
  );
}
