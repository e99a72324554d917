import { describe, expect, it } from 'vitest';
import { MortalDoor, type Call, type Moment } from '../../src/lab/mortal-process.ts';

const read = { side: 'cluster', method: 'GET', path: '/api/v1/nodes' } as const;
const write = { side: 'arm', method: 'PUT', path: '/set' } as const;

function doorThatDies(at: number, moment: Moment) {
  const calls: Call[] = [];
  let deaths = 0;
  const door = new MortalDoor(
    (call) => {
      calls.push(call);
      return call.serial === at ? moment : undefined;
    },
    () => deaths++,
  );
  return { door, calls, deaths: () => deaths };
}

describe('a process that may die at any call', () => {
  it('before: the request has no effect, and nothing gets through any more', () => {
    const { door, deaths } = doorThatDies(2, 'before');
    expect([door.admits(read), door.answers(read)]).toEqual([true, true]);
    expect(door.admits(write)).toBe(false);
    expect(door.admits({ ...read })).toBe(false);
    expect(deaths()).toBe(1);
  });

  it('after: the request has its effect, and its answer never comes', () => {
    const { door, deaths } = doorThatDies(1, 'after');
    const request = { ...write };
    expect(door.admits(request)).toBe(true);
    expect(deaths()).toBe(0);
    expect(door.answers(request)).toBe(false);
    expect(deaths()).toBe(1);
  });

  it('a wait may be the last thing, too', () => {
    const { door, deaths } = doorThatDies(1, 'after');
    door.wakes(10);
    expect(deaths()).toBe(1);
    door.wakes(10);
    expect(deaths()).toBe(1);
  });

  it('a new process is heard, and counting goes on', async () => {
    const { door, calls } = doorThatDies(1, 'before');
    const death = door.death();
    door.admits(read);
    await expect(death).resolves.toBeUndefined();
    door.reopen();
    expect(door.admits(write)).toBe(true);
    expect(calls.map(({ serial, kind }) => `${serial} ${kind}`)).toEqual(['1 read', '2 write']);
  });
});
