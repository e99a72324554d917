/**
 * A simulated AKS cluster: an ARM endpoint and a Kubernetes API over HTTPS that share one clock, one feed of VMs and one log of
 * write-safety violations. Clients get URLs, a CA and credentials, as from the real services. Must not know the program under
 * test.
 */
import type { BackgroundActorOptions } from './arm/faults/background-actors.ts';
import { startArmEmulator, type ArmEmulator } from './arm/emulator.ts';
import type { Subscription } from './arm/state/arm-state.ts';
import type { ArmLatencies } from './arm/state/latencies.ts';
import { startCluster, type SimCluster } from './cluster/cluster.ts';
import type { RequestFilter } from './base/request-filter.ts';
import type { SimClock } from './base/sim-clock.ts';
import { serverTlsAt } from './base/tls.ts';
import { ViolationLog, type Violation } from './base/write-safety.ts';
import { startManagedAutoscaler } from './managed-autoscaler/managed-autoscaler.ts';
import { createNodeMaintenance } from './node-maintenance.ts';
import type { WorldSpec } from './base/world-spec.ts';
import { lineOfChange, lineOfEntry, WorldHash, type InstantListener } from './world-hash.ts';
import { defined } from '../../src/lib/defined.ts';

export interface WorldOptions {
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  /** The application of the autoscaler's sign-in. */
  readonly client: { readonly clientId: string; readonly clientSecret: string };
  /** Bearer token for the Kubernetes API. */
  readonly token: string;
  readonly armPort?: number;
  readonly kubePort?: number;
  /** Settings of the emulated Azure that differ from the defaults. */
  readonly knobs?: Partial<ArmLatencies>;
  /** Background actors of the emulated Azure. Default: none. */
  readonly ambient?: BackgroundActorOptions;
  /** Whether AKS's own autoscaler is imitated over the pools that have it on. Default: it does nothing. */
  readonly managedAutoscaler?: boolean;
  /** Default: every request passes. */
  readonly requestFilter?: RequestFilter;
  /** The subscription that the cluster shares with others. Default: one of its own. */
  readonly subscription?: Subscription;
  /** Called with what happened in each instant, when it is over. */
  readonly onInstant?: InstantListener;
}

export interface World {
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  readonly arm: ArmEmulator;
  readonly cluster: SimCluster;
  readonly caPem: string;
  violations(): readonly Violation[];
  /** A hash over everything that happened so far, hexadecimal. Two runs of one seed have the same. */
  hash(): string;
  stop(): Promise<void>;
}

/** Starts both halves on loopback. Default ports: any free ones. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { spec, clock } = options;
  const violations = new ViolationLog();
  const tls = await serverTlsAt(clock.now());
  const arm = await startArmEmulator({
    spec,
    clock,
    tls,
    violations,
    clients: [options.client],
    ...defined({
      knobs: options.knobs,
      ambient: options.ambient,
      requestFilter: options.requestFilter,
      port: options.armPort,
      subscription: options.subscription,
    }),
  });
  const cluster = await startCluster({
    spec,
    clock,
    tls,
    machines: arm.machines,
    disks: arm.disks,
    violations,
    token: options.token,
    ...defined({ requestFilter: options.requestFilter, port: options.kubePort }),
  });
  arm.publishApiServer({ url: cluster.url, caPem: tls.caPem, token: options.token });
  const maintenance = createNodeMaintenance(cluster, clock);
  arm.publishNodes(maintenance);
  const stopManaged = options.managedAutoscaler === true ? startManagedAutoscaler({ spec, clock, arm: arm.control, cluster }) : undefined;
  const hash = hashOf({ arm, cluster, clock }, options.onInstant);
  return {
    spec,
    clock,
    arm,
    cluster,
    caPem: tls.caPem,
    violations: () => violations.list(),
    hash: () => hash.digest(),
    stop: async () => {
      stopManaged?.();
      maintenance.stop();
      await Promise.all([cluster.stop(), arm.stop()]);
    },
  };
}

function hashOf({ arm, cluster, clock }: Pick<World, 'arm' | 'cluster' | 'clock'>, onInstant: InstantListener | undefined): WorldHash {
  const hash = new WorldHash(onInstant);
  arm.control.onEntry((entry) => hash.add(clock.now(), lineOfEntry(entry)));
  cluster.onChange((change) => {
    const line = lineOfChange(change);
    if (line !== undefined) hash.add(clock.now(), line);
  });
  return hash;
}
