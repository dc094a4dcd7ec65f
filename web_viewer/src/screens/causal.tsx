/** What interventions did: grids per method, maps over positions, ranked units, the verdict. */

import { useEffect } from 'preact/hooks';
import type { ExperimentData } from '../format/types';
import { ablateCommand, ablateOnceCommand, patchCommand, verdictCommand } from '../model/commands';
import { findExperiment } from '../model/experiment_names';
import { isDifference, numberAttribute, stacksOf, textAttribute } from '../model/effects';
import { modelName } from '../model/join';
import { short } from '../model/numbers';
import { promptsWords, readingNotes } from '../model/reading_notes';
import { resultGrid, type ResultGrid } from '../model/result_grid';
import {
  arrayLabel,
  arraySentence,
  arraysOf,
  ofUnit,
  sortedUnits,
  valueWords,
} from '../model/results';
import { safeText } from '../model/tokens';
import { namesOf } from '../state/effect_prompts';
import { measuredWords } from '../state/measured';
import { resultLines } from '../state/statistic_lines';
import { choose, view } from '../state/view';
import {
  chosenEffects,
  experiments,
  mainRun,
  ofChosenFile,
  prompt,
  say,
  stackName,
} from '../state/workspace';
import { Absent, Fold, Pick, Snippet, Switch } from '../ui/controls';
import { useKeys } from '../ui/use_keys';
import { PairsHelp } from './absent';
import {
  exportEffects,
  exportTables,
  Grids,
  loadTokens,
  tokensOver,
  type Listed,
} from './causal_grids';
import { UnitList, UnitName } from './causal_list';
import { StackPick } from './overview';
import { Checks, Controls, Ranks, Sets, Tiles, Words } from './causal_verdict';

function listed(): Listed[] {
  return experiments.value.flatMap((one) => {
    const grid = resultGrid(one.data, stackName.value);
    return grid ? [{ ...one, grid }] : [];
  });
}

/** What is shown first is of the chosen file, if it has results; else what the overview shows. */
function chosenItem(all: readonly Listed[]): Listed | undefined {
  const wanted = findExperiment(all, view.experiment.value);
  if (wanted) return wanted;
  const own = ofChosenFile(all);
  const among = own.length > 0 ? own : all;
  return among.find(({ id }) => id === chosenEffects.value?.id) ?? among[0];
}

const SHOWN = 12;

function Largest({ item, array, method }: { item: Listed; array: string; method: number }) {
  const { data, grid } = item;
  const at = (offset: number) => ofUnit(data, grid, array, offset);
  const offsets = sortedUnits(data, grid, array, method)
    .filter((offset) => !Number.isNaN(at(offset)))
    .slice(0, SHOWN);
  const top = Math.abs(at(offsets[0] ?? 0)) || 1;
  return (
    <section aria-label="Units by size">
      <h2>{largestWords(data, grid, array, method)}</h2>
      <table class="ranking">
        <tbody>
          {offsets.map((offset) => {
            const value = at(offset);
            return (
              <tr key={offset}>
                <td>
                  <UnitName name={grid.names[offset % grid.units]!} />
                </td>
                <td class="bar">
                  <span
                    class={value < 0 ? 'minus' : 'plus'}
                    style={{ width: `${(100 * Math.abs(value)) / top}%` }}
                  />
                </td>
                <td class="value">{valueWords(data, array, value)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {grid.rows.length > 0 && (
        <button type="button" class="link" onClick={() => choose({ units: 'list' })}>
          All {grid.units} as a list, with intervals
        </button>
      )}
    </section>
  );
}

function largestWords(
  data: ExperimentData,
  { methods }: ResultGrid,
  array: string,
  method: number,
): string {
  const name = safeText(methods[method] ?? '');
  if (isDifference(data)) return `Where the captures differ most: ${name} |b − a|`;
  return `Largest ${arrayLabel(data, array)}${methods.length > 1 ? ` under ${name}` : ''}`;
}

function NoResults() {
  const model = modelName(mainRun.value!.summary);
  return (
    <Absent title="No ablation or patching results are open">
      <p>
        A map says where a head looks; only an intervention says whether that matters. Each of these
        makes a file to drop here. At once, for this prompt alone and so without intervals:
      </p>
      <Snippet text={ablateOnceCommand(model, prompt.value?.text ?? '')} what="Command" />
      <p>With pairs of prompts that differ in what decides the answer:</p>
      <Snippet text={verdictCommand(model)} what="Command" />
      <Snippet text={ablateCommand(model, [])} what="Command" />
      <Snippet text={patchCommand(model, [])} what="Command" />
      <PairsHelp />
    </Absent>
  );
}

/** What stands above the positions of a map. */
function positionWords(item: Listed): string {
  const { data, grid } = item;
  if (grid.columnAxis !== 'position') return '';
  const tokens = tokensOver(item);
  const run = {
    noise: ' The clean run was broken with values of the corrupt one.',
    denoise: ' The corrupt run was mended with values of the clean one.',
  }[textAttribute(data, 'direction')];
  const corrupt = tokens.some(({ corrupt }) => corrupt !== '')
    ? ', in orange where the corrupt prompt differs'
    : '';
  const whose = tokens.length > 0 ? `; the tokens are those of the first prompt${corrupt}` : '';
  return `Positions count stored ids${whose}.${run ?? ''}`;
}

function Toolbar({ all, item, array, method, layout }: ToolbarProps) {
  const { data, grid } = item;
  const arrays = arraysOf(data);
  const names = namesOf(all);
  return (
    <div class="toolbar">
      <Pick
        label="Experiment"
        value={item.id}
        title={names.find(({ id }) => id === item.id)?.name}
        options={names.map(({ id, name }) => ({ value: id, label: name }))}
        onPick={(experiment) => choose({ experiment, method: 0, array: '', unitSort: '' })}
      />
      {stacksOf(data).length > 1 && <StackPick />}
      {grid.rows.length > 0 && (
        <Switch
          label="How units are shown"
          value={layout}
          options={[
            { value: 'grid', label: 'Grid' },
            { value: 'list', label: 'List' },
          ]}
          onPick={(units) => choose({ units: units as 'grid' })}
        />
      )}
      {layout === 'grid' && arrays.length > 1 && (
        <Pick
          label="Show"
          value={array}
          title={arraySentence(data, array)}
          options={arrays.map((name) => ({
            value: name,
            label: arrayLabel(data, name),
            title: arraySentence(data, name),
          }))}
          onPick={(name) => choose({ array: name })}
        />
      )}
      {grid.methods.length > 1 && (
        <Pick
          label="Method"
          title="Of the list and of the rank correlations"
          value={String(method)}
          options={grid.methods.map((name, at) => ({ value: String(at), label: safeText(name) }))}
          onPick={(value) => choose({ method: Number(value) })}
        />
      )}
      <span class="spring" />
      <span class="small">{contextWords(data)}</span>
    </div>
  );
}

interface ToolbarProps {
  all: readonly Listed[];
  item: Listed;
  array: string;
  method: number;
  layout: 'grid' | 'list';
}

/** “logit-diff, 200 prompts in 40 groups, noise floor 3.8e-6” */
function contextWords(data: ExperimentData): string {
  const metric = isDifference(data) ? arrayLabel(data, 'effect') : textAttribute(data, 'metric');
  const parts = [safeText(metric), promptsWords(data)];
  const floor = numberAttribute(data, 'noise_floor');
  if (!Number.isNaN(floor) && !isDifference(data)) parts.push(`noise floor ${short(floor, 2)}`);
  return parts.filter(Boolean).join(', ');
}

const methodIn = (grid: ResultGrid): number =>
  view.method.value < grid.methods.length ? view.method.value : 0;

/** The list is one of effects; which array the grids show can be chosen. */
function arrayIn({ data, grid }: Listed): string {
  const wanted = view.array.value;
  return layoutIn(grid) === 'grid' && arraysOf(data).includes(wanted) ? wanted : 'effect';
}

const layoutIn = (grid: ResultGrid): 'grid' | 'list' =>
  grid.rows.length > 0 ? view.units.value : 'list';

/** What the key does: the tables as they are shown, of a list its numbers. */
function exportShown(): void {
  const item = chosenItem(listed());
  if (!item) say('There are no results here to export.');
  else if (layoutIn(item.grid) === 'list') exportEffects(item);
  else exportTables(item, arrayIn(item));
}

export function CausalScreen() {
  useKeys({ e: exportShown });
  const all = listed();
  const item = chosenItem(all);
  const owner = item?.run;
  useEffect(() => {
    // Without tokens the axis has its numbers.
    if (owner) loadTokens(owner).catch(() => {});
  }, [owner?.id]);
  if (!item) return <NoResults />;
  const { data, grid } = item;
  const array = arrayIn(item);
  const method = methodIn(grid);
  const layout = layoutIn(grid);
  const paragraph = data.texts.paragraph?.[0];
  const withheld = data.texts.withheld?.[0];
  const positions = positionWords(item);
  return (
    <div class="overview">
      <Toolbar all={all} item={item} array={array} method={method} layout={layout} />
      <div class="columns">
        <div class="stage">
          {layout === 'grid' ? (
            <Grids key={item.id} item={item} array={array} />
          ) : (
            <UnitList key={item.id} item={item} method={method} />
          )}
        </div>
        <aside>
          {withheld && <p class="warning">Verdicts are withheld: {safeText(withheld, 600)}</p>}
          <Tiles data={data} />
          {paragraph && (
            <Fold title={withheld ? 'What can be said all the same' : 'What the verdict says'} open>
              <p class="paragraph" tabIndex={0}>
                {safeText(paragraph, 6000)}
              </p>
            </Fold>
          )}
          {paragraph && <Words data={data} />}
          <Ranks data={data} method={method} />
          <Sets data={data} />
          <Controls data={data} />
          {positions && <p class="small">{positions}</p>}
          {(layout === 'grid' || grid.rows.length === 0) && (
            <Largest item={item} array={array} method={method} />
          )}
          <section aria-label="How to read these numbers" class="reading">
            <p class="small">{measuredWords(item)}</p>
            {readingNotes(data).map((note) => (
              <p key={note} class="small">
                {safeText(note, 1000)}
              </p>
            ))}
            <Checks data={data} />
          </section>
          <Fold title="Take these numbers elsewhere">
            <button type="button" onClick={() => exportEffects(item)}>
              CSV of all units, with intervals
            </button>{' '}
            {grid.rows.length > 0 && (
              <button type="button" onClick={() => exportTables(item, array)}>
                Tables as SVG
              </button>
            )}
            <Snippet
              text={resultLines(item, array, layout === 'grid' ? null : method)}
              what="Code"
            />
          </Fold>
        </aside>
      </div>
    </div>
  );
}
