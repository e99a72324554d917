/** Groups of pods in the version of Kubernetes that is tested. */
import { MINOR_VARIABLE } from './given.ts';

export interface PodGroupApi {
  readonly api: string;
  /** The features that plan them as a whole. */
  readonly gates: string;
}

const SERVED: Readonly<Record<string, PodGroupApi>> = {
  '1.36': { api: 'scheduling.k8s.io/v1alpha2', gates: 'GenericWorkload=true,GangScheduling=true' },
  '1.37': { api: 'scheduling.k8s.io/v1beta1', gates: 'GenericWorkload=true' },
};

/** undefined: before 1.36 there are none of this form. */
export function servedPodGroups(): PodGroupApi | undefined {
  return SERVED[process.env[MINOR_VARIABLE] ?? ''];
}
