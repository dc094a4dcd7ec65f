/** Light or dark: as the system says, or as chosen. */

import { effect, signal } from '@preact/signals';
import type { ColorMapName } from '../draw/color';
import { view } from './view';

export const appearance = signal<'light' | 'dark'>('light');

/** The map for differences and effects whose middle is close to the paper. */
export const divergingMap = (): ColorMapName =>
  appearance.value === 'dark' ? 'blue-orange-dark' : 'blue-orange';

export function followTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const update = () => {
    const chosen = view.theme.value;
    const now = chosen === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen;
    document.documentElement.dataset.theme = now;
    appearance.value = now;
  };
  dark.addEventListener('change', update);
  effect(update);
}
