/** Why the overview has no small pictures of maps, and the way to them. */

import { plural } from '../model/numbers';
import { safeText } from '../model/tokens';
import { promptMeans, promptTable, shownPrompts, showsMeans } from '../state/prompts';
import { choose, view } from '../state/view';
import { mainRun, prompt, stack } from '../state/workspace';

/** Pictures are of one prompt, and only prompts that are kept on their own have any. */
const needsPrompt = (): boolean =>
  showsMeans.value && (mainRun.value?.summary.promptIds.length ?? 0) > 0;

/** What the choice of pictures does, or why it can't be chosen. */
export function mapsChoice(): { title: string; disabled: boolean } {
  if (needsPrompt()) {
    return { title: 'Small pictures are of one prompt; these are means', disabled: false };
  }
  const stored = stack.value?.overview != null && !showsMeans.value;
  return {
    title: stored ? 'Small pictures of attention (t)' : 'The file holds no pictures of attention',
    disabled: !stored,
  };
}

/** Said where pictures are wanted and cannot be of what is shown. */
export function MapsNote() {
  const means = promptMeans.value;
  const rows = promptTable.value;
  if (view.show.value !== 'map' || !needsPrompt() || !means || !rows) return null;
  const id = prompt.value?.id ?? rows.ids[shownPrompts.value[0] ?? -1];
  return (
    <p class="banner">
      Shown are means over {plural(means.prompts, 'prompt')}. Pictures of maps are of one prompt:{' '}
      <button type="button" class="link" onClick={() => choose({ drawer: true })}>
        choose one
      </button>
      {id !== undefined && (
        <>
          {' '}
          or{' '}
          <button
            type="button"
            class="link"
            onClick={() => choose({ prompt: id, mean: false, show: 'map' })}
          >
            show {safeText(id, 40)}
          </button>
        </>
      )}
    </p>
  );
}
