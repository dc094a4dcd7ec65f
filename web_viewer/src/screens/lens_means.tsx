/** What a lens says over all its prompts, and which parts of the model add to the answer. */

import { useSignal } from '@preact/signals';
import type { ExperimentData } from '../format/types';
import { attributionOf } from '../model/attribution';
import { numberAttribute, textAttribute } from '../model/effects';
import { plural, short, signed } from '../model/numbers';
import { safeText } from '../model/tokens';
import { UnitName } from './causal_list';

/** A share of one prompt is all or nothing. */
function firstWords(share: number, prompts: number): string {
  if (Number.isNaN(share)) return '–';
  if (prompts > 1) return `${short(100 * share)} %`;
  return share === 1 ? 'yes' : 'no';
}

/** Stage by stage, the mean over prompts at the last position that was read. */
export function LensMeans({ data }: { data: ExperimentData }) {
  const stages = data.texts.stages ?? [];
  const at = (name: string, stage: number) => data.numbers[name]?.values[stage] ?? NaN;
  if (stages.length === 0 || !data.numbers.target_log_prob) return null;
  const prompts = numberAttribute(data, 'prompts');
  return (
    <section aria-label="Means over prompts">
      <h2>
        At the answer, {prompts > 1 ? `mean over ${plural(prompts, 'prompt')}` : 'this prompt'}
      </h2>
      <table class="ranks">
        <thead>
          <tr>
            <th scope="col">after</th>
            <th scope="col" title="Distance to the final answer, nats">
              KL
            </th>
            <th scope="col" title="Of the answer, else of what the whole model says">
              log-probability
            </th>
            <th
              scope="col"
              title={
                prompts > 1
                  ? 'Share of prompts whose target (the answer, else what the whole model says) is the likeliest token after this layer'
                  : 'Whether the target (the answer, else what the whole model says) is the likeliest token after this layer'
              }
            >
              {prompts > 1 ? 'target comes first' : 'target first?'}
            </th>
          </tr>
        </thead>
        <tbody>
          {stages.map((_, i) => {
            const stage = stages.length - 1 - i;
            return (
              <tr key={stage}>
                <td>{safeText(stages[stage] ?? '')}</td>
                <td class="value">{short(at('kl', stage))}</td>
                <td class="value">{short(at('target_log_prob', stage))}</td>
                <td class="value">{firstWords(at('target_first', stage), prompts)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

const SHOWN = 12;

/** Parts by the size of what they add, with what all of them add up to. */
export function LensAttribution({ data, read, title }: AttributionProps) {
  const all = useSignal(false);
  const attribution = attributionOf(data, read);
  if (!attribution) return null;
  const { parts, total } = attribution;
  const top = Math.abs(parts[0]?.value ?? 0) || 1;
  const shown = all.value ? parts : parts.slice(0, SHOWN);
  const rest = parts.slice(shown.length).reduce((sum, { value }) => sum + value, 0);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <p class="small">
        {safeText(textAttribute(data, 'metric'))} {signed(total)} is the sum of what each part adds
        past all later layers; it is no effect of removing the part.
      </p>
      <table class="ranking">
        <tbody>
          {shown.map(({ name, head, value }) => (
            <tr key={name}>
              <td>{head === null ? safeText(name) : <UnitName name={head} />}</td>
              <td class="bar">
                <span
                  class={value < 0 ? 'minus' : 'plus'}
                  style={{ width: `${(100 * Math.abs(value)) / top}%` }}
                />
              </td>
              <td class="value">{signed(value)}</td>
            </tr>
          ))}
          {shown.length < parts.length && (
            <tr>
              <td class="muted">{parts.length - shown.length} others</td>
              <td />
              <td class="value muted">{signed(rest)}</td>
            </tr>
          )}
        </tbody>
      </table>
      {parts.length > SHOWN && (
        <button type="button" class="link" onClick={() => (all.value = !all.value)}>
          {all.value ? 'Show fewer' : `Show all ${parts.length}`}
        </button>
      )}
    </section>
  );
}

interface AttributionProps {
  data: ExperimentData;
  /** Which of the positions that were read; means have one only. */
  read: number;
  title: string;
}
