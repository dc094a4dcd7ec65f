/** What a verdict says beside its effects: counts, rank correlations, sets, controls. */

import type { ExperimentData } from '../format/types';
import {
  numberAttribute,
  rankResult,
  verdictName,
  type RankResult,
  type Verdict,
} from '../model/effects';
import { interval, plural, pText, short, signed, tabular, tabularSigned } from '../model/numbers';
import { definitionOf } from '../model/statistics';
import { safeText } from '../model/tokens';
import { verdictWords } from '../model/verdict_words';
import { Fold } from '../ui/controls';

function countsOf(data: ExperimentData): Map<Verdict, number> {
  const counts = new Map<Verdict, number>();
  for (const level of data.numbers.verdict?.values ?? []) {
    const verdict = verdictName(level);
    if (verdict) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  return counts;
}

/** How many units are judged what, and what they are judged by. */
export function Tiles({ data }: { data: ExperimentData }) {
  const counts = countsOf(data);
  const of = (verdict: Verdict) => counts.get(verdict) ?? 0;
  const delta = numberAttribute(data, 'delta');
  if (counts.size === 0 && Number.isNaN(delta)) return null;
  const backedUp = of('backed up');
  return (
    <div class="tiles">
      {counts.size > 0 && (
        <>
          <span title="The interval that holds for all units at once lies outside ±δ with one sign under at least two methods">
            <span class="mark filled" /> <b>{of('causal')}</b> causal
          </span>
          <span title="Total, direct and conditional effects are shown to be smaller than δ">
            <span class="mark cross">×</span> <b>{of('no effect')}</b> no effect
          </span>
          <span title="Neither is shown; backed up: no total effect, but others stand in for the unit">
            <span class="mark hollow" /> <b>{of('undetermined') + backedUp}</b> undetermined
            {backedUp > 0 && `, ${backedUp} of them backed up`}
          </span>
        </>
      )}
      {!Number.isNaN(delta) && (
        <span title="Effects up to this size are too small to be of interest">
          <b>±{tabular(delta)}</b> δ
        </span>
      )}
    </div>
  );
}

const range = (low: number, high: number): string =>
  Number.isNaN(low) || Number.isNaN(high) ? 'no interval' : `[${tabular(low)}, ${tabular(high)}]`;

function RankRow({ name, rank }: { name: string; rank: RankResult }) {
  return (
    <tr>
      <td title={definitionOf(name).sentence}>{safeText(name)}</td>
      <td class="value">{tabularSigned(rank.tau)}</td>
      <td class="muted">{range(rank.low, rank.high)}</td>
      <td class="value">{pText(rank.p, rank.smallestP)}</td>
    </tr>
  );
}

/** What the words of its text mean. */
export function Words({ data }: { data: ExperimentData }) {
  const words = verdictWords(data);
  if (words.length === 0) return null;
  return (
    <Fold title="Words in this text">
      <dl class="controls">
        {words.map(({ word, sentence }) => (
          <div key={word}>
            <dt>
              <b>{word}</b>
            </dt>
            <dd>{sentence}</dd>
          </div>
        ))}
      </dl>
    </Fold>
  );
}

/** Does attention rank units as their effects do? Within layers, over all prompts. */
export function Ranks({ data, method }: { data: ExperimentData; method: number }) {
  const measures = data.texts.measures ?? [];
  const ranks = measures.map((_, at) => rankResult(data, method, at));
  const first = ranks.find((rank) => rank !== null);
  if (!first) return null;
  const all = numberAttribute(data, 'prompts');
  return (
    <section aria-label="Rank correlation of attention with effects">
      <h2>Rank correlation with the |effect| of {safeText(data.methods[method] ?? '')}</h2>
      <table class="ranks">
        <thead>
          <tr>
            <th scope="col">measure</th>
            <th scope="col">τ-b</th>
            <th scope="col">95 %</th>
            <th scope="col">p</th>
          </tr>
        </thead>
        <tbody>
          {measures.map((name, at) => {
            const rank = ranks[at];
            return rank && <RankRow key={name} name={name} rank={rank} />;
          })}
        </tbody>
      </table>
      <p class="small">
        Within layers{Number.isNaN(all) ? '' : `, over all ${all} prompts`}.{' '}
        {!Number.isNaN(first.ceiling) &&
          `Ceiling ${tabular(first.ceiling)} ${range(first.ceilingLow, first.ceilingHigh)}: how ` +
            'well the effects of one half of the prompts rank those of the other. '}
        {!Number.isNaN(first.attainable) &&
          `A perfect measure would reach ${tabular(first.attainable)}. `}
        The interval says what other prompts might give for these units, by drawing groups again; p
        says how often units shuffled within their layers rank as well.
      </p>
    </section>
  );
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1
    ? sorted[Math.floor(middle)]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** What the removal of several units together does, against random sets like them. */
export function Sets({ data }: { data: ExperimentData }) {
  const joint = data.numbers.joint?.values ?? [];
  const names = data.texts.joint_sets ?? [];
  const matched = Array.from(data.numbers.matched?.values ?? []).filter(Number.isFinite);
  if (joint.length === 0) return null;
  const p = numberAttribute(data, 'matched_p');
  const [units, most] = [
    numberAttribute(data, 'matched_units'),
    numberAttribute(data, 'matched_most'),
  ];
  const at = (name: string, set: number) => data.numbers[name]?.values[set] ?? NaN;
  return (
    <Fold title="Removed together">
      {Array.from(joint, (effect, set) => (
        <p key={set} class="small">
          {safeText(names[set] ?? '', 200)}, chosen on the other half of the prompts: together{' '}
          {signed(effect)}; one by one they add up to {signed(at('joint_sum', set))}
          {interval(at('joint_excess_low', set), at('joint_excess_high', set)) &&
            ` (difference ${interval(at('joint_excess_low', set), at('joint_excess_high', set))})`}
          .
        </p>
      ))}
      {matched.length > 0 && (
        <p class="small">
          {plural(matched.length, 'random set')} of as many other units of the same layers, alike in
          attention and size of output: {signed(Math.min(...matched))} to{' '}
          {signed(Math.max(...matched))} (median {signed(median(matched))})
          {!Number.isNaN(p) && `; p ${pText(p, 1 / (1 + matched.length)).replace(/^(\d)/, '= $1')}`}
          {!Number.isNaN(units) &&
            `; the sets hold ${units} different units, the most frequent in ${most} of ${matched.length}`}
          .
        </p>
      )}
    </Fold>
  );
}

export function Controls({ data }: { data: ExperimentData }) {
  const {
    controls = [],
    control_results: results = [],
    control_details: details = [],
  } = data.texts;
  if (controls.length === 0) return null;
  const failed = results.filter((result) => result === 'failed').length;
  return (
    <Fold
      title={`Controls: ${controls.length}${failed > 0 ? `, ${failed} failed` : ''}`}
      open={failed > 0}
    >
      <dl class="controls">
        {controls.map((name, at) => (
          <div key={name}>
            <dt>
              {safeText(name)}: <b>{safeText(results[at] ?? '')}</b>
            </dt>
            <dd>{safeText(details[at] ?? '', 400)}</dd>
          </div>
        ))}
      </dl>
    </Fold>
  );
}

/** Checks of the computation itself. */
export function Checks({ data }: { data: ExperimentData }) {
  const of = (name: string) => numberAttribute(data, name);
  const lines: string[] = [];
  if (of('misaligned') > 0) {
    lines.push(`Left out because they do not align: ${plural(of('misaligned'), 'pair')}.`);
  }
  if (of('dropped') > 0) {
    lines.push(
      `Left out of the recovery, because clean and corrupt differ too little: ${plural(of('dropped'), 'prompt')}.`,
    );
  }
  if (of('non_finite') > 0) lines.push(`NaN or infinite: ${plural(of('non_finite'), 'value')}.`);
  if (of('verify_cells') > 0) {
    lines.push(
      `Run again by the slow loop: ${plural(of('verify_cells'), 'cell')}, largest difference ` +
        `${short(of('verify_max_difference'), 2)}.`,
    );
  }
  return (
    <>
      {lines.map((line) => (
        <p key={line} class="small">
          {line}
        </p>
      ))}
    </>
  );
}
