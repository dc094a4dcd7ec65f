/** What can go wrong between a file and the page. */

export type IoErrorCode =
  | 'not_hdf5'
  | 'unreadable'
  | 'filter'
  | 'too_large'
  | 'changed'
  | 'no_range'
  | 'absent'
  | 'unsupported'
  | 'crashed'
  | 'timeout'
  | 'stale';

export class IoError extends Error {
  readonly code: IoErrorCode;

  constructor(code: IoErrorCode, message: string) {
    super(message);
    this.name = 'IoError';
    this.code = code;
  }
}

export const isStale = (error: unknown): boolean =>
  error instanceof IoError && error.code === 'stale';
