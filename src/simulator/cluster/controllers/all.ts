/** Starts every controller of the cluster, and the scheduler. */
import { startScheduler } from '../scheduler/scheduler.ts';
import { startBudgets } from './budgets.ts';
import type { ControllerContext } from './context.ts';
import { startDaemonSets } from './daemon-sets.ts';
import { startDeployments } from './deployments.ts';
import { startGarbage } from './garbage.ts';
import { startKubelets, type Kubelets } from './machines.ts';
import { followMachine, startNodeLifecycle } from './node-lifecycle.ts';
import { startPodWorkers } from './pod-workers.ts';
import { startReplicaSets } from './replica-sets.ts';
import { startVolumes } from './volumes.ts';

/** Machines that run already get their nodes here; other objects must come later. Returns the way to stop everything. */
export function startControllers(context: ControllerContext): () => void {
  const stops = [
    startReplicaSets(context),
    startDeployments(context),
    startDaemonSets(context),
    startBudgets(context),
    startGarbage(context),
    startVolumes(context),
    startScheduler(context),
    startNodeLifecycle(context),
  ];
  const kubelets: Kubelets = startKubelets(context, (change) => followMachine(context, () => kubelets, change));
  stops.push(startPodWorkers(context, kubelets), () => kubelets.stop());
  return () => {
    for (const stop of stops) stop();
  };
}
