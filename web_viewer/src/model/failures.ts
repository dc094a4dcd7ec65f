/** What could not be read: one card for each file and cause, however often it is met. */

import type { IoErrorCode } from '../io/errors';

export type FailureCode = IoErrorCode | 'newer' | 'foreign';

export interface FailureCard {
  name: string;
  code: FailureCode;
  /** What was met, the first of it first. */
  messages: readonly string[];
}

/** Of a damaged file there can be as many as it has chunks. */
const MOST_MESSAGES = 100;

/** Codes that follow each other as one thing goes on: a file is replaced, then removed. */
const CAUSES: Partial<Record<FailureCode, FailureCode>> = { gone: 'changed', locked: 'offline' };

export const causeOf = (code: FailureCode): FailureCode => CAUSES[code] ?? code;

/** A server that is away is so for all of its files. */
export const isOfServer = (code: FailureCode): boolean => causeOf(code) === 'offline';

type Kind = Pick<FailureCard, 'name' | 'code'>;

export const isSameCause = (a: Kind, b: Kind): boolean =>
  causeOf(a.code) === causeOf(b.code) && (a.name === b.name || isOfServer(a.code));

/** A card after one more failure of its cause. */
export function added(
  card: FailureCard,
  code: FailureCode,
  message: string,
): Pick<FailureCard, 'code' | 'messages'> {
  if (card.code !== code) return { code, messages: [message] };
  const known = card.messages.includes(message) || card.messages.length >= MOST_MESSAGES;
  return { code, messages: known ? card.messages : [...card.messages, message] };
}
