/** Which heads a command would test. */

import { computed } from '@preact/signals';
import { nameOf, type HeadRef } from '../model/heads';
import { versus } from './compare';
import { table } from './heads';
import { selected, shownHead, trayHeads } from './selection';
import { view } from './view';

/** Those on screen, or none in particular; null where no heads are. */
function onScreen(): HeadRef[] | null {
  const { heads } = table.value;
  if (heads.length === 0) return null;
  const one = shownHead.value;
  switch (view.screen.value) {
    case 'overview':
    case 'causal':
      return selected.value < 0 ? [] : [heads[selected.value]!];
    case 'head':
      return one && [one];
    case 'compare': {
      const other = versus.value?.head;
      return one && (other && nameOf(other) !== nameOf(one) ? [one, other] : [one]);
    }
    default:
      return null;
  }
}

/** Those put aside go before those on screen. */
export const testedHeads = computed<HeadRef[] | null>(() =>
  trayHeads.value.length > 0 ? [...trayHeads.value] : onScreen(),
);
