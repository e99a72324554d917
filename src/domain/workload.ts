import type { LabelSelector } from './labels.ts';
import type { PodShape } from './pod.ts';

/** A PodDisruptionBudget reduced to what a drain asks of it. */
export interface DisruptionBudget {
  readonly namespace: string;
  readonly name: string;
  /** undefined: matches nothing (a null selector in policy/v1). */
  readonly selector: LabelSelector | undefined;
  readonly disruptionsAllowed: number;
  readonly expectedPods: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
}

/** A DaemonSet: what each new node that matches will carry before any other pod. */
export interface DaemonSet {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly shape: PodShape;
}

/** A controller that makes equal pods on its own. */
export interface ReplicatedWorkload {
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Pods that it wants to run now; 0 also when it says that it cannot make them. */
  readonly desired: number;
}
