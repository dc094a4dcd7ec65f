/** What interventions did: grids per method, maps over positions, ranked units, the verdict. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExperimentData } from '../format/types';
import { ablateCommand, h5pyEffect, patchCommand, verdictCommand } from '../model/commands';
import { modelName } from '../model/join';
import { interval, short, signed } from '../model/numbers';
import { arrayLabel, arraysOf, isSigned, ranked, resultGrid, valueOf } from '../model/results';
import { safeText } from '../model/tokens';
import { table } from '../state/heads';
import { choose, view } from '../state/view';
import { experiments, mainRun } from '../state/workspace';
import { Absent, Fold, Pick, Snippet } from '../ui/controls';
import { exportTables, Grids, loadTokens, tokensUnder, type Listed } from './causal_grids';

function listed(): Listed[] {
  return experiments.value.flatMap(({ id, run, data }) => {
    const grid = resultGrid(data);
    return grid ? [{ id, run, data, grid }] : [];
  });
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
          <Fold title="Take these numbers elsewhere">
            {grid.rows.length > 0 && (
              <button type="button" onClick={() => exportTables(item, array)}>
                Tables as SVG
              </button>
            )}
            <Snippet text={h5pyEffect(item.run.summary.name, data.name)} what="Code" />
          </Fold>
        </aside>
      </div>
    </div>
  );
}
