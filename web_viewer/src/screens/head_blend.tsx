/** Above a map that is made of several heads: what is known of each of them. */

import { rangeWords } from '../model/effects';
import { nameOf } from '../model/heads';
import { signed } from '../model/numbers';
import { chosenPromptsWords } from '../state/effect_prompts';
import { table } from '../state/heads';
import { blendName, drawnMaps } from '../state/map';
import { results } from '../state/workspace';
import { effectSentence, verdictWords } from './head_words';

/** More would fill the page. */
const MAX_HEADS = 6;

/** The first with how it was found, the others as numbers. */
function effectOfHead(name: string, index: number, first: boolean): string {
  const effect = table.value.effects[index]!;
  const words = first
    ? `, ${effectSentence(index)}`
    : ` ${signed(effect.effect)} ${rangeWords(effect)}`.trimEnd();
  return `${name}${words}${effect.verdict ? ` (${verdictWords(effect)})` : ''}`;
}

export function BlendBanner() {
  const names = drawnMaps.value.map(({ head }) => nameOf(head));
  const known = names
    .map((name) => ({ name, index: table.value.index.get(name) ?? -1 }))
    .filter(({ index }) => table.value.effects[index]);
  const more = (count: number) => (count > MAX_HEADS ? ` and ${count - MAX_HEADS} more` : '');
  const effects = known
    .slice(0, MAX_HEADS)
    .map(({ name, index }, at) => effectOfHead(name, index, at === 0));
  const none =
    results.value.length > 0
      ? 'The open files hold no causal result of these heads.'
      : 'No causal result is stored.';
  return (
    <p class="banner">
      <strong>Attention is not effect.</strong> This is the {blendName()} of heads{' '}
      {names.slice(0, MAX_HEADS).join(', ')}
      {more(names.length)}.{' '}
      {known.length === 0
        ? none
        : `Each by itself: ${effects.join('; ')}${more(known.length)}. ${chosenPromptsWords.value}`}
    </p>
  );
}
