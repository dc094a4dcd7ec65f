/** What a command needs that the page cannot know. */

import { PAIR_LINE } from '../model/commands';
import { Fold, Snippet } from '../ui/controls';

export function PairsHelp() {
  return (
    <Fold title="What PAIRS.jsonl holds">
      <p class="small">
        One pair a line: two prompts of equally many tokens that differ in what decides the answer.
        Pairs of one group count as one draw; a verdict takes 20 groups or more, an interval 10.
      </p>
      <Snippet text={PAIR_LINE} what="Line" />
    </Fold>
  );
}
