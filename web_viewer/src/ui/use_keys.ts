/** Keys of a part of the page, as long as it is shown. */

import { useLayoutEffect } from 'preact/hooks';
import { screenKeys } from '../state/keys';

/** What the actions need they must read from signals, for they are set once. They change with what
 *  is drawn, not a frame later: until then a key would be taken as one of the screen before. */
export function useKeys(actions: Record<string, (event: KeyboardEvent) => void>): void {
  useLayoutEffect(() => {
    for (const [key, action] of Object.entries(actions)) {
      screenKeys.set(key, (event) => {
        action(event);
        return true;
      });
    }
    return () => Object.keys(actions).forEach((key) => screenKeys.delete(key));
  }, []);
}
