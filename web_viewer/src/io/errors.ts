/** What can go wrong between a file and the page. */

export type IoErrorCode =
  | 'not_hdf5'
  | 'unreadable'
  | 'filter'
  | 'shape'
  | 'too_large'
  | 'changed'
  | 'gone'
  | 'offline'
  | 'locked'
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

/** What a server means that does not send what was asked for. */
export function refusal(status: number): IoError {
  if (status === 404 || status === 410) {
    return new IoError('gone', `the server has no such file (status ${status})`);
  }
  if ([401, 403, 421].includes(status)) {
    return new IoError('locked', `the server does not let this page in (status ${status})`);
  }
  return new IoError('unreadable', `the server answers with status ${status}`);
}

export const noAnswer = (): IoError => new IoError('offline', 'the server does not answer');

export const isStale = (error: unknown): boolean =>
  error instanceof IoError && error.code === 'stale';
