import { runCommand } from '../../support/run-command.ts';

export interface Files {
  readonly [name: string]: string;
}

/** Runs `plan` on files that exist in memory only. */
export function plan(argv: readonly string[], files: Files) {
  return runCommand(['plan', ...argv], { files });
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
