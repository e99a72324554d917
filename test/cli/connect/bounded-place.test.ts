/** A folder that hangs: how long a process waits for it, and what becomes of an answer that comes too late. */
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoundedPlace, boundedFile, boundedText } from '../../../src/cli/connect/bounded-place.ts';
import { connectSharedTexts } from '../../../src/cli/connect/connect-shared-texts.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors } from '../../../src/config/types/config.ts';
import type { SharedText } from '../../../src/domain/ports/shared-text.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryTextServer } from '../../support/memory-shared-text.ts';

const LIMIT_MS = 1_000;

let clock = new FakeClock(START_MS);
let lines: string[] = [];
let calls: string[] = [];
beforeEach(() => {
  clock = new FakeClock(START_MS);
  lines = [];
  calls = [];
});

function aPlace(): BoundedPlace {
  const log = createLog('info', { write: (line) => void lines.push(line) });
  return new BoundedPlace({ clock, log, limitMs: LIMIT_MS, onCall: (outcome) => void calls.push(outcome) });
}

/** Answers when told to. */
class SlowText {
  readonly released: number[] = [];
  asked = 0;
  answer: () => void = () => undefined;

  get share(): SharedText {
    const wait = <Result>(result: Result): Promise<Result> => {
      this.asked += 1;
      return new Promise((resolve) => (this.answer = () => resolve(result)));
    };
    return {
      latest: () => wait(undefined),
      claim: () => wait(true),
      release: (epoch) => Promise.resolve(void this.released.push(epoch)),
      publish: () => wait(true),
    };
  }
}

async function outcomeAfter(ms: number, call: Promise<unknown>): Promise<string> {
  let outcome = 'still waits';
  call.then(
    () => (outcome = 'answered'),
    (thrown: Error) => (outcome = thrown.message),
  );
  await clock.advance(ms);
  return outcome;
}

describe('a folder that does not answer', () => {
  it.each([
    ['before the first decision', 50, 49],
    ['later', undefined, LIMIT_MS - 1],
  ])('is waited for %s no longer than its limit', async (_when, limitMs, stillMs) => {
    const share = boundedText(new SlowText().share, aPlace());
    const call = share.latest(limitMs);
    expect(await outcomeAfter(stillMs, call)).toBe('still waits');
    await clock.advance(1);
    await expect(call).rejects.toThrow(`The folder cannot be used: no answer within ${stillMs + 1} ms.`);
  });

  it('gets no further call until the first has ended, and is then used again', async () => {
    const slow = new SlowText();
    const share = boundedText(slow.share, aPlace());
    const first = share.latest().catch(() => 'given up');
    await clock.advance(LIMIT_MS);
    expect(await first).toBe('given up');
    await expect(share.latest()).rejects.toThrow('an earlier call has not been answered yet');
    await expect(share.claim(1)).rejects.toThrow('an earlier call');
    expect(slow.asked).toBe(1);
    slow.answer();
    await clock.advance(1);
    const again = share.latest();
    slow.answer();
    await again;
    expect(calls).toEqual(['failed', 'failed', 'failed', 'answered']);
    const said = lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
    expect(said).toEqual(['Shared store cannot be used; this process reads for itself', 'Shared store can be used again']);
  });

  it('gives a claim back that comes too late, and no other', async () => {
    const slow = new SlowText();
    const share = boundedText(slow.share, aPlace());
    const call = share.claim(7, 50).catch(() => 'given up');
    await clock.advance(50);
    expect(await call).toBe('given up');
    slow.answer();
    await clock.advance(1);
    expect(slow.released).toEqual([7]);
    const inTime = share.claim(8, 50);
    slow.answer();
    expect(await inTime).toBe(true);
    expect(slow.released).toEqual([7]);
  });

  it('keeps a file from a start for its limit only', async () => {
    const never = new Promise<undefined>(() => undefined);
    const file = boundedFile({ read: () => never, write: () => never }, aPlace());
    const call = file.read(new AbortController().signal);
    expect(await outcomeAfter(LIMIT_MS, call)).toBe(`The folder cannot be used: no answer within ${LIMIT_MS} ms.`);
  });

  it('passes everything on while it works', async () => {
    const server = new MemoryTextServer(() => clock.now());
    const share = boundedText(server.of('one'), aPlace());
    expect([await share.claim(1), await share.publish(1, 'a'), (await share.latest())?.text]).toEqual([true, true, 'a']);
    await share.release(1);
    expect(lines).toEqual([]);
  });
});

describe('the folder of a daemon', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hangs-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('has these limits: a read of it that hangs is given up', async () => {
    // Opening a pipe that nobody writes hangs as a network file system does.
    const pipe = join(folder, 'skus-sub-1-westeurope.1.json');
    execFileSync('mkfifo', [pipe]);
    const env = {
      ARM_SUBSCRIPTION_ID: 'Sub-1',
      ARM_TENANT_ID: 't',
      ARM_RESOURCE_GROUP: 'MC_one',
      LOCATION: 'westeurope',
      ARM_CLIENT_ID: 'c',
    };
    const config = loadConfig({
      argv: ['--nodes=0:3:pool'],
      env: { ...env, ARM_CLIENT_SECRET: 's', AZURE_SKU_FOLDER: folder },
      readFile: () => '',
    });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    const scope = { subscriptionId: 'sub-1', location: 'westeurope' };
    const store = await connectSharedTexts({ config, scope, clock, log: createLog('silent'), metrics: createMetrics() });
    const call = store.texts.skus?.latest(50).catch((thrown: Error) => thrown.message);
    await clock.advance(50);
    expect(await call).toBe('The folder cannot be used: no answer within 50 ms.');
    expect(store.trouble()).toBe('The folder cannot be used: no answer within 50 ms.');
    // Ends the read that hangs.
    const writer = await open(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    await writer.close();
  });
});
