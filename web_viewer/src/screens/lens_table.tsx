/** The table of a lens: layers down, positions across, the likeliest token in each cell. */

import { signal, type Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ExperimentData } from '../format/types';
import { cssColor, inkOn } from '../draw/color';
import { placeOf, type ScaleSpec } from '../draw/scale';
import { short } from '../model/numbers';
import { tokenLabel } from '../model/tokens';
import { view } from '../state/view';

/** Positions on one page of the table. */
export const PAGE = 40;

export const COLOURS = {
  prob: 'probability of the likeliest token',
  kl: 'distance to the final answer (KL, nats)',
  rank: 'rank of the target',
} as const;
export type Colour = keyof typeof COLOURS;

/** The cell whose choices are listed. */
export const lensCell = signal<{ stage: number; position: number } | null>(null);

export interface LensGrid {
  data: ExperimentData;
  stages: string[];
  tokens: string[];
  choices: number;
}

export function gridOf(data: ExperimentData): LensGrid | null {
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

export function numberAt(grid: LensGrid, name: string, stage: number, position: number): number {
  return grid.data.numbers[name]?.values[stage * grid.tokens.length + position] ?? NaN;
}

export function choiceAt(
  grid: LensGrid,
  stage: number,
  position: number,
  choice: number,
  longest = 12,
) {
  const at = (stage * grid.tokens.length + position) * grid.choices + choice;
  const text = grid.data.texts.top_text?.[at];
  const id = grid.data.numbers.top_id?.values[at] ?? NaN;
  return {
    text: text === undefined ? `id ${id}` : tokenLabel(text, longest),
    probability: grid.data.numbers.top_prob?.values[at] ?? NaN,
  };
}

export function shadeOf(grid: LensGrid, colour: Colour) {
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

/** The answer follows the last token, so a table opens at its end. */
export const lastPage = ({ tokens }: LensGrid): number => Math.max(0, tokens.length - PAGE);

interface LensTableProps {
  grid: LensGrid;
  colour: Colour;
  /** First position of the page. */
  first: Signal<number>;
}

export function LensTable({ grid, colour, first }: LensTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    scroller.current!.scrollLeft = scroller.current!.scrollWidth;
  }, [grid.data]);
  const shade = shadeOf(grid, colour);
  const positions = grid.tokens
    .slice(first.value, first.value + PAGE)
    .map((_, i) => first.value + i);
  const pages = grid.tokens.length > PAGE;
  const cell = lensCell.value;
  return (
    <div class="lens">
      {pages && (
        <p class="small">
          positions {first.value}–{Math.min(grid.tokens.length, first.value + PAGE) - 1} of{' '}
          {grid.tokens.length}{' '}
          <button
            type="button"
            disabled={first.value === 0}
            onClick={() => (first.value = Math.max(0, first.value - PAGE))}
          >
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
        ref={scroller}
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
                          onClick={() => (lensCell.value = { stage, position: at })}
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
    </div>
  );
}

/** What the layers would say at the chosen cell, likeliest first. */
export function LensChoices({ grid }: { grid: LensGrid }) {
  const cell = lensCell.value;
  if (!cell || cell.position >= grid.tokens.length || cell.stage >= grid.stages.length) {
    return <p class="small">Click a cell to list its choices.</p>;
  }
  return (
    <section class="lens-choices" aria-label="Choices">
      <h2>
        After {grid.stages[cell.stage]}, position {cell.position} {grid.tokens[cell.position]}
      </h2>
      <p class="small">
        KL to the final answer {short(numberAt(grid, 'kl', cell.stage, cell.position))} nats. The
        target (the answer, else what the whole model says here) is choice{' '}
        {short(1 + numberAt(grid, 'target_rank', cell.stage, cell.position))}, log-probability{' '}
        {short(numberAt(grid, 'target_log_prob', cell.stage, cell.position))}.
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
  );
}
