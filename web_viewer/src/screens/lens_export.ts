/** Exports of the Lens screen: the table as it is shown, and all that is stored of its cells. */

import { LIGHT_INK } from '../draw/ink';
import type { Pen } from '../draw/pen';
import { drawWordTable, wordTableSize } from '../draw/word_table';
import { safeText, tokenLabel } from '../model/tokens';
import { csv, download } from '../state/export';
import { currentHash, view } from '../state/view';
import type { OpenRun } from '../state/workspace';
import type { ExportActions } from './export_menu';
import { choiceAt, COLOURS, numberAt, PAGE, shadeOf, type LensGrid } from './lens_table';
import { pictureActions, type Picture } from './pictures';

/** The table on screen, and where its page begins. */
export interface ShownLens {
  run: OpenRun;
  grid: LensGrid;
  first: number;
}

const CAPTION = 30;
const LONGEST = 200;

const baseName = ({ run, grid }: ShownLens): string =>
  `${run.summary.name.replace(/\.h5$/, '')}-${grid.data.name.replaceAll('/', '-')}`;

export function lensPicture(shown: ShownLens): Picture {
  const { run, grid, first } = shown;
  const colour = view.stage.peek();
  const shade = shadeOf(grid, colour);
  // The final answer on top, as on the screen.
  const stageOf = (row: number) => grid.stages.length - 1 - row;
  const table = {
    corner: 'after',
    rows: grid.stages.map((_, row) => safeText(grid.stages[stageOf(row)]!, 24)),
    columns: grid.tokens.slice(first, first + PAGE),
    map: view.color.peek(),
    cellAt: (row: number, column: number) => ({
      text: choiceAt(grid, stageOf(row), first + column, 0).text,
      place: shade(stageOf(row), first + column),
    }),
  };
  const { width, height } = wordTableSize(table);
  const draw = (pen: Pen) => {
    drawWordTable(pen, LIGHT_INK, table);
    pen.textAlign = 'left';
    pen.fillStyle = LIGHT_INK.muted;
    const model = String(run.summary.model.name ?? '');
    const words = `${model} lens: likeliest token after each layer. Colour: ${COLOURS[colour]}`;
    pen.fillText(words, 8, height + CAPTION / 2, width - 16);
    return true;
  };
  const size = { width, height: height + CAPTION };
  return { name: baseName(shown), size, draw, version: currentHash };
}

const MEASURES = ['kl', 'target_rank', 'target_log_prob'];

/** A line for each layer and position: what is measured there, and its choices. */
function exportLens(shown: ShownLens): void {
  const { grid } = shown;
  const measures = MEASURES.filter((name) => grid.data.numbers[name]);
  const choices = Array.from({ length: grid.choices }, (_, i) => i);
  const title = [
    ...['after', 'position', 'token', ...measures],
    ...choices.flatMap((i) => [`choice ${i + 1}`, `probability ${i + 1}`]),
  ];
  const or = (value: number) => (Number.isNaN(value) ? '' : value);
  const lines = grid.stages.flatMap((stage, s) =>
    grid.tokens.map((_, at) => [
      safeText(stage),
      at,
      tokenLabel(grid.data.texts.tokens?.[at] ?? '', LONGEST),
      ...measures.map((name) => or(numberAt(grid, name, s, at))),
      ...choices.flatMap((i) => {
        const { text, probability } = choiceAt(grid, s, at, i, LONGEST);
        return [text, or(probability)];
      }),
    ]),
  );
  download(`${baseName(shown)}.csv`, new Blob([csv([title, ...lines])], { type: 'text/csv' }));
}

export const lensActions = (shown: ShownLens): ExportActions => ({
  ...pictureActions(() => lensPicture(shown)),
  csv: { label: 'CSV of all cells', run: () => exportLens(shown) },
});
