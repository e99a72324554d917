import { describe, expect, it } from 'vitest';
import { checkFreshness, type AgentFreshness } from '../../../src/cache/table/freshness.ts';

const FRESH: AgentFreshness = {
  id: 'sets',
  required: true,
  enabled: true,
  intervalMs: 60_000,
  lastSuccessMs: 0,
  lastRestMs: undefined,
  heldUntilMs: undefined,
  lastError: undefined,
};

describe('freshness of agents', () => {
  it.each([
    { name: 'disabled', over: { enabled: false }, reason: 'sets last succeeded 2 min ago (disabled)' },
    { name: 'throttled', over: { heldUntilMs: 200_000 }, reason: 'sets last succeeded 2 min ago (throttled)' },
    { name: 'failing', over: { lastError: 'No route.' }, reason: 'sets last succeeded 2 min ago (No route.)' },
    { name: 'slow', over: {}, reason: 'sets last succeeded 2 min ago' },
    { name: 'new', over: { lastSuccessMs: undefined }, reason: 'sets has never succeeded' },
  ])('a $name required agent stops removals and says so', ({ over, reason }) => {
    expect(checkFreshness([{ ...FRESH, ...over }], 121_000).scaleDownBlocked).toBe(reason);
  });

  it('an agent that rests is not behind, and is again once its rest is over', () => {
    const rested = { ...FRESH, lastRestMs: 1_000_000 };
    expect(checkFreshness([rested], 1_120_000)).toEqual({ scaleDownBlocked: undefined, scaleUpBlocked: undefined, degraded: [] });
    expect(checkFreshness([rested], 1_120_001).scaleDownBlocked).toBe('sets last succeeded 19 min ago');
    expect(checkFreshness([{ ...rested, lastSuccessMs: undefined }], 1_000_000).scaleUpBlocked).toBe('sets has never succeeded');
  });

  it('an agent that no decision needs stops nothing', () => {
    const verdict = checkFreshness([{ ...FRESH, required: false, lastSuccessMs: undefined }], 121_000);
    expect(verdict).toEqual({ scaleDownBlocked: undefined, scaleUpBlocked: undefined, degraded: [] });
  });

  it('names the first by id', () => {
    const agents = ['b', 'a'].map((id) => ({ ...FRESH, id, lastSuccessMs: undefined }));
    expect(checkFreshness(agents, 0).degraded).toEqual(['a has never succeeded', 'b has never succeeded']);
  });
});
