/** What stands in the place of a comparison that lacks a map, and what to do about it. */

import { captureCommand } from '../model/commands';
import { nameOf } from '../model/heads';
import { modelName } from '../model/join';
import { safeText } from '../model/tokens';
import { isReadingB, sideA, versus, versusRun } from '../state/compare';
import { shownHead } from '../state/selection';
import { choose } from '../state/view';
import { mainRun, prompt, stack, type OpenRun } from '../state/workspace';
import { Absent, Snippet } from '../ui/controls';
import { isNoPromptChosen } from '../state/prompts';
import { ChoosePrompt } from './no_map';

const shownRun = ({ summary }: OpenRun): string => safeText(summary.name, 40);

/** Which of the two maps is not there. */
export function NoPair() {
  const main = mainRun.value!;
  const other = versusRun.value;
  const head = shownHead.value;
  if (!other) {
    return (
      <Absent title="The file of B is not open">
        <p>Open it beside this one, or compare within what is here.</p>
        <CompareWithin />
      </Absent>
    );
  }
  if (isNoPromptChosen.value) return <ChoosePrompt what="A" canAverage={false} />;
  if (!sideA.value) {
    const id = prompt.value?.id;
    return (
      <Absent inPrompt title="A has no map">
        <p>
          {shownRun(main)} stores no map of {head ? `head ${nameOf(head)}` : 'single heads'}
          {id === undefined ? '' : ` of ${safeText(id, 40)}`}.{' '}
          {stack.value && stack.value.maps.length > 0
            ? `It has those of the layers ${layersOf(stack.value.maps)}.`
            : 'This makes a file with the maps of all heads:'}
        </p>
        {!stack.value?.maps.length && (
          <Snippet
            text={captureCommand(modelName(main.summary), prompt.value?.text || 'TEXT')}
            what="Command"
          />
        )}
      </Absent>
    );
  }
  if (isReadingB.value) return null;
  const wanted = versus.value;
  return (
    <Absent title="B has no map">
      <p>
        {shownRun(other)} stores no map of {wanted ? `head ${nameOf(wanted.head)}` : 'single heads'}
        {wanted ? ` of ${safeText(wanted.promptId, 40)}` : ''}. Choose another head, prompt or file
        for B.
      </p>
      {other !== main && <CompareWithin />}
    </Absent>
  );
}

const layersOf = (maps: readonly { layer: number }[]): string =>
  maps.map(({ layer }) => layer).join(', ');

function CompareWithin() {
  return (
    <button type="button" onClick={() => choose({ versus: '' })}>
      Compare within this file
    </button>
  );
}
