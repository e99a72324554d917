import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { stopSignals } from '../../../src/cli/process/process.ts';

function aProcess() {
  const emitter = new EventEmitter();
  const exits: number[] = [];
  return {
    emitter,
    exits,
    source: { on: emitter.on.bind(emitter), off: emitter.off.bind(emitter), exit: (code: number) => void exits.push(code) },
  };
}

describe('signals', () => {
  it.each(['SIGTERM', 'SIGINT'])('%s asks for a stop; a second signal ends the process at once', async (name) => {
    const { emitter, exits, source } = aProcess();
    const { stopped } = stopSignals(source);
    emitter.emit(name);
    await stopped;
    expect(exits).toEqual([]);
    emitter.emit('SIGTERM');
    expect(exits).toEqual([130]);
  });

  it('gives the signals back', () => {
    const { emitter, source } = aProcess();
    stopSignals(source).release();
    expect(emitter.listenerCount('SIGTERM') + emitter.listenerCount('SIGINT')).toBe(0);
  });
});
