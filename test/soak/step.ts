/** What happens in a soak run, and when. */
import type { IncidentRequest } from '../../world/simulator/arm/faults/raise-incident.ts';
import type { Fault } from '../../world/simulator/arm/state/fault-rules.ts';
import type { WorldEvent } from '../../world/simulator/arm/faults/world-event.ts';

export type Step =
  | { readonly kind: 'scale'; readonly workload: string; readonly replicas: number }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly forMs: number }
  /** A number of the catalogue of misfortunes befalls a pool. */
  | { readonly kind: 'catalogued'; readonly order: IncidentRequest; readonly forMs: number }
  | { readonly kind: 'event'; readonly event: WorldEvent }
  | { readonly kind: 'stock'; readonly vmSize: string; readonly zone: string; readonly count: number }
  | { readonly kind: 'quota'; readonly name: string; readonly limit: number }
  | { readonly kind: 'kube-errors'; readonly count: number; readonly status: number; readonly resource: string | undefined }
  | { readonly kind: 'kube-watches' | 'kube-compact' }
  | { readonly kind: 'kube-away'; readonly forMs: number }
  /** Pods are put on nodes that are being removed. */
  | { readonly kind: 'late-binds'; readonly forMs: number }
  | { readonly kind: 'skew'; readonly ms: number }
  /** `kill`: without a word; `awayMs` until the next process starts. */
  | { readonly kind: 'restart'; readonly kill: boolean; readonly awayMs: number };

export interface TimedStep {
  readonly atMs: number;
  readonly step: Step;
}
