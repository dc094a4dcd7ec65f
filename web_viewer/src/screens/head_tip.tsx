/** A small card beside the pointer: what is known of the head under it. */

import type { Size } from '../draw/viewport';
import { countWords } from '../model/effect_prompts';
import { secondRangeWords } from '../model/effects';
import { labelsOf } from '../model/labels';
import { nameOf } from '../model/heads';
import { short, signed } from '../model/numbers';
import { chosenPrompts } from '../state/effect_prompts';
import { statistic } from '../state/selection';
import { table } from '../state/heads';
import { chosenEffects } from '../state/workspace';
import { effectSentence, verdictWords } from './head_words';

const WIDTH = 260;

interface HeadTipProps {
  index: number;
  x: number;
  y: number;
  room: Size;
  /** Whether numbers are of all prompts of a verdict, as the dots then are. */
  all?: boolean;
}

/** The effect over all prompts, of which there is no interval. */
function AllPrompts({ index }: { index: number }) {
  const effects = chosenEffects.value?.effects;
  const effect = table.value.effects[index];
  if (!effects?.prompts || !effect) return null;
  return (
    <div>
      effect on {effects.metric} {signed(effect.ofAllPrompts)}
      <span class="muted"> · on all {effects.prompts.all} prompts, without an interval</span>
    </div>
  );
}

export function HeadTip({ index, x, y, room, all = false }: HeadTipProps) {
  const head = table.value.heads[index];
  if (!head) return null;
  const column = statistic.value;
  const effect = table.value.effects[index];
  const labels = labelsOf(table.value, index);
  const deviation = column?.deviations?.[index];
  const left = x + WIDTH + 24 > room.width ? x - WIDTH - 12 : x + 16;
  const below = y + 130 < room.height;
  const place = below ? { top: `${y + 12}px` } : { bottom: `${room.height - y + 8}px` };
  return (
    <div class="tip" style={{ left: `${Math.max(4, left)}px`, width: `${WIDTH}px`, ...place }}>
      <strong>{nameOf(head)}</strong>
      {labels.length > 0 && (
        <span class="muted"> {labels.map(({ label }) => label).join(', ')}</span>
      )}
      {column && (
        <div>
          {column.label} {short(((all && column.allPrompts) || column.values)[index]!)}
          {deviation !== undefined && !Number.isNaN(deviation) && ` ± ${short(deviation)}`}
        </div>
      )}
      {all && <AllPrompts index={index} />}
      {effect && !all && (
        <div>
          {effectSentence(index)}
          {effect.verdict && <b> · {verdictWords(effect)}</b>}
          {secondRangeWords(effect) && <span class="muted"> · {secondRangeWords(effect)}</span>}
          {chosenPrompts.value && (
            <span class="muted"> · on {countWords(chosenPrompts.value)}</span>
          )}
        </div>
      )}
    </div>
  );
}
