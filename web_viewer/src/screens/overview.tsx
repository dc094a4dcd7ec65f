/** The first screen: which heads are there, what they look like, and which of them matter. */

import { SCALES } from '../draw/scale';
import { SEQUENTIAL } from '../draw/color';
import { inductionRows, namedHeads, sentenceOf, type NamedHead } from '../model/named';
import { labelsOf } from '../model/labels';
import { nameOf } from '../model/heads';
import { plural, short } from '../model/numbers';
import {
  filter,
  kept,
  points,
  selectHead,
  selected,
  statistic,
  toggleTray,
} from '../state/selection';
import { chosenPromptsWords, namesOf } from '../state/effect_prompts';
import { promptMeans } from '../state/prompts';
import { effectLines, statisticLines } from '../state/statistic_lines';
import { adjust, choose, view } from '../state/view';
import { table } from '../state/heads';
import {
  allEffects,
  chosenEffects,
  chosenMethod,
  experiments,
  mainRun,
  otherCaptures,
  prompt,
  results,
  say,
  stackName,
  stackNames,
} from '../state/workspace';
import { verdictWord } from '../model/effects';
import { modelName } from '../model/join';
import { captureCommand, verdictCommand } from '../model/commands';
import { safeText } from '../model/tokens';
import { Absent, Fold, Pick, Snippet, Switch } from '../ui/controls';
import { useKeys } from '../ui/use_keys';
import { PairsHelp } from './absent';
import { csv, download } from '../state/export';
import { WHOLE_MAP } from '../state/hash';
import { after, cycleSort } from '../state/keys';
import { NotesExport } from './notes';
import { exportGrid, HeadGrid, gridMode } from './overview_grid';
import { mapsChoice, MapsNote } from './overview_maps';
import { HeadList } from './overview_table';
import { exportScatter, HeadScatter, PromptsPick } from './overview_scatter';
import { effectSentence, TRAY, rangeTitle, verdictTitle, verdictWords } from './head_words';

const SCALE_LABELS = { sqrt: '√', linear: 'linear', log: 'log', rank: 'rank' };

/** Encoder–decoder models have three kinds of attention. */
export function StackPick() {
  const stacks = stackNames.value;
  if (stacks.length < 2) return null;
  return (
    <Pick
      label="Attention"
      title="Heads of the encoder, of the decoder, and those with which the decoder reads the encoder"
      value={stackName.value}
      options={stacks.map((value) => ({ value, label: value }))}
      onPick={(value) => choose({ stack: value as 'self', ...WHOLE_MAP })}
    />
  );
}

function Toolbar() {
  const { columns } = table.value;
  const all = [...columns.values()];
  const usable = all.filter(({ values }) => values.some((value) => !Number.isNaN(value)));
  const result = filter.value;
  const count = kept.value.filter(Boolean).length;
  const mode = gridMode();
  return (
    <div class="toolbar">
      <Switch
        label="What the grid shows"
        value={mode}
        options={[
          {
            value: 'map',
            label: 'Maps',
            ...mapsChoice(),
          },
          {
            value: 'statistic',
            label: 'Statistic',
            title: statistic.value
              ? 'A number for each head (t)'
              : 'The file holds no statistics of heads',
            disabled: !statistic.value,
          },
          {
            value: 'effect',
            label: 'Effect',
            title: columns.has('effect')
              ? 'What changes without the head (t)'
              : 'No open file holds effects of heads of this model',
            disabled: !columns.has('effect'),
          },
          { value: 'table', label: 'Table', title: 'All numbers, one line a head (t)' },
        ]}
        onPick={(show) => choose({ show: show as 'map' })}
      />
      <StackPick />
      <Pick
        label="Statistic"
        title={statistic.value?.sentence}
        value={statistic.value?.id ?? ''}
        options={usable
          .filter(({ kind }) => kind !== 'effect')
          .map(({ id, label, sentence }) => ({ value: id, label, title: sentence }))}
        onPick={(id) => choose({ statistic: id, brush: [] })}
      />
      <Pick
        label="Sort"
        value={view.sort.value}
        options={[
          { value: '', label: 'as in the model' },
          ...usable.map(({ id, label }) => ({ value: id, label: `by ${label}` })),
        ]}
        onPick={(sort) => choose({ sort })}
      />
      {view.sort.value && (
        <button
          type="button"
          class="direction"
          aria-label={view.ascending.value ? 'Smallest first' : 'Largest first'}
          title={view.ascending.value ? 'Smallest first' : 'Largest first'}
          onClick={() => choose({ ascending: !view.ascending.value })}
        >
          {view.ascending.value ? '▴' : '▾'}
        </button>
      )}
      <label class="filter">
        <span>Filter</span>
        <input
          type="search"
          spellcheck={false}
          placeholder="entropy<1.5 & layer>8"
          title={`Names: layer, head, ${[...columns.keys()].join(', ')}, verdict. Joined by & | ! and brackets.`}
          value={view.filter.value}
          aria-invalid={!result.ok}
          onInput={(event) => adjust({ filter: event.currentTarget.value })}
        />
      </label>
      {result.ok ? (
        count < table.value.heads.length && (
          <span class="small" role="status">
            {count} of {table.value.heads.length} heads
            {view.brush.value.length > 0 && (
              <button
                type="button"
                class="link"
                title="Clear the box"
                aria-label="Clear the box"
                onClick={() => choose({ brush: [] })}
              >
                ×
              </button>
            )}
          </span>
        )
      ) : (
        <span class="small wrong" role="status">
          {result.message}
        </span>
      )}
      <span class="spring" />
      {mode !== 'table' && <ColorPicks />}
    </div>
  );
}

export function ColorPicks() {
  return (
    <>
      <Pick
        label="Scale"
        hideLabel
        title="How weights become colours (s)"
        value={view.scale.value}
        options={SCALES.map((value) => ({ value, label: SCALE_LABELS[value] }))}
        onPick={(scale) => choose({ scale: scale as 'sqrt' })}
      />
      <Pick
        label="Colours"
        hideLabel
        title="Colour map (c)"
        value={view.color.value}
        options={SEQUENTIAL.map((value) => ({ value, label: value }))}
        onPick={(color) => choose({ color: color as 'cividis' })}
      />
    </>
  );
}

function HeadChip({ named: { head, name } }: { named: NamedHead }) {
  if (head === null) return null;
  return (
    <button type="button" class="chip" onClick={() => selectHead(head)}>
      {name}
    </button>
  );
}

function CaptureChip({ file }: { file: string | null }) {
  if (file === null) return null;
  return (
    <button type="button" class="chip" onClick={() => choose({ mainFile: file, prompt: '' })}>
      choose {safeText(file, 40)}
    </button>
  );
}

/** Of the text whose statistics are shown; not known of means over prompts. */
function rowsThatRepeat(): number | undefined {
  const tokens = promptMeans.value ? undefined : prompt.value?.queryTokens[stackName.value];
  return tokens && inductionRows(tokens.ids ?? tokens.texts);
}

/** Once a head is chosen, the sentences make room for it. */
function FirstLook({ brief }: { brief: boolean }) {
  const effects = chosenEffects.value?.effects ?? null;
  const named = namedHeads(table.value, effects, chosenMethod.value, {
    captures: otherCaptures.value,
    means: promptMeans.value?.prompts ?? 0,
    rows: rowsThatRepeat(),
  });
  const prompts = points.value.all ? effects?.prompts : null;
  return (
    <section class={`first-look${brief ? ' brief' : ''}`} aria-label="Heads to look at first">
      {named.map((each) =>
        brief ? (
          <div key={each.title} class="named" title={`${sentenceOf(each)} ${each.note}`.trim()}>
            <h2>{each.title}</h2> <HeadChip named={each} />
          </div>
        ) : (
          <div key={each.title} class="named" title={each.note || undefined}>
            <h2>{each.title}:</h2>{' '}
            <p>
              {each.before}
              <HeadChip named={each} />
              {each.after} <CaptureChip file={each.file} />
            </p>
          </div>
        ),
      )}
      {prompts && (
        <p class="small">
          Heads are named by the {prompts.measured} prompts that have intervals, not by all{' '}
          {prompts.all}.
        </p>
      )}
    </section>
  );
}

/** Everything that is known of every head, one line a head. */
function exportHeads(): void {
  const { heads, columns, effects } = table.peek();
  const shown = [...columns.values()];
  const lines: (string | number)[][] = [['head', ...shown.map(({ id }) => id), 'verdict']];
  heads.forEach((head, at) => {
    const values = shown.map(({ values: of }) => (Number.isNaN(of[at]!) ? '' : of[at]!));
    const effect = effects[at];
    lines.push([nameOf(head), ...values, effect?.verdict ? verdictWord(effect.verdict) : '']);
  });
  const name = mainRun.peek()?.summary.name.replace(/\.h5$/, '') ?? 'run';
  download(`${name}-heads.csv`, new Blob([csv(lines)], { type: 'text/csv' }));
}

function Selected() {
  const index = selected.value;
  const head = table.value.heads[index];
  if (!head) return null;
  const name = nameOf(head);
  const column = statistic.value;
  const effect = table.value.effects[index];
  return (
    <section class="selected" aria-label="Selected head">
      <h2>
        Head {name}{' '}
        {labelsOf(table.value, index).map(({ label, reason }) => (
          <span key={label} class="label" title={reason}>
            {label}
          </span>
        ))}
      </h2>
      <p>
        {column && `${column.label} ${short(column.values[index]!)}. `}
        {effect ? (
          <span title={rangeTitle(index)}>{capital(effectSentence(index))}.</span>
        ) : (
          'No causal result for this head.'
        )}
        {effect?.verdict && (
          <span title={verdictTitle(effect)}> Verdict: {verdictWords(effect)}.</span>
        )}
        {effect && ` ${chosenPromptsWords.value}`}
      </p>
      <button type="button" class="primary" onClick={() => choose({ screen: 'head' })}>
        Open head {name}
      </button>
      <button type="button" title={TRAY} onClick={() => toggleTray(name)}>
        {view.tray.value.includes(name) ? 'Remove from tray' : 'Add to tray'}
      </button>
    </section>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function EffectPicks() {
  const all = allEffects.value;
  const chosen = chosenEffects.value;
  if (!chosen) return null;
  const { methods, metric, headsPerUnit, otherUnits, withheld } = chosen.effects;
  const names = namesOf(all);
  return (
    <div class="effect-picks">
      {all.length > 1 && (
        <Pick
          label="Effects of"
          title={names.find(({ id }) => id === chosen.id)?.name}
          value={chosen.id}
          options={names.map(({ id, name }) => ({ value: id, label: name }))}
          onPick={(experiment) => choose({ experiment, method: 0, brush: [] })}
        />
      )}
      {methods.length > 1 && (
        <Pick
          label={all.length > 1 ? 'Method' : `Effect on ${metric} by`}
          hideLabel={all.length > 1}
          title="What was done to the heads"
          value={String(chosenMethod.value)}
          options={methods.map((label, at) => ({ value: String(at), label: label || 'the edit' }))}
          onPick={(method) => choose({ method: Number(method), brush: [] })}
        />
      )}
      <PromptsPick effects={chosen.effects} />
      {headsPerUnit > 1 && (
        <p class="small">
          Units are key-value groups: the {headsPerUnit} heads of each were changed together, and
          each of them shows the effect of its group.
        </p>
      )}
      {otherUnits > 0 && (
        <p class="small">
          {plural(otherUnits, 'other unit')} of this experiment {otherUnits === 1 ? 'is' : 'are'} no
          single head:{' '}
          <button type="button" class="link" onClick={() => choose({ screen: 'causal' })}>
            show all
          </button>
        </p>
      )}
      {withheld && <p class="warning">Verdicts are withheld: {safeText(withheld, 600)}</p>}
    </div>
  );
}

/** A zoom belongs to what is drawn. */
const scatterKey = (): string =>
  [statistic.value?.id, chosenEffects.value?.id, chosenMethod.value, points.value.all].join();

/** What stands in the place of the scatter where no effect is of a head. */
function NoEffects() {
  const others = results.value;
  if (others.length > 0) {
    return (
      <section class="absent-small">
        <h2>Effects of other parts</h2>
        <p>
          The results that are open are not of single heads:{' '}
          {namesOf(others)
            .map(({ name }) => name)
            .join('; ')}
          .
        </p>
        <button type="button" onClick={() => choose({ screen: 'causal' })}>
          Show them
        </button>
      </section>
    );
  }
  return (
    <section class="absent-small">
      <h2>Do these heads matter?</h2>
      <p>
        Attention is not effect, and no open file has causal results of this model. This makes one
        from pairs of prompts that differ in what decides the answer; drop it here beside this file:
      </p>
      <Snippet text={verdictCommand(modelName(mainRun.value!.summary))} what="Command" />
      <PairsHelp />
    </section>
  );
}

function Elsewhere() {
  const lines = gridMode() === 'effect' ? effectLines() : statisticLines();
  return (
    <Fold title="Take these numbers elsewhere">
      <button type="button" onClick={exportHeads}>
        CSV of all heads
      </button>{' '}
      {gridMode() !== 'table' && (
        <button type="button" onClick={exportGrid}>
          Grid as SVG
        </button>
      )}{' '}
      {chosenEffects.value && (
        <button type="button" onClick={exportScatter}>
          Scatter as SVG
        </button>
      )}
      {lines && <Snippet text={lines} what="Code" />}
    </Fold>
  );
}

/** The next of what the grid shows. */
const cycleShow = (): void =>
  choose({ show: after(['map', 'statistic', 'effect', 'table'] as const, view.show.peek()) });

function exportShown(): void {
  if (table.peek().heads.length === 0) say('This file has no heads to export.');
  else if (gridMode() === 'table') exportHeads();
  else exportGrid();
}

export function Overview() {
  useKeys({ t: cycleShow, '[': () => cycleSort(-1), ']': () => cycleSort(1), e: exportShown });
  const run = mainRun.value!;
  if (table.value.heads.length === 0) {
    const model = modelName(run.summary);
    return (
      <Absent inPrompt title="This file has no statistics or effects of single heads">
        <p>
          {results.value.length > 0
            ? 'The Causal screen shows its results.'
            : experiments.value.length > 0
              ? 'The Lens and Compare screens show what it holds.'
              : 'The File screen shows what it holds.'}{' '}
          This makes a file with every head:
        </p>
        <Snippet text={captureCommand(model, prompt.value?.text || undefined)} what="Command" />
      </Absent>
    );
  }
  return (
    <div class="overview">
      <Toolbar />
      <MapsNote />
      <div class="columns">
        {gridMode() === 'table' ? <HeadList /> : <HeadGrid />}
        <aside>
          <Selected />
          <FirstLook brief={selected.value >= 0} />
          {chosenEffects.value ? (
            <>
              <EffectPicks />
              <HeadScatter key={scatterKey()} />
            </>
          ) : (
            <NoEffects />
          )}
          <Elsewhere />
          <NotesExport />
        </aside>
      </div>
    </div>
  );
}
