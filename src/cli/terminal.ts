/** What a command needs of the process it runs in; injected, so that tests run commands in their own process. */
import type { SignalSource } from './signals.ts';

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readFile: (path: string) => string;
  readonly hostname: string;
  readonly signals: SignalSource;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_CONFIG = 2;
