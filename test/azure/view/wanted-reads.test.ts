import { describe, expect, it } from 'vitest';
import type { Ownership } from '../../../src/azure/groups/node-ownership.ts';
import { registerGroups } from '../../../src/azure/groups/registry.ts';
import { mayBeListed, silentInstances } from '../../../src/azure/view/wanted-reads.ts';
import type { Node } from '../../../src/domain/node.ts';
import { aCluster, aNode, keyOf, START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const SIZES = 'pool/Standard_D4s_v5';
const registration = registerGroups({
  options: { nodeGroups: [SIZES, 'set'].map((name) => ({ name, min: 0, max: 9 })), discovery: [] },
  scaleSets: undefined,
});
const [sizes, set] = [...registration.byId.keys()];
const unready = { ready: false, sinceMs: START_MS, reason: 'NodeStatusUnknown' };

function silent(node: Partial<Node>, group = sizes, listed = true): boolean {
  const name = 'n';
  const ownership: Ownership = {
    groupOfNode: new Map(group === undefined ? [] : [[name, group]]),
    instanceOfNode: new Map(listed ? [[name, keyOf(name)]] : []),
    nodeOfInstance: new Map(),
    unlisted: new Map(),
    unlistedVms: [],
  };
  const nodes = [aNode({ name, createdAtMs: START_MS - 10 * MINUTE, ...node })];
  return silentInstances({ ownership, registration, cluster: aCluster({ nodes }), nowMs: START_MS }).has(keyOf(name));
}

describe('a machine whose node is silent', () => {
  it.each<[string, boolean, boolean]>([
    ['is looked at when its node is not ready', silent({ readiness: unready }), true],
    ['is not when its node is ready', silent({}), false],
    ['is not while its node may still be starting', silent({ readiness: unready, createdAtMs: START_MS - 4 * MINUTE }), false],
    ['is not in a scale set, whose lists come with views', silent({ readiness: unready }, set), false],
    ['is not when no list has shown it', silent({ readiness: unready }, sizes, false), false],
  ])('%s', (_what, is, expected) => {
    expect(is).toBe(expected);
  });
});

describe('a node without a listed machine', () => {
  it.each([
    { name: 'joined after the list', createdAtMs: 100_001, listable: true },
    { name: 'joined just before, as far as clocks agree', createdAtMs: 97_000, listable: true },
    { name: 'was there long before the list', createdAtMs: 90_000, listable: false },
  ])('$name: $listable', ({ createdAtMs, listable }) => {
    expect(mayBeListed({ createdAtMs }, 100_000)).toBe(listable);
  });
});
