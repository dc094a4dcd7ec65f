/** What an address asks for and the open files do not have: shown is then something else. */

const instead = (shown: string, what: string): string => (shown ? `; ${what} ${shown}` : '');

/** Of a file: `name` as the address has it, `shown` what is on screen in its place. */
export const absentFile = (name: string, shown: string, side: '' | 'B' = ''): string =>
  side === 'B'
    ? `${name}, which the link compares with, is not open.`
    : `${name} is not open${instead(shown, 'this is')}.`;

export const otherRun = (name: string, run: string, side: '' | 'B' = ''): string =>
  `${side ? `${side}, ` : ''}${name}: the link was made for another run (${run}) in a file of this name.`;

/** Of something in a file: `lacks` says who has no what. */
export const absentPart = (lacks: string, name: string, shown: string): string =>
  `${lacks} ${name}${instead(shown, 'this is')}.`;

/** An older link counts files, and which ones are open is chance. */
export const byPlace = (shown: string): string =>
  `The link gives B by its place in a list of files only; here that is ${shown}.`;

/** Of a map: `what` the address asks of it. */
export const absentCells = (what: string): string => `The map on screen has no ${what}.`;

/** The same where no map is on screen. */
export const absentTokens = (what: string): string => `The prompt has no ${what}.`;

export const otherWindow = (zoom: readonly number[]): string =>
  `The map on screen does not reach as far as the window of the link (${zoom.join(',')}).`;

export const otherVersion = (version: string): string =>
  `The link is of another version of this page (${version}); parts of it may be ignored.`;

export const notUnderstood = (refused: readonly string[]): string =>
  `The link has what this page does not understand: ${refused.join(', ')}.`;
