/** Removals as a user asks for them: files in, nodes out. What all the rows share. */
import { expect } from 'vitest';
import { z } from 'zod';
import { listOf, nodeJson, plan, podJson } from '../support.ts';

export type Json = Readonly<Record<string, unknown>>;
export interface Case {
  readonly name: string;
  readonly objects: readonly Json[];
  readonly goes: readonly string[];
  /** Of the nodes that matter: why they stay, and what the detail says. */
  readonly stays?: Readonly<Record<string, string | readonly [reason: string, detail: string]>>;
  readonly config?: string;
  /** Of the pool `general`. */
  readonly pool?: string;
  readonly pools?: string;
}

export const NOW = '2026-11-21T12:00:00Z';
export const CA = 'cluster-autoscaler.kubernetes.io/';
const SHAPE = z.object({
  scaleDown: z.object({
    removals: z.array(z.object({ node: z.string() })),
    unremovable: z.array(z.object({ node: z.string(), reason: z.string(), detail: z.string() })),
  }),
});

export async function check({ objects, goes, stays = {}, config = '', pool = '', pools }: Case): Promise<void> {
  const { code, out, err } = await plan(['--cluster=c.json', '--pools=p.yaml', '--config=k.yaml', `--now=${NOW}`, '--json'], {
    'c.json': listOf(...objects),
    'p.yaml': pools ?? `- {name: general, vmSize: Standard_D4s_v5, min: 0, max: 20${pool}}\n`,
    'k.yaml': config === '' ? 'scaleDown: {}\n' : `scaleDown: {${config}}\n`,
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const { scaleDown } = SHAPE.parse(JSON.parse(out));
  const kept = new Map(scaleDown.unremovable.map((node) => [node.node, node]));
  expect({ goes: scaleDown.removals.map(({ node }) => node), kept: goes.length > 0 ? undefined : [...kept.values()] }).toMatchObject({
    goes,
  });
  for (const [node, said] of Object.entries(stays)) {
    const [reason, detail = ''] = typeof said === 'string' ? [said] : said;
    expect(kept.get(node)).toEqual({ node, reason, detail: expect.stringContaining(detail) });
  }
}

export const node = (name: string, part: Parameters<typeof nodeJson>[2] = {}) => nodeJson(name, 'general', part);
/** n-0 is three quarters full and has room for one core; it stays in every case. */
export const host = [node('n-0'), podJson('host', '3', { on: 'n-0' })];
export const n1 = node('n-1');
export const on1 = (part: Parameters<typeof podJson>[2] = {}, cpu = '500m') => podJson('p', cpu, { on: 'n-1', ...part });
export const said = (annotations: Json, metadata: Json = {}) => ({ metadata: { annotations, ...metadata } });
export const bare: Json = { ownerReferences: [] };
export const owned = (kind: string, apiVersion = 'apps/v1'): Json => ({
  ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'o', controller: true }],
});
export const born = (creationTimestamp: string): Json => ({ creationTimestamp });
export const containers = (cpu: string) => [{ name: 'c', resources: { requests: { cpu } } }];
export const labels = (app: string): Json => ({ labels: { app } });
export const budget = (name: string, disruptionsAllowed: number, part: Json = {}): Json => ({
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default', ...part },
  spec: { selector: { matchLabels: { app: 'db' } } },
  status: { disruptionsAllowed, expectedPods: 3, currentHealthy: 2 + disruptionsAllowed, desiredHealthy: 2 },
});
export const unready = (name: string, created: string, part: Parameters<typeof nodeJson>[2] = {}): Json => {
  const made = node(name, part);
  return {
    ...made,
    metadata: { ...(made['metadata'] as object), creationTimestamp: created },
    status: { ...(made['status'] as object), conditions: [{ type: 'Ready', status: 'False' }] },
  };
};
export const keeps = (detail: string): NonNullable<Case['stays']> => ({ 'n-1': ['BlockedByPod', detail] });

export function nodeJsonWith(name: string, annotations: Json): Json {
  const made = node(name);
  return { ...made, metadata: { ...(made['metadata'] as object), annotations } };
}
