/**
 * Notices a connection that died without a word. Real time on purpose: bytes on a wire do not follow an injected clock.
 */
export interface SilenceWatch {
  readonly signal: AbortSignal;
  /** Something was heard. */
  readonly heard: () => void;
  readonly stop: () => void;
}

/** Fires its signal when nothing was heard for between one and two times `limitMs`, asked anew each time. */
export function endWhenSilent(options: { readonly limitMs: () => number }): SilenceWatch {
  const controller = new AbortController();
  let heardSince = false;
  let stopped = false;
  const arm = (): void => {
    heardSince = false;
    AbortSignal.timeout(options.limitMs()).addEventListener('abort', () => {
      if (stopped) return;
      if (heardSince) arm();
      else controller.abort();
    });
  };
  arm();
  return {
    signal: controller.signal,
    heard: () => {
      heardSince = true;
    },
    stop: () => {
      stopped = true;
    },
  };
}
