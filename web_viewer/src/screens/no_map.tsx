/** What stands in the place of a map that is not there, and the way to one. */

import { captureCommand } from '../model/commands';
import { modelName } from '../model/join';
import { plural } from '../model/numbers';
import { safeText } from '../model/tokens';
import { isNoPromptChosen, promptMeans, promptTable, shownPrompts } from '../state/prompts';
import { shownHead } from '../state/selection';
import { choose, view } from '../state/view';
import { mainRun, prompt, stack } from '../state/workspace';
import { Absent, Snippet } from '../ui/controls';

/** A map is of one prompt, also where all else that is shown is of several. Those of all can be
 *  averaged where a screen draws that; one of them then lends its rows and columns. */
export function ChoosePrompt({ what, canAverage }: { what: string; canAverage: boolean }) {
  const rows = promptTable.value;
  if (!rows) return null;
  const means = promptMeans.value;
  const first = rows.ids[shownPrompts.value[0] ?? -1];
  const count = shownPrompts.value.length;
  const over = means
    ? ` is a mean over ${plural(means.prompts, 'prompt')}`
    : ' is of no prompt yet';
  return (
    <Absent inPrompt title={`${what}${over}`}>
      <p>Maps are stored prompt by prompt. Choose one to see its map.</p>
      <p>
        <button type="button" class="primary" onClick={() => choose({ drawer: true })}>
          Choose a prompt
        </button>{' '}
        {first !== undefined && (
          <button type="button" onClick={() => choose({ prompt: first, mean: false })}>
            {view.promptFilter.value === '' ? 'Show the first' : 'Show the first that was found'}
          </button>
        )}{' '}
        {canAverage && count > 1 && (
          <button
            type="button"
            onClick={() => choose({ prompt: first!, mean: false, over: 'mean', view: 'map' })}
          >
            Mean of {count} maps
          </button>
        )}
      </p>
    </Absent>
  );
}

export function NoMap() {
  if (isNoPromptChosen.value) return <ChoosePrompt what="This" canAverage />;
  const run = mainRun.value!;
  const text = prompt.value?.text;
  const kept = stack.value && stack.value.maps.length > 0;
  const layer = shownHead.value?.layer;
  const fault = stack.value?.maps.find((map) => map.layer === layer)?.fault;
  if (fault) {
    return (
      <Absent title="The stored map of this head is not one of its prompt">
        <p>It has {safeText(fault, 200)}, so nothing says what its cells are of.</p>
      </Absent>
    );
  }
  return (
    <Absent
      inPrompt
      title={kept ? 'The map of this head is not in the file' : 'No attention map is stored here'}
    >
      <p>Statistics are exact without it. This makes a file with the maps of all heads:</p>
      <Snippet text={captureCommand(modelName(run.summary), text || 'TEXT')} what="Command" />
    </Absent>
  );
}
