/** What a file of objects lacks, and what that could change in this plan. A cluster may really have none of a kind: then nothing changes. */
import type { ScaleDownPlan } from '../../../domain/plan.ts';
import type { Observation } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import { counted } from '../../../cli/text/text-layout.ts';

export interface FileContent {
  /** All kinds of the file. */
  readonly kinds: ReadonlySet<string>;
  /** How many pods name a PriorityClass that the file does not have. */
  readonly unrankedPods: number;
}

export interface MissingKind {
  readonly kind: string;
  /** `no removal is promised`. */
  readonly effect: string;
}

interface MissingInput {
  readonly file: FileContent;
  readonly scaleDown: ScaleDownPlan;
  readonly observation: Observation;
  /** Whether the report names fixes that would free nodes. */
  readonly freesNodes: boolean;
}

export function missingKinds({ file, scaleDown, observation, freesNodes }: MissingInput): readonly MissingKind[] {
  const { pendingPods, podsByNode } = observation.cluster;
  const moving = scaleDown.removals.flatMap(({ pods }) => pods);
  const mounting = [...pendingPods, ...moving].filter(mountsClaims).length;
  const bound = [...podsByNode.values()].reduce((sum, pods) => sum + pods.length, 0);
  const selecting = [...pendingPods, ...moving].filter(selectsNamespaces).length;
  const found: readonly (readonly [kind: string, matters: boolean, effect: string])[] = [
    ['Node', bound > 0, `${counted(bound, 'pod')} on nodes ${bound === 1 ? 'is' : 'are'} not counted`],
    ['PodDisruptionBudget', freesNodes || scaleDown.removals.length > 0, 'no removal is promised'],
    ['PersistentVolumeClaim', mounting > 0, `${counted(mounting, 'pod')} with claims cannot be placed`],
    ['PersistentVolume', mounting > 0 && file.kinds.has('PersistentVolumeClaim'), 'pods with bound claims cannot be placed'],
    ['StorageClass', mounting > 0 && file.kinds.has('PersistentVolumeClaim'), 'pods with unbound claims cannot be placed'],
    ['CSINode', mounting > 0, 'the number of volumes that a present node attaches is not limited'],
    ['Namespace', selecting > 0, `rules of ${counted(selecting, 'pod')} that select namespaces by label match none`],
    [
      'PriorityClass',
      file.unrankedPods > 0,
      `${counted(file.unrankedPods, 'pod')} that ${file.unrankedPods === 1 ? 'names' : 'name'} one count as priority 0`,
    ],
    ['DaemonSet', observation.cluster.daemonSetsUnknown, 'new nodes run the DaemonSet pods of a present node of their pool'],
  ];
  return found.flatMap(([kind, matters, effect]) => (matters && !file.kinds.has(kind) ? [{ kind, effect }] : []));
}

/** Claims that exist before the pod. */
function mountsClaims({ mounts }: Pod): boolean {
  return mounts.claims.some(({ ephemeral }) => ephemeral === undefined);
}

function selectsNamespaces({ shape }: Pod): boolean {
  return [...shape.podAffinity, ...shape.podAntiAffinity].some(({ namespaceSelector }) => namespaceSelector !== undefined);
}

/** `It has no PodDisruptionBudgets: no removal is promised.` */
export function describeMissing({ kind, effect }: MissingKind): string {
  return `It has no ${kind === 'StorageClass' || kind === 'PriorityClass' ? `${kind}es` : `${kind}s`}: ${effect}.`;
}
