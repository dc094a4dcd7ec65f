/** All heads as a table of numbers: one line a head, sorted by any column. */

import { labelsOf } from '../model/labels';
import { rangeSentence, rangeWords, type HeadEffect } from '../model/effects';
import { nameOf, type Column } from '../model/heads';
import { interval, short, signed } from '../model/numbers';
import { table } from '../state/heads';
import { hovered, order, selectHead, selected } from '../state/selection';
import { choose, view } from '../state/view';
import { chosenEffects } from '../state/workspace';
import { useVisibleRows } from '../ui/visible_rows';
import { verdictTitle, verdictWords } from './head_words';

const ROW = 26;

function sortBy(id: string): void {
  const again = view.sort.peek() === id;
  choose({ sort: id, ascending: again ? !view.ascending.peek() : false });
}

type HeadingProps = Pick<Column, 'id' | 'label' | 'sentence'> & { left?: boolean };

function Heading({ id, label, sentence, left }: HeadingProps) {
  const sorted = view.sort.value === id;
  const direction = view.ascending.value ? 'ascending' : 'descending';
  return (
    <th scope="col" class={left ? 'left' : ''} aria-sort={sorted ? direction : 'none'}>
      <button type="button" title={sentence} onClick={() => sortBy(id)}>
        {label}
        {sorted ? (view.ascending.value ? ' ▴' : ' ▾') : ''}
      </button>
    </th>
  );
}

/** Of the few that have none for all at once, the one that they have says so. */
function statedInterval(effect: HeadEffect): string {
  const { simultaneousLow, simultaneousHigh } = effect;
  const kind = chosenEffects.value?.effects.hasSimultaneous ? rangeWords(effect) : '';
  return interval(simultaneousLow, simultaneousHigh) || kind || interval(effect.low, effect.high);
}

const intervalHeading = (atOnce: boolean): string =>
  atOnce
    ? 'They hold for all units at once; point at one for that of its head alone.'
    : 'Of each head alone; the file has none that hold for all at once.';

const hasEffects = (): boolean => table.value.columns.has('effect');

function Row({ index, columns }: { index: number; columns: Column[] }) {
  const { heads, effects } = table.value;
  const name = nameOf(heads[index]!);
  const effect = effects[index];
  return (
    <tr
      class={index === selected.value ? 'chosen' : ''}
      style={{ height: `${ROW}px` }}
      onPointerEnter={() => (hovered.value = index)}
      onClick={() => selectHead(index)}
      onDblClick={() => choose({ head: name, screen: 'head' })}
    >
      <th scope="row">
        <button type="button" class="link" onClick={() => selectHead(index)}>
          {name}
        </button>
      </th>
      {effect !== undefined && hasEffects() && (
        <>
          <td class="value">{effect ? signed(effect.effect) : ''}</td>
          <td class="muted" title={effect ? rangeSentence(effect) : undefined}>
            {effect ? statedInterval(effect) : ''}
          </td>
          <td class="muted" title={verdictTitle(effect)}>
            {effect ? verdictWords(effect) : ''}
          </td>
        </>
      )}
      <td class="muted">
        {labelsOf(table.value, index)
          .map(({ label }) => label)
          .join(', ')}
      </td>
      {columns.map(({ id, values, deviations }) => {
        const deviation = deviations?.[index];
        const spread = deviation !== undefined && !Number.isNaN(deviation);
        return (
          <td key={id} class="value" title={spread ? `± ${short(deviation)}` : undefined}>
            {short(values[index]!)}
          </td>
        );
      })}
    </tr>
  );
}

export function HeadList() {
  const rows = order.value;
  const { first, last, scroller } = useVisibleRows(rows.length, ROW);
  const columns = [...table.value.columns.values()].filter(
    ({ kind, values }) => kind !== 'effect' && values.some((value) => !Number.isNaN(value)),
  );
  const effect = table.value.columns.get('effect');
  const atOnce = chosenEffects.value?.effects.hasSimultaneous ?? false;
  return (
    <div
      class="grid-scroll head-list"
      {...scroller}
      tabIndex={0}
      role="region"
      aria-label="Table of heads"
      onPointerLeave={() => (hovered.value = -1)}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            <Heading id="" label="head" sentence="In order of the model" />
            {effect && (
              <>
                <Heading {...effect} />
                <Heading
                  id="size"
                  left
                  label={atOnce ? '95 %, all at once' : '95 %, alone'}
                  sentence={`${intervalHeading(atOnce)} Sorts by the size of the effect`}
                />
                <th scope="col" class="left">
                  <span>verdict</span>
                </th>
              </>
            )}
            <th scope="col" class="left">
              <span title="Statistics above a threshold">labels</span>
            </th>
            {columns.map((column) => (
              <Heading key={column.id} {...column} />
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: `${first * ROW}px` }} aria-hidden="true" />
          {rows.slice(first, last).map((index) => (
            <Row key={index} index={index} columns={columns} />
          ))}
          <tr style={{ height: `${(rows.length - last) * ROW}px` }} aria-hidden="true" />
        </tbody>
      </table>
    </div>
  );
}
