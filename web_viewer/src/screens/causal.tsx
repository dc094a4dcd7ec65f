/** What interventions did: grids per method, maps over positions, ranked units, the verdict. */

import { signal, useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { readPackedTokens } from '../io/read_prompt';
import type { ExperimentData } from '../format/types';
import { drawColorBar } from '../draw/figure';
import type { Ink } from '../draw/ink';
import { cellAt, drawMatrices, matrixLayout, type MatrixCell } from '../draw/matrix';
import type { ScaleSpec } from '../draw/scale';
import type { Size } from '../draw/viewport';
import { ablateCommand, h5pyEffect, patchCommand, verdictCommand } from '../model/commands';
import { modelName } from '../model/join';
import { interval, short, signed } from '../model/numbers';
import {
  arrayLabel,
  arraysOf,
  describeUnit,
  isSigned,
  ranked,
  resultGrid,
  valueOf,
  type ResultGrid,
} from '../model/results';
import { safeText, tokenLabel } from '../model/tokens';
import { divergingMap } from '../state/theme';
import { choose, view } from '../state/view';
import { table } from '../state/heads';
import { experiments, mainRun, type OpenRun } from '../state/workspace';
import { Canvas, offsetOf } from '../ui/canvas';
import { Absent, Fold, Pick, Snippet } from '../ui/controls';

interface Listed {
  id: string;
  run: OpenRun;
  data: ExperimentData;
  grid: ResultGrid;
}

function listed(): Listed[] {
  return experiments.value.flatMap(({ id, run, data }) => {
    const grid = resultGrid(data);
    return grid ? [{ id, run, data, grid }] : [];
  });
}

const TOKEN_ROOM = 78;

/** Tokens of the first prompt of a file, for the axes of positions. */
const firstTokens = signal<{ run: number; texts: string[] }>({ run: 0, texts: [] });

async function loadTokens(run: OpenRun): Promise<void> {
  const [id] = run.summary.promptIds;
  const texts =
    id === undefined
      ? await readPackedTokens(run.file, 0, (await run.file.numbers('/offsets')).values[1] ?? 0)
      : { texts: await run.file.texts(`/prompts/${id}/tokens/text`) };
  firstTokens.value = { run: run.id, texts: texts?.texts ?? [] };
}

function tokensUnder({ run, grid, data }: Listed): string[] {
  const { run: owner, texts } = firstTokens.value;
  if (grid.columnAxis !== 'position' || owner !== run.id) return [];
  return data.positions.map((position) => tokenLabel(texts[position] ?? '', 10));
}

function scaleOf({ data }: Listed, array: string): ScaleSpec {
  const values = data.numbers[array]?.values ?? new Float64Array(0);
  let top = 0;
  for (const value of values) if (Math.abs(value) > top) top = Math.abs(value);
  return isSigned(array)
    ? { kind: 'linear', low: -top, high: top, map: divergingMap(), diverging: true }
    : { kind: 'linear', low: 0, high: top, map: view.color.value };
}

function Grids({ item, array }: { item: Listed; array: string }) {
  const size = useSignal<Size>({ width: 600, height: 400 });
  const at = useSignal<MatrixCell | null>(null);
  const pointer = useSignal({ x: 0, y: 0 });
  const { data, grid } = item;
  const tokens = tokensUnder(item);
  const layout = useComputed(() =>
    matrixLayout(
      grid.methods.length,
      grid.rows.length,
      grid.columns.length,
      size.value.width,
      size.value.height,
      tokensUnder(item).length > 0 ? TOKEN_ROOM : undefined,
    ),
  );
  const offsetOfCell = (cell: MatrixCell) =>
    cell.matrix * grid.units + cell.row * grid.columns.length + cell.column;
  const draw = (context: CanvasRenderingContext2D, place: Size, ink: Ink) => {
    if (place.width !== size.peek().width) size.value = place;
    const scale = scaleOf(item, array);
    const matrices = grid.methods.map((title, matrix) => ({
      title: safeText(title) || arrayLabel(array),
      values: (row: number, column: number) =>
        valueOf(data, array, offsetOfCell({ matrix, row, column })),
    }));
    const labels = { rows: grid.rows, columns: grid.columns, tokens };
    drawMatrices(context, ink, layout.value, matrices, labels, scale, at.value);
    const bar = { x: place.width - 196, y: place.height - 30, width: 180, height: 8 };
    drawColorBar(context, ink, bar, scale, (value) => short(value));
  };
  const cell = at.value;
  const lines = cell ? describeUnit(data, grid, offsetOfCell(cell)) : [];
  const name = cell ? grid.names[offsetOfCell(cell) % grid.units]! : '';
  return (
    <div class="causal-grids" style={{ minHeight: `${layout.value.height}px` }}>
      <Canvas
        draw={draw}
        label={`${arrayLabel(array)} of ${grid.units} units under ${grid.methods.join(', ')}`}
        onPointerMove={(event) => {
          pointer.value = offsetOf(event);
          const { x, y } = pointer.value;
          at.value = cellAt(layout.value, grid.rows.length, grid.columns.length, x, y);
        }}
        onPointerLeave={() => (at.value = null)}
        onClick={() => {
          if (name && table.value.index.has(name)) choose({ head: name });
        }}
        onDblClick={() => {
          if (name && table.value.index.has(name)) choose({ head: name, screen: 'head' });
        }}
      />
      {cell && (
        <div
          class="tip"
          style={{
            left: `${Math.min(pointer.value.x + 14, size.value.width - 250)}px`,
            top: `${pointer.value.y + 14}px`,
            width: '240px',
          }}
        >
          <strong>{safeText(name)}</strong> {safeText(grid.methods[cell.matrix] ?? '')}
          {lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </div>
      )}
    </div>
  );
}

const SHOWN = 40;

function Ranking({ item, array, method }: { item: Listed; array: string; method: number }) {
  const all = useSignal(false);
  const { data, grid } = item;
  const offsets = ranked(data, grid, array, method);
  const top = Math.abs(valueOf(data, array, offsets[0] ?? 0)) || 1;
  const shown = all.value ? offsets : offsets.slice(0, SHOWN);
  return (
    <section aria-label="Units by size">
      <h2>
        Largest {arrayLabel(array)}
        {grid.methods.length > 1 && ` under ${safeText(grid.methods[method] ?? '')}`}
      </h2>
      <table class="ranking">
        <tbody>
          {shown.map((offset) => {
            const value = valueOf(data, array, offset);
            const name = grid.names[offset % grid.units]!;
            const range =
              array === 'effect'
                ? interval(valueOf(data, 'ci_low', offset), valueOf(data, 'ci_high', offset))
                : '';
            return (
              <tr key={offset}>
                <td>
                  {table.value.index.has(name) ? (
                    <button
                      type="button"
                      class="link"
                      title="Open this head"
                      onClick={() => choose({ head: name, screen: 'head' })}
                    >
                      {safeText(name, 24)}
                    </button>
                  ) : (
                    safeText(name, 24)
                  )}
                </td>
                <td class="bar">
                  <span
                    class={value < 0 ? 'minus' : 'plus'}
                    style={{ width: `${(100 * Math.abs(value)) / top}%` }}
                  />
                </td>
                <td class="value">{isSigned(array) ? signed(value) : short(value)}</td>
                <td class="muted">{range}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {offsets.length > SHOWN && (
        <button type="button" class="link" onClick={() => (all.value = !all.value)}>
          {all.value ? 'Show fewer' : `Show all ${offsets.length}`}
        </button>
      )}
    </section>
  );
}

function Controls({ data }: { data: ExperimentData }) {
  const {
    controls = [],
    control_results: results = [],
    control_details: details = [],
  } = data.texts;
  if (controls.length === 0) return null;
  return (
    <Fold title={`Controls: ${controls.length}`}>
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

export function CausalScreen() {
  const all = listed();
  const run = mainRun.value!;
  const item = all.find(({ id }) => id === view.experiment.value) ?? all[0];
  const owner = item?.run;
  useEffect(() => {
    // Without tokens the axis has its numbers.
    if (owner) loadTokens(owner).catch(() => {});
  }, [owner?.id]);
  if (!item) {
    const model = modelName(run.summary);
    return (
      <Absent title="No ablation or patching results are open">
        <p>
          A map says where a head looks; only an intervention says whether that matters. Each of
          these makes a file to drop here:
        </p>
        <Snippet text={verdictCommand(model)} what="Command" />
        <Snippet text={ablateCommand(model, [])} what="Command" />
        <Snippet text={patchCommand(model, [])} what="Command" />
      </Absent>
    );
  }
  const { data, grid } = item;
  const arrays = arraysOf(data);
  const array = arrays.includes(view.array.value) ? view.array.value : (arrays[0] ?? 'effect');
  const method = view.method.value < grid.methods.length ? view.method.value : 0;
  const paragraph = data.texts.paragraph?.[0];
  const withheld = data.texts.withheld?.[0];
  const isPatch = data.attributes.kind === 'patch';
  return (
    <div class="overview">
      <div class="toolbar">
        <Pick
          label="Experiment"
          value={item.id}
          options={all.map(({ id, run: owner }) => ({
            value: id,
            label: id,
            title: owner.summary.name,
          }))}
          onPick={(experiment) => choose({ experiment, method: 0, array: '' })}
        />
        <Pick
          label="Show"
          value={array}
          options={arrays.map((name) => ({ value: name, label: arrayLabel(name) }))}
          onPick={(name) => choose({ array: name })}
        />
        {grid.methods.length > 1 && (
          <Pick
            label="List for"
            value={String(method)}
            options={grid.methods.map((name, at) => ({ value: String(at), label: safeText(name) }))}
            onPick={(value) => choose({ method: Number(value) })}
          />
        )}
        <span class="spring" />
        <span class="small">
          {safeText(String(data.attributes.metric ?? ''))}
          {isPatch && `, ${safeText(String(data.attributes.direction ?? ''))}`}, noise floor{' '}
          {short(Number(data.attributes.noise_floor ?? NaN), 2)}
        </span>
      </div>
      <div class="columns">
        <div class="stage">
          {grid.rows.length > 0 ? (
            <Grids key={item.id} item={item} array={array} />
          ) : (
            <p class="absent">These units fill no grid; the list beside has them all.</p>
          )}
        </div>
        <aside>
          {withheld && <p class="warning">Verdicts are withheld: {safeText(withheld, 600)}</p>}
          {paragraph && (
            <Fold title="What the verdict says" open>
              <p class="paragraph" tabIndex={0}>
                {safeText(paragraph, 6000)}
              </p>
            </Fold>
          )}
          {data.texts.notes?.map((note) => (
            <p key={note} class="small">
              {safeText(note, 1000)}
            </p>
          ))}
          <Controls data={data} />
          {grid.columnAxis === 'position' && (
            <p class="small">
              Positions count stored ids
              {tokensUnder(item).length > 0 && '; the tokens are those of the first prompt'}.
              {isPatch &&
                (data.attributes.direction === 'noise'
                  ? ' The clean run was broken with values of the corrupt one.'
                  : ' The corrupt run was mended with values of the clean one.')}
            </p>
          )}
          <Ranking item={item} array={array} method={method} />
          <Fold title="Read these effects with h5py">
            <Snippet text={h5pyEffect(item.run.summary.name, data.name)} what="Code" />
          </Fold>
        </aside>
      </div>
    </div>
  );
}
