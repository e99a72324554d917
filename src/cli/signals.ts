/** SIGTERM and SIGINT: the first asks for a clean stop, the second ends the process at once. */

const EXIT_BY_SECOND_SIGNAL = 130;

export interface SignalSource {
  on(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(name: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

/** `stopped` resolves at the first signal; `release` gives the signals back. */
export function stopSignals(source: SignalSource): { readonly stopped: Promise<void>; readonly release: () => void } {
  let first = true;
  let resolveStopped: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    resolveStopped = resolve;
  });
  const onSignal = (): void => {
    if (!first) source.exit(EXIT_BY_SECOND_SIGNAL);
    first = false;
    resolveStopped();
  };
  source.on('SIGTERM', onSignal);
  source.on('SIGINT', onSignal);
  return {
    stopped,
    release: () => {
      source.off('SIGTERM', onSignal);
      source.off('SIGINT', onSignal);
    },
  };
}
