import { describe, expect, it } from 'vitest';
import { MortalProcess, type Call, type CrashMoment } from '../../lab/mortal-process.ts';

const read = { side: 'cluster', method: 'GET', path: '/api/v1/nodes' } as const;
const write = { side: 'arm', method: 'PUT', path: '/set' } as const;

function processThatDies(at: number, moment: CrashMoment) {
  const calls: Call[] = [];
  let deaths = 0;
  const process = new MortalProcess(
    (call) => {
      calls.push(call);
      return call.serial === at ? moment : undefined;
    },
    () => deaths++,
  );
  return { process, calls, deaths: () => deaths };
}

describe('a process that may die at any call', () => {
  it('before: the request has no effect, and nothing gets through any more', () => {
    const { process, deaths } = processThatDies(2, 'before');
    expect([process.admitsRequest(read), process.sendsResponse(read)]).toEqual([true, true]);
    expect(process.admitsRequest(write)).toBe(false);
    expect(process.admitsRequest({ ...read })).toBe(false);
    expect(deaths()).toBe(1);
  });

  it('after: the request has its effect, and its answer never comes', () => {
    const { process, deaths } = processThatDies(1, 'after');
    const request = { ...write };
    expect(process.admitsRequest(request)).toBe(true);
    expect(deaths()).toBe(0);
    expect(process.sendsResponse(request)).toBe(false);
    expect(deaths()).toBe(1);
  });

  it('a wait may be the last thing, too', () => {
    const { process, deaths } = processThatDies(1, 'after');
    process.endWait(10);
    expect(deaths()).toBe(1);
    process.endWait(10);
    expect(deaths()).toBe(1);
  });

  it('a new process is heard, and counting goes on', async () => {
    const { process, calls } = processThatDies(1, 'before');
    const death = process.died();
    process.admitsRequest(read);
    await expect(death).resolves.toBeUndefined();
    process.restart();
    expect(process.admitsRequest(write)).toBe(true);
    expect(calls.map(({ serial, kind }) => `${serial} ${kind}`)).toEqual(['1 read', '2 write']);
  });
});
