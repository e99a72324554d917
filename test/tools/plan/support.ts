import { expect } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../support/run-command.ts';

export interface Files {
  readonly [name: string]: string;
}

/** Runs `plan` on files that exist in memory only. */
export function plan(argv: readonly string[], files: Files) {
  return runCommand(['plan', ...argv], { files });
}

const texts = z.array(z.string());
/** To the letter: an unknown or missing field fails. */
const price = z.number().optional();
const ANSWER = z.strictObject({
  summary: z.strictObject({
    text: z.string(),
    nodesAdded: z.number(),
    poolsGrown: z.number(),
    podsHelped: z.number(),
    podsFitting: z.number(),
    podsPending: z.number(),
    podsIgnored: z.number(),
    nodesRemoved: z.number(),
    perHour: price,
    currency: z.string().optional(),
  }),
  asOf: z.strictObject({ time: z.string().optional(), source: z.string() }),
  resizes: z.array(z.strictObject({ pod: z.string(), sentence: z.string() })).optional(),
  lacks: z.array(z.strictObject({ kind: z.string(), effect: z.string() })).optional(),
  pools: z.array(
    z.strictObject({
      group: z.string(),
      vmSize: z.string(),
      zones: texts,
      target: z.number().optional(),
      max: z.number(),
      perHour: price,
      discount: z.strictObject({ listPerHour: z.number(), percent: z.number() }).optional(),
    }),
  ),
  headroom: z
    .array(
      z.strictObject({
        group: z.string().optional(),
        amount: z.string(),
        wanted: z.number(),
        kept: z.number(),
        coming: z.number(),
        missing: z.number(),
        nodes: texts,
        why: z.string().optional(),
        sentence: z.string(),
      }),
    )
    .optional(),
  scheduleFindings: z.array(z.string()).optional(),
  schedule: z
    .array(
      z.strictObject({
        group: z.string(),
        min: z.number(),
        max: z.number(),
        steps: z.array(
          z.strictObject({
            at: z.string(),
            local: z.string(),
            min: z.number(),
            max: z.number(),
            text: z.string(),
            rules: z.array(z.number()),
          }),
        ),
      }),
    )
    .optional(),
  owners: z.record(z.string(), z.string()),
  exclusion: z.string().optional(),
  scaleUp: z.strictObject({
    increases: z.array(
      z.strictObject({ group: z.string(), from: z.number(), to: z.number(), pods: texts, headroom: texts.optional(), perHour: price }),
    ),
    expander: z.string().optional(),
    options: z.array(
      z.strictObject({
        group: z.string(),
        nodes: z.number(),
        pods: z.number(),
        waste: z.number(),
        priority: z.number().optional(),
        perHour: price,
        lostBy: z.string().optional(),
        score: z.number().optional(),
      }),
    ),
    skipped: z.array(z.strictObject({ group: z.string(), reason: z.string(), detail: z.string() })),
    helpless: z.array(
      z.strictObject({
        pod: z.string(),
        verdict: z.string(),
        detail: z.string().optional(),
        why: z.string().optional(),
        groups: z.array(z.strictObject({ group: z.string(), reason: z.string(), detail: z.string(), fix: z.string() })),
        advice: z.object({ text: z.string() }).optional(),
      }),
    ),
    fits: z.array(z.strictObject({ pod: z.string(), node: z.string() })),
  }),
  scaleDown: z.strictObject({
    removals: z.array(
      z.strictObject({
        node: z.string(),
        group: z.string(),
        kind: z.enum(['empty', 'drain']),
        pods: texts,
        cause: z.string(),
        utilization: z.number(),
        perHour: price,
      }),
    ),
    unremovable: z.array(z.strictObject({ node: z.string(), reason: z.string(), detail: z.string() })),
  }),
  explained: z.strictObject({
    nodes: z.array(z.looseObject({ node: z.string() })),
    totals: z.array(z.looseObject({ reason: z.string() })),
  }),
  repacking: z.looseObject({
    text: z.string().optional(),
    nodes: z.number(),
    needed: z.number(),
    sets: z.array(z.looseObject({ text: z.string(), score: z.number() })),
    on: texts,
  }),
  notes: texts.optional(),
});

export type PlanAnswer = z.infer<typeof ANSWER>;

/** What `plan --json` answers to good input. */
export async function planAnswer(argv: readonly string[], files: Files): Promise<PlanAnswer> {
  const { code, out, err } = await plan([...argv, '--json'], files);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return ANSWER.parse(JSON.parse(out));
}

/**
 * Plans the files `c` and `p`. Returns `a 0->1` for every increase, `pod@node` for every fit, `pod verdict` for every other
 * pod, or the error.
 */
export async function planOutcome(files: Files, ...argv: readonly string[]): Promise<readonly string[]> {
  const { code, out, err } = await plan(['--cluster', 'c', '--pools', 'p', '--json', ...argv], files);
  if (code !== 0) return [err.trim()];
  const { scaleUp } = ANSWER.parse(JSON.parse(out));
  return [
    ...scaleUp.increases.map(({ group, from, to }) => `${group} ${from}->${to}`),
    ...scaleUp.fits.map(({ pod, node }) => `${pod.replace('default/', '')}@${node}`),
    ...scaleUp.helpless.map(({ pod, verdict }) => `${pod.replace('default/', '')} ${verdict}`),
  ];
}

type Json = Readonly<Record<string, unknown>>;
const META = { creationTimestamp: '2026-11-21T08:00:00Z' };

/** A ready node of 4 cores and 16 GiB in a pool. */
export function nodeJson(
  name: string,
  pool: string,
  part: { readonly labels?: Json; readonly spec?: Json; readonly allocatable?: Json } = {},
): Json {
  const size = { cpu: '4', memory: '16Gi', pods: '110', ...part.allocatable };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...META, name, labels: { 'kubernetes.azure.com/agentpool': pool, 'kubernetes.io/hostname': name, ...part.labels } },
    spec: part.spec ?? {},
    status: { capacity: size, allocatable: size, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

/** A pod of a ReplicaSet; pending, and refused by the scheduler, unless it is on a node. */
export function podJson(
  name: string,
  cpu: string,
  part: { readonly on?: string; readonly spec?: Json; readonly metadata?: Json } = {},
): Json {
  const owner = { kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true };
  const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...META, name, namespace: 'default', ownerReferences: [owner], ...part.metadata },
    spec: {
      containers: [{ name: 'c', resources: { requests: { cpu, memory: '1Gi' } } }],
      ...(part.on === undefined ? {} : { nodeName: part.on }),
      ...part.spec,
    },
    status: part.on === undefined ? { phase: 'Pending', conditions: [refused] } : { phase: 'Running' },
  };
}

export function listOf(...items: readonly Json[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}
