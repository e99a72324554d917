import { describe, expect, it } from 'vitest';
import type { GroupSigns } from '../../../src/azure/agents/rest-rule.ts';
import { Want } from '../../../src/cache/want.ts';
import { RestWatch } from '../../../src/azure/agents/rest-watch.ts';

const MINUTE = 60_000;
const REST: GroupSigns = { tag: '1', listedTag: '1', isChanging: false, capacity: 1, listed: 1, running: 1, nodes: 1, readyNodes: 1 };
const BUSY: GroupSigns = { ...REST, readyNodes: 0 };
const AGENTS = ['instances/a', 'instances/b', 'vms', 'agentPools', 'usage'];

interface Seen {
  readonly a?: GroupSigns;
  readonly b?: GroupSigns;
  /** A size of a pool without a scale set. */
  readonly size?: GroupSigns;
  readonly pendingPods?: number;
  readonly arePoolsChanging?: boolean;
}

/** The agents that may rest, and those whose rest was ended. */
function watch({ a = REST, b = REST, size, pendingPods = 0, arePoolsChanging = false }: Seen) {
  const ended: string[] = [];
  const rest = new RestWatch({
    tagOf: () => '1',
    arePoolsChanging: () => arePoolsChanging,
    scheduler: { want: (id) => (ended.push(id), new Want()) },
  });
  const groups = new Map([['a', a] as const, ['b', b] as const, ...(size === undefined ? [] : [['p/size', size] as const])]);
  rest.observe({ groups, vmsGroups: size === undefined ? [] : ['p/size'], pendingPods });
  return { rest, may: AGENTS.filter((id) => rest.mayRest(id)), ended: AGENTS.filter((id) => ended.includes(id)) };
}

describe('agents that may rest', () => {
  it.each<[string, Seen, readonly string[]]>([
    ['all, if nothing moves', {}, AGENTS],
    ['not the list of a group that moves, nor what matters to all groups', { a: BUSY }, ['instances/b', 'vms']],
    ['not the list of all virtual machines, if one of their pools moves', { size: BUSY }, ['instances/a', 'instances/b']],
    ['lists of instances only, if a pod waits for a node', { pendingPods: 1 }, ['instances/a', 'instances/b', 'vms']],
    [
      'not the list of agent pools, if it shows sizes or an operation',
      { arePoolsChanging: true },
      AGENTS.filter((id) => id !== 'agentPools'),
    ],
  ])('%s', (_, seen, may) => {
    const watched = watch(seen);
    expect(watched.may).toEqual(may);
    expect(watched.ended).toEqual(AGENTS.filter((id) => !may.includes(id)));
  });

  it('before the first loop no agent rests, and never the list of an unknown group', () => {
    const rest = new RestWatch({ tagOf: () => '1', arePoolsChanging: () => false, scheduler: { want: () => new Want() } });
    expect(AGENTS.filter((id) => rest.mayRest(id))).toEqual([]);
    expect(watch({}).rest.mayRest('instances/c')).toBe(false);
  });

  it.each([
    { id: 'instances/a', intervalMs: 5 * MINUTE, atMostMs: 15 * MINUTE },
    { id: 'agentPools', intervalMs: 2 * MINUTE, atMostMs: 15 * MINUTE },
    { id: 'instances/a', intervalMs: 20 * MINUTE, atMostMs: 20 * MINUTE },
    { id: 'usage', intervalMs: 5 * MINUTE, atMostMs: 60 * MINUTE },
  ])('$id with an interval of $intervalMs ms rests for $atMostMs ms at most', ({ id, intervalMs, atMostMs }) => {
    expect(watch({}).rest.restOf(id, intervalMs).atMostMs).toBe(atMostMs);
  });
});

describe('the tag of a list', () => {
  it('is the one known when a complete list began', () => {
    let tag = '1';
    const rest = new RestWatch({ tagOf: () => tag, arePoolsChanging: () => false, scheduler: { want: () => new Want() } });
    const complete = rest.beginList(['a']);
    tag = '2';
    expect(rest.listedTag('a')).toBeUndefined();
    complete();
    expect(rest.listedTag('a')).toBe('1');
  });
});
