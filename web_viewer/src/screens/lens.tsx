/** What each layer would answer at each position, as the lens read it. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExperimentData } from '../format/types';
import { readExperiment } from '../io/read_experiment';
import { cssColor, inkOn } from '../draw/color';
import { placeOf, type ScaleSpec } from '../draw/scale';
import { h5pyLens, lensCommand } from '../model/commands';
import { modelName } from '../model/join';
import { short } from '../model/numbers';
import { tokenLabel } from '../model/tokens';
import { choose, view } from '../state/view';
import { failWith, mainRun, sameModelRuns, type OpenRun } from '../state/workspace';
import { Absent, copyText, Pick, Snippet } from '../ui/controls';

/** Positions on one page of the table. */
const PAGE = 40;

const COLOURS = {
  prob: 'probability of the first choice',
  kl: 'distance to the final answer (KL, nats)',
  rank: 'rank of the target',
} as const;
type Colour = keyof typeof COLOURS;

function lensRuns(): { run: OpenRun; prompts: string[] }[] {
  return sameModelRuns.value
    .filter((run) => run.experiments.some(({ attributes }) => attributes.kind === 'lens'))
    .map((run) => ({ run, prompts: run.summary.promptIds }));
}

interface Grid {
  data: ExperimentData;
  stages: string[];
  tokens: string[];
  choices: number;
}

function gridOf(data: ExperimentData): Grid | null {
  const shape = data.numbers.top_prob?.shape;
  if (!shape || shape.length !== 3) return null;
  const [stages = 0, positions = 0, choices = 0] = shape;
  const tokens = data.texts.tokens ?? [];
  return {
    data,
    stages: data.texts.stages ?? Array.from({ length: stages }, (_, i) => `layer ${i}`),
    tokens: Array.from({ length: positions }, (_, i) => tokenLabel(tokens[i] ?? '', 12)),
    choices,
  };
}

function numberAt(grid: Grid, name: string, stage: number, position: number): number {
  return grid.data.numbers[name]?.values[stage * grid.tokens.length + position] ?? NaN;
}

function choiceAt(grid: Grid, stage: number, position: number, choice: number) {
  const at = (stage * grid.tokens.length + position) * grid.choices + choice;
  const text = grid.data.texts.top_text?.[at];
  const id = grid.data.numbers.top_id?.values[at] ?? NaN;
  return {
    text: text === undefined ? `id ${id}` : tokenLabel(text, 12),
    probability: grid.data.numbers.top_prob?.values[at] ?? NaN,
  };
}

function shadeOf(grid: Grid, colour: Colour) {
  const map = view.color.value;
  if (colour === 'prob') {
    const scale: ScaleSpec = { kind: 'sqrt', low: 0, high: 1, map };
    return (stage: number, at: number) => placeOf(scale, choiceAt(grid, stage, at, 0).probability);
  }
  const name = colour === 'kl' ? 'kl' : 'target_rank';
  let top = 0;
  for (const value of grid.data.numbers[name]?.values ?? []) if (value > top) top = value;
  const scale: ScaleSpec = { kind: colour === 'kl' ? 'sqrt' : 'log', low: 0, high: top, map };
  // The better, the brighter, whatever is shown.
  return (stage: number, at: number) => {
    const value = numberAt(grid, name, stage, at);
    return Number.isNaN(value) || value < 0 ? NaN : 1 - placeOf(scale, value);
  };
}

function Table({ grid, colour }: { grid: Grid; colour: Colour }) {
  const first = useSignal(0);
  const chosen = useSignal<{ stage: number; position: number } | null>(null);
  const shade = shadeOf(grid, colour);
  const positions = grid.tokens
    .slice(first.value, first.value + PAGE)
    .map((_, i) => first.value + i);
  const pages = grid.tokens.length > PAGE;
  const cell = chosen.value;
  return (
    <div class="lens">
      {pages && (
        <p class="small">
          positions {first.value}–{Math.min(grid.tokens.length, first.value + PAGE) - 1} of{' '}
          {grid.tokens.length}{' '}
          <button type="button" disabled={first.value === 0} onClick={() => (first.value -= PAGE)}>
            ‹
          </button>{' '}
          <button
            type="button"
            disabled={first.value + PAGE >= grid.tokens.length}
            onClick={() => (first.value += PAGE)}
          >
            ›
          </button>
        </p>
      )}
      <div
        class="lens-scroll"
        tabIndex={0}
        role="region"
        aria-label="Table of layers and positions"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">after</th>
              {positions.map((at) => (
                <th key={at} scope="col" title={`position ${at}`}>
                  {grid.tokens[at]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {grid.stages.map((name, i) => {
              // The final answer on top, as residual streams are drawn.
              const stage = grid.stages.length - 1 - i;
              return (
                <tr key={stage}>
                  <th scope="row">{grid.stages[stage] ?? name}</th>
                  {positions.map((at) => {
                    const place = shade(stage, at);
                    const style = Number.isNaN(place)
                      ? undefined
                      : {
                          background: cssColor(view.color.value, place),
                          color: inkOn(view.color.value, place),
                        };
                    const { text, probability } = choiceAt(grid, stage, at, 0);
                    return (
                      <td key={at} style={style}>
                        <button
                          type="button"
                          title={`${short(100 * probability)} %`}
                          aria-pressed={cell?.stage === stage && cell.position === at}
                          onClick={() => (chosen.value = { stage, position: at })}
                        >
                          {text}
                        </button>
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {cell && (
        <section class="lens-choices" aria-label="Choices">
          <h2>
            After {grid.stages[cell.stage]}, position {cell.position} {grid.tokens[cell.position]}
          </h2>
          <p class="small">
            KL to the final answer {short(numberAt(grid, 'kl', cell.stage, cell.position))} nats.
            The target (the answer, else what the whole model says here) is choice{' '}
            {short(1 + numberAt(grid, 'target_rank', cell.stage, cell.position))}.
          </p>
          <table class="bars">
            <tbody>
              {Array.from({ length: grid.choices }, (_, k) => {
                const { text, probability } = choiceAt(grid, cell.stage, cell.position, k);
                return (
                  <tr key={k}>
                    <td>{text}</td>
                    <td class="value">{short(100 * probability)} %</td>
                    <td class="bar">
                      <span style={{ width: `${100 * probability}%` }} />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

export function LensScreen() {
  const runs = lensRuns();
  const grid = useSignal<Grid | null>(null);
  const [first] = runs;
  const prompts = first?.prompts ?? [];
  const id = prompts.includes(view.prompt.value) ? view.prompt.value : prompts[0];
  useEffect(() => {
    if (!first || id === undefined) return;
    const name = first.run.experiments.find(({ attributes }) => attributes.kind === 'lens')!.name;
    readExperiment(first.run.file, `${name}/${id}`).then(
      (data) => (grid.value = gridOf(data)),
      (error: unknown) => failWith(first.run.summary.name, error),
    );
  }, [first?.run.id, id]);
  if (!first) {
    return (
      <Absent title="No lens is open">
        <p>The lens reads the residual stream after each layer as if it were the last one:</p>
        <Snippet text={lensCommand(modelName(mainRun.value!.summary))} what="Command" />
      </Absent>
    );
  }
  const known = Object.keys(COLOURS) as Colour[];
  const colour = known.find((name) => name === view.stage.value) ?? 'prob';
  return (
    <div class="overview">
      <div class="toolbar">
        {prompts.length > 1 && (
          <Pick
            label="Prompt"
            value={id ?? ''}
            options={prompts.map((value) => ({ value, label: value }))}
            onPick={(prompt) => choose({ prompt })}
          />
        )}
        <Pick
          label="Colour"
          value={colour}
          options={known.map((value) => ({ value, label: COLOURS[value] }))}
          onPick={(stage) => choose({ stage })}
        />
        <span class="spring" />
        {grid.value && (
          <button
            type="button"
            title="Python lines that read this table"
            onClick={() =>
              copyText(h5pyLens(first.run.summary.name, grid.value!.data.name), 'Code')
            }
          >
            Copy h5py
          </button>
        )}
        <span class="small">
          bright is {colour === 'prob' ? 'sure' : 'close'}; click a cell for its choices
        </span>
      </div>
      {grid.value && <Table grid={grid.value} colour={colour} />}
    </div>
  );
}
