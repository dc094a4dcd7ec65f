/** Every unit of an experiment, one line each, with its interval drawn; sorted by any column. */

import { useSignal } from '@preact/signals';
import { BAR, barTicks, placeOn } from '../draw/bars';
import type { ExperimentData } from '../format/types';
import {
  isDifference,
  numberAttribute,
  verdictName,
  verdictSentence,
  verdictWord,
} from '../model/effects';
import { interval } from '../model/numbers';
import { hasValues } from '../model/result_words';
import type { ResultGrid } from '../model/result_grid';
import { arrayLabel, arraySentence, ofUnit, sortedUnits, valueWords } from '../model/results';
import { barScale, type BarScale } from '../model/result_bars';
import { safeText } from '../model/tokens';
import { parseUnit } from '../model/units';
import { choose, view } from '../state/view';
import { stackNames } from '../state/workspace';
import type { Listed } from './causal_grids';

/** Value and interval on the scale that all bars of a column share; the band is ±δ. */
function Bar({ scale, value, from, to, delta }: BarProps) {
  if (Number.isNaN(value)) return <span class="muted">–</span>;
  const place = (x: number) => placeOn(scale, x);
  const middle = BAR.height / 2;
  const [left, right] = [place(from), place(to)];
  return (
    <svg class="interval" viewBox={`0 0 ${BAR.width} ${BAR.height}`} aria-hidden="true">
      {delta > 0 && (
        <rect x={place(-delta)} y={0} width={place(delta) - place(-delta)} height={BAR.height} />
      )}
      <path class="zero" d={`M${place(0)} 0V${BAR.height}`} />
      {!Number.isNaN(from) && !Number.isNaN(to) && (
        <>
          <path class="range" d={`M${left} ${middle}H${right}`} />
          {from === -Infinity && (
            <path class="arrow" d={`M${left + 4} 4L${left} 8L${left + 4} 12`} />
          )}
          {to === Infinity && (
            <path class="arrow" d={`M${right - 4} 4L${right} 8L${right - 4} 12`} />
          )}
        </>
      )}
      <circle class={value < 0 ? 'minus' : 'plus'} cx={place(value)} cy={middle} r={3.5} />
    </svg>
  );
}

interface BarProps {
  scale: BarScale;
  value: number;
  from: number;
  to: number;
  delta: number;
}

/** The numbers that the bars stand under. */
function BarAxis({ scale }: { scale: BarScale }) {
  return (
    <svg class="interval axis" viewBox={`0 0 ${BAR.width} ${BAR.height}`} aria-hidden="true">
      {barTicks(scale).map(({ at, label }) => (
        <g key={at}>
          {label && (
            <text x={at} y={11}>
              {label}
            </text>
          )}
          <path class="zero" d={`M${at} 13V${BAR.height}`} />
        </g>
      ))}
    </svg>
  );
}

interface UnitColumn {
  id: string;
  label: string;
  title: string;
  shown: (offset: number) => string;
}

/** Columns in order, with labels short enough for their heads. */
const COLUMN_LABELS: Record<string, string> = {
  effect_all: 'all prompts',
  recovery: 'recovery',
  direct: 'direct',
  placebo: 'placebo',
  random_percentile: 'random',
  minimal_detectable: 'detectable',
  n: 'n',
  groups: 'groups',
};

/** The columns that this experiment has values for. */
function columnsOf(data: ExperimentData, grid: ResultGrid): UnitColumn[] {
  const shownAs = (id: string) => (offset: number) =>
    valueWords(data, id, ofUnit(data, grid, id, offset));
  const out: UnitColumn[] = [];
  if (hasValues(data, 'p_adjusted')) {
    out.push({
      id: 'p_adjusted',
      label: 'p adjusted',
      title: arraySentence(data, 'p_adjusted'),
      shown: shownAs('p_adjusted'),
    });
  }
  for (const [id, label] of Object.entries(COLUMN_LABELS)) {
    if (!hasValues(data, id)) continue;
    const title =
      id === 'groups' ? 'Groups of prompts that the interval draws from.' : arraySentence(data, id);
    const name = isDifference(data) ? arrayLabel(data, id) : label;
    out.push({ id, label: name, title, shown: shownAs(id) });
  }
  return out;
}

function Heading({ id, label, title, left }: HeadingProps) {
  const now = view.unitSort.value.replace(/^-/, '') || 'effect';
  const down = !view.unitSort.value.startsWith('-');
  const sorted = now === id;
  return (
    <th
      scope="col"
      class={left ? 'left' : ''}
      aria-sort={sorted ? (down ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        title={title}
        onClick={() => choose({ unitSort: sorted && down ? `-${id}` : id })}
      >
        {label}
        {sorted ? (down ? ' ▾' : ' ▴') : ''}
      </button>
    </th>
  );
}

interface HeadingProps {
  id: string;
  label: string;
  title: string;
  left?: boolean;
}

export function UnitName({ name }: { name: string }) {
  const unit = parseUnit(name);
  const known = unit?.kind === 'head' && stackNames.value.includes(unit.stack);
  if (!unit || !known) return <>{safeText(name, 40)}</>;
  const head = `${unit.layer}.${unit.head}`;
  return (
    <button
      type="button"
      class="link"
      title="Open this head"
      onClick={() => choose({ stack: unit.stack, head, screen: 'head' })}
    >
      {name}
    </button>
  );
}

/** Lines at first; a sweep over neurons has tens of thousands. */
const FIRST = 100;
const AT_MOST = 2000;

const ROUGH =
  'A few groups of prompts carry this effect: its interval is cut to what the groups show and is a rough bound.';

function verdictOf(data: ExperimentData, grid: ResultGrid, offset: number): string {
  const verdict = verdictName(ofUnit(data, grid, 'verdict', offset));
  const unspecific = ofUnit(data, grid, 'unspecific', offset) === 1 ? ', unspecific' : '';
  return verdict ? verdictWord(verdict, numberAttribute(data, 'delta')) + unspecific : '';
}

export function UnitList({ item, method }: { item: Listed; method: number }) {
  const all = useSignal(false);
  const { data, grid } = item;
  const columns = columnsOf(data, grid);
  const verdicts = data.numbers.verdict !== undefined;
  const at = (name: string, offset: number) => ofUnit(data, grid, name, offset);
  const [id, ascending] = [
    view.unitSort.value.replace(/^-/, '') || 'effect',
    view.unitSort.value.startsWith('-'),
  ];
  const offsets = sortedUnits(data, grid, id, method, ascending);
  const delta = numberAttribute(data, 'delta');
  const intervals = hasValues(data, 'ci_low');
  const simultaneous = data.numbers.ci_sim_low !== undefined;
  const [low, high] = simultaneous ? ['ci_sim_low', 'ci_sim_high'] : ['ci_low', 'ci_high'];
  const scale = barScale(data, grid, offsets, [low!, high!]);
  const shown = offsets.slice(0, all.value ? AT_MOST : FIRST);
  const isRough = (offset: number) => at('interval_kind', offset) === 2;
  return (
    <div class="unit-list" tabIndex={0} role="region" aria-label="Every unit">
      <table>
        <thead>
          <tr>
            <Heading id="unit" label="unit" title="In order of the file" />
            {verdicts && <Heading id="verdict" label="verdict" title="Causal units first" left />}
            {grid.methods.map((name, m) =>
              m === method ? (
                <Heading
                  key={name}
                  id="effect"
                  label={safeText(name) || 'effect'}
                  title={`${arraySentence(data, 'effect')} Sorts by its size.`}
                />
              ) : (
                <th key={name} scope="col">
                  <button
                    type="button"
                    title="Intervals and order of this method"
                    onClick={() => choose({ method: m })}
                  >
                    {safeText(name)}
                  </button>
                </th>
              ),
            )}
            <th scope="col" class="left">
              {intervals && (simultaneous ? '95 %, all at once' : '95 %, alone')}
              <BarAxis scale={scale} />
            </th>
            {intervals && simultaneous && (
              <th scope="col" class="left" title="Of each unit by itself">
                95 %, alone
              </th>
            )}
            {columns.map((column) => (
              <Heading key={column.id} {...column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((offset) => {
            const unit = offset % grid.units;
            const rough = isRough(offset) && <span title={ROUGH}>*</span>;
            const range95 = (from: string, to: string) =>
              interval(at(from, offset), at(to, offset)) || '–';
            return (
              <tr key={offset}>
                <th scope="row">
                  <UnitName name={grid.names[unit]!} />
                </th>
                {verdicts && (
                  <td
                    class="left"
                    title={verdictSentence(verdictName(at('verdict', offset)), delta)}
                  >
                    {verdictOf(data, grid, offset)}
                  </td>
                )}
                {grid.methods.map((name, m) => (
                  <td key={name} class="value">
                    {valueWords(data, 'effect', at('effect', m * grid.units + unit))}
                  </td>
                ))}
                <td class="ends">
                  <Bar
                    scale={scale}
                    value={at('effect', offset)}
                    from={at(low!, offset)}
                    to={at(high!, offset)}
                    delta={delta}
                  />{' '}
                  {intervals && range95(low!, high!)}
                  {!simultaneous && rough}
                </td>
                {intervals && simultaneous && (
                  <td class="muted left">
                    {range95('ci_low', 'ci_high')}
                    {rough}
                  </td>
                )}
                {columns.map((column) => (
                  <td key={column.id} class="value">
                    {column.shown(offset)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {shown.some(isRough) && <p class="small">* {ROUGH}</p>}
      {offsets.length > shown.length && !all.value && (
        <button type="button" class="link" onClick={() => (all.value = true)}>
          {offsets.length > AT_MOST
            ? `Show the first ${AT_MOST} of ${offsets.length}`
            : `Show all ${offsets.length}`}
        </button>
      )}
    </div>
  );
}
