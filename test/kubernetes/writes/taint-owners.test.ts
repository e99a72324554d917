/** Taints that one writer at a time may have on a node. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TaintOwner } from '../../../src/domain/taints.ts';
import { createNodeTainter } from '../../../src/kubernetes/writes/taints.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { json, startScriptedApi, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;
const [going, cordoned] = [
  { key: 'going', value: '1', effect: 'NoSchedule' },
  { key: 'cordoned', value: 'true', effect: 'PreferNoSchedule' },
] as const;
const owner = (value: string): TaintOwner => ({ annotation: 'who', value, covers: ['going', 'cordoned'] });

let api: ScriptedApi;
beforeEach(async () => {
  api = await startScriptedApi();
});
afterEach(() => api.stop());

interface NodeState {
  readonly who?: string;
  readonly taints?: readonly object[];
  readonly unschedulable?: boolean;
}

function tainterOver({ who, taints = [], unschedulable }: NodeState) {
  const annotations = { other: 'kept', ...(who === undefined ? {} : { who }) };
  api.answer((request, response) => {
    const spec = { taints, ...(unschedulable === undefined ? {} : { unschedulable }) };
    json(response, 200, request.method === 'GET' ? { metadata: { name: 'n', annotations }, spec } : {});
  });
  const retry = { clock: new FakeClock(START_MS), random: seededRandom(1), range: { firstMs: 50, maxMs: 1_000 }, attempts: 2 };
  return createNodeTainter({ rest: api.rest, retry });
}

const written = (): unknown => api.received.find(({ method }) => method === 'PUT')?.body;

describe('a taint with an owner', () => {
  it.each([
    { name: 'on a bare node: written with its owner', node: {} },
    { name: 'beside our own other taint', node: { who: 'a', taints: [cordoned] } },
    { name: 'where only an annotation was left', node: { who: 'b' } },
  ])('$name', async ({ node }) => {
    const result = await tainterOver(node).taint('n', going, { cordon: true, owner: owner('a') }, signal);
    expect(result).toEqual({ uncordonLater: true });
    expect(written()).toMatchObject({
      metadata: { annotations: { other: 'kept', who: 'a' } },
      spec: { taints: [...('taints' in node ? node.taints : []), going], unschedulable: true },
    });
  });

  it.each([
    { name: 'of our own', node: { who: 'a', taints: [going] } },
    { name: 'without an owner', node: {}, unowned: true },
  ])('$name carries a note in the same write, which stays beside the other annotations', async ({ node, unowned = false }) => {
    const options = { cordon: false, note: { annotation: 'noted', value: '7' }, ...(unowned ? {} : { owner: owner('a') }) };
    await tainterOver(node).taint('n', { ...going, value: '7' }, options, signal);
    expect(written()).toMatchObject({
      metadata: { annotations: { other: 'kept', noted: '7', ...(unowned ? {} : { who: 'a' }) } },
      spec: { taints: [{ ...going, value: '7' }] },
    });
    expect(api.received.filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });

  it.each([
    { name: 'of another writer', node: { who: 'b', taints: [going] }, heldBy: 'b' },
    { name: 'of a writer without a name', node: { taints: [{ ...going, value: '2' }] }, heldBy: '' },
    { name: 'of another writer that has only begun', node: { who: 'b', taints: [cordoned] }, heldBy: 'b' },
  ])('$name stays, and nothing is written', async ({ node, heldBy }) => {
    const result = await tainterOver(node).taint('n', going, { cordon: true, owner: owner('a') }, signal);
    expect(result).toEqual({ uncordonLater: false, heldBy });
    expect(written()).toBeUndefined();
  });

  it.each([
    { name: 'goes with its annotation', node: { who: 'a', taints: [going], unschedulable: true }, value: 'a', left: [], who: undefined },
    { name: 'leaves the annotation to another one', node: { who: 'a', taints: [cordoned, going] }, value: 'a', left: [cordoned], who: 'a' },
    { name: 'without a name is removed as such', node: { taints: [going] }, value: '', left: [], who: undefined },
  ])('removed: $name', async ({ node, value, left, who }) => {
    expect(await tainterOver(node).untaint('n', 'going', { uncordon: true, owner: owner(value) }, signal)).toBe(true);
    const body = written();
    expect(body).toMatchObject({ spec: { taints: left } });
    expect(body).not.toHaveProperty('spec.unschedulable');
    expect(body).toHaveProperty('metadata.annotations', who === undefined ? { other: 'kept' } : { other: 'kept', who });
  });

  it('that a person removed takes the name of its writer with it, and no cordon: the person may have set it', async () => {
    await tainterOver({ who: 'a', taints: [cordoned], unschedulable: true }).untaint(
      'n',
      'going',
      { uncordon: true, owner: owner('a') },
      signal,
    );
    expect(written()).toBeUndefined();
    await tainterOver({ who: 'a', unschedulable: true }).untaint('n', 'going', { uncordon: true, owner: owner('a') }, signal);
    expect(written()).toEqual({ metadata: { name: 'n', annotations: { other: 'kept' } }, spec: { taints: [], unschedulable: true } });
  });

  it.each([
    { name: 'another writer has it now', node: { who: 'b', taints: [going], unschedulable: true } },
    { name: 'a writer without a name has it now', node: { taints: [going], unschedulable: true } },
    { name: 'another writer removed it, and a person cordoned the node', node: { unschedulable: true } },
  ])('is not removed if $name', async ({ node }) => {
    expect(await tainterOver(node).untaint('n', 'going', { uncordon: true, owner: owner('a') }, signal)).toBe(false);
    expect(written()).toBeUndefined();
  });
});
