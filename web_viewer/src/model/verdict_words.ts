/** Words of a verdict's report that need a sentence, for the page shows its text as it is. */

import type { ExperimentData } from '../format/types';
import { numberAttribute, verdictSentence } from './effects';
import { arraySentence } from './results';
import { definitionOf } from './statistics';

export interface Word {
  word: string;
  sentence: string;
}

/** Each with the way it is written in the text. */
function wordsOf(data: ExperimentData): [word: string, written: RegExp, sentence: string][] {
  const delta = numberAttribute(data, 'delta');
  const measure = (name: string) => definitionOf(name).sentence;
  return [
    ['loudest', /loudest/, 'The heads with the most attention mass.'],
    ['attention mass', /attention mass/, measure('attention mass')],
    ['largest weight', /largest weight/, measure('largest weight')],
    ['focus', /focus/, measure('focus')],
    ['norm-weighted attention', /norm-weighted attention/, measure('norm-weighted attention')],
    [
      'τ-b',
      /τ-b/,
      'Kendall’s rank correlation: 1 where two orders agree, 0 where one tells nothing of the other, −1 where one is the other reversed.',
    ],
    [
      'partial guide',
      /partial/,
      'The interval of its rank correlation lies above 0, and tells neither that it is poor nor that it is near what a perfect measure would reach.',
    ],
    ['causal', /causal/, verdictSentence('causal', delta)!],
    ['undetermined', /undetermined/, verdictSentence('undetermined', delta)!],
    ['backed up', /backed up/, verdictSentence('backed up', delta)!],
    [
      'would have been seen, detectable',
      /have been seen/,
      arraySentence(data, 'minimal_detectable'),
    ],
    ['placebo metric', /placebo/, arraySentence(data, 'placebo')],
    ['random changes', /random changes/, arraySentence(data, 'random_percentile')],
  ];
}

/** The words that a verdict's text has. */
export function verdictWords(data: ExperimentData): Word[] {
  const { paragraph = [], controls = [], control_details: details = [] } = data.texts;
  const text = [...paragraph, ...controls, ...details].join(' ');
  return wordsOf(data)
    .filter(([, written]) => written.test(text))
    .map(([word, , sentence]) => ({ word, sentence }));
}
