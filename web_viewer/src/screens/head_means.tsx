/** Maps averaged over the prompts that the list finds: the choice, and why there is none. */

import { plural } from '../model/numbers';
import { safeText } from '../model/tokens';
import { foundCount, means, meansPending, noMeanWords } from '../state/map_means';
import { promptTable } from '../state/prompts';
import { choose, view } from '../state/view';
import { prompt } from '../state/workspace';
import { Pick } from '../ui/controls';

/** Offered where the file has several prompts. */
export function MeansPick() {
  const rows = promptTable.value;
  if (!rows || rows.ids.length < 2 || view.view.value !== 'map') return null;
  const count = foundCount.value;
  return (
    <Pick
      label="Over prompts"
      hideLabel
      title="The map of this prompt, or over all that the list of prompts (p) finds: their mean, or their standard deviation (n − 1). The first token is left out and weights are weighed in each prompt before that."
      value={view.over.value}
      options={[
        { value: 'off', label: '1 prompt' },
        { value: 'mean', label: `mean of ${count}` },
        { value: 'sd', label: `sd of ${count}` },
      ]}
      onPick={(over) => choose({ over: over as 'off' })}
    />
  );
}

/** Over how many prompts the map is, and which. */
export function MeansSentence() {
  const of = means.value;
  if (meansPending.value) {
    return <>Looking at the prompts found; until then this is the map of one. </>;
  }
  if (!of) return null;
  const what = view.over.value === 'sd' ? 'standard deviation' : 'mean';
  return (
    <>
      Drawn is the {what} over the{' '}
      <button type="button" class="link" onClick={() => choose({ drawer: true })}>
        {plural(of.ids.length, 'prompt')}
      </button>{' '}
      found.{' '}
    </>
  );
}

/** Why what was asked for is not shown, with the way to prompts that have a mean. */
export function NoMeanNote() {
  const why = noMeanWords.value;
  if (why === '') return null;
  const rows = promptTable.value;
  const id = prompt.value?.id ?? '';
  const length = rows?.columns.tokens?.[rows.ids.indexOf(id)] ?? '';
  const word = `tokens:${length}`;
  const found = view.promptFilter.value.split(' ').includes(word);
  return (
    <p class="banner" role="status">
      <strong>No mean over prompts.</strong> {why} This is the map of {safeText(id, 40)}.{' '}
      {length !== '' && !found && (
        <button
          type="button"
          class="link"
          onClick={() => choose({ promptFilter: `${view.promptFilter.value} ${word}`.trim() })}
        >
          Find those of {length} tokens
        </button>
      )}
    </p>
  );
}
