/**
 * What a kind of change that a person could make consists of: its words, the steps that carry it out, and its effect on a world. Each kind
 * is one entry of one of the tables beside this file. Must not know which change is worth trying, or whether it helps.
 */
import type { Observation } from '../../../domain/observation.ts';
import type { PodShape } from '../../../domain/pod.ts';
import type { Policy } from '../../../domain/policy.ts';
import type { ResourceNames } from '../../../domain/resources.ts';
import type { ClusterSnapshot } from '../../../scheduling/snapshot/cluster-snapshot.ts';
import type { Workload } from './workload.ts';

/** What a plan is made from, as far as people change it. Nothing in it is edited in place. */
export interface World {
  readonly observation: Observation;
  readonly policy: Policy;
}

/** How one change is carried out. */
export interface FixStep {
  /** Where the change is made. */
  readonly where: string;
  /** The command to run. */
  readonly command?: string;
  /** The text to write there, as YAML. */
  readonly patch?: string;
  /** What to know before. */
  readonly warning?: string;
}

export interface StepsInput {
  /** Before the change. */
  readonly observation: Observation;
  /** Whose pod template the changes are about that do not name it. */
  readonly workload: Workload;
  /** How many nodes were added where the changes were simulated. */
  readonly newNodes: number;
}

/** What a change needs beside the world that it is applied to. */
export interface EffectInput {
  readonly names: ResourceNames;
  /** A model of the cluster of a world. */
  readonly modelOf: (world: Pick<World, 'observation'>) => ClusterSnapshot;
  /** The world with the shapes of the pods that the changes are about edited; undefined if there are no such pods. */
  readonly reshape: (world: World, edit: (shape: PodShape) => PodShape) => World | undefined;
}

/** Amounts in `Data` are in base units: nodes, cores of a limit or quota, millicores, bytes or ones. */
export interface ChangeKind<Data> {
  /** One sentence part without a full stop: `raise the maximum of gpu from 4 to 7`. */
  readonly describe: (change: Data) => string;
  /** Empty if the words are all that is known. */
  readonly steps: (change: Data, input: StepsInput) => readonly FixStep[];
  /** undefined: the change has no meaning in this world, such as further replicas on nodes that are full. */
  readonly apply: (world: World, change: Data, input: EffectInput) => World | undefined;
}

/** An entry of a table. */
export function kind<Data extends object>(entry: ChangeKind<Data>): ChangeKind<Data> {
  return entry;
}

/** Equal for equal changes, whatever the order of their fields. */
export function keyOf(change: object): string {
  return Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(
      ([field, value]: [string, unknown]) =>
        `${field}=${typeof value === 'object' && value !== null ? `{${keyOf(value)}}` : JSON.stringify(value)}`,
    )
    .sort()
    .join(' ');
}
