/**
 * The simulated Azure with a real control plane beside it: an API server, a scheduler and controllers as child processes, and simulated
 * kubelets that join them. Time is real. Must not know the program under test.
 */
import { defined } from '../../src/lib/defined.ts';
import type { AutoscalerError } from '../../src/lib/errors.ts';
import { startArmEmulator, type ArmEmulator } from './arm/emulator.ts';
import { kubeconfig } from './base/kubeconfig.ts';
import { createServerTls, type ServerTls } from './base/tls.ts';
import { isForeignByName, ViolationLog } from './base/write-safety.ts';
import type { WorldSpec } from './base/world-spec.ts';
import { addedByAks } from './cluster/seed.ts';
import { isEvicted } from './node-maintenance.ts';
import { createRealNodeMaintenance, podsOnRealNode } from './real-node-maintenance.ts';
import { startControlPlane, type ControlPlane } from './real-control-plane/control-plane.ts';
import type { ControlPlanePrograms } from './real-control-plane/find-programs.ts';
import { Kubelets } from './real-control-plane/kubelets.ts';
import { Steps, type StepsOptions } from './real-control-plane/steps.ts';
import { realTime } from './real-control-plane/waits.ts';
import type { WorldOptions } from './world.ts';

export interface RealWorldOptions extends Pick<WorldOptions, 'spec' | 'client' | 'armPort' | 'kubePort' | 'knobs' | 'ambient'> {
  readonly programs: ControlPlanePrograms;
  /** Where the programs find others, as in PATH. */
  readonly searchPath: string | undefined;
  /** Called with one sentence for each step of a kubelet, a disk or AKS that failed. */
  readonly onFailure: (what: string) => void;
}

export interface RealWorld {
  readonly spec: WorldSpec;
  readonly arm: ArmEmulator;
  readonly caPem: string;
  readonly kubernetesUrl: string;
  /** Of the API server, such as `v1.36.3`. */
  readonly version: string;
  kubeconfig(): string;
  /** Resolves if a program of the control plane ends, with an error that ends with the end of its log. */
  readonly failed: Promise<AutoscalerError>;
  /** Ends everything; no child process and no file is left. */
  stop(): Promise<void>;
}

/**
 * Resolves when the nodes of all VMs are ready.
 * @throws AutoscalerError of kind `config` if a pool is invalid, `unavailable` if a port is taken or a program ends.
 */
export async function startRealWorld(options: RealWorldOptions): Promise<RealWorld> {
  const violations = new ViolationLog();
  const tls = await createServerTls(realTime.now());
  // First, since it refuses a world that is invalid.
  const arm = await startArm(options, tls, violations);
  try {
    const { programs, searchPath } = options;
    const plane = await startControlPlane({ programs, searchPath, tls, ...defined({ port: options.kubePort }) });
    return await join({ options, violations, arm, plane });
  } catch (thrown) {
    await arm.stop();
    throw thrown;
  }
}

function startArm(options: RealWorldOptions, tls: ServerTls, violations: ViolationLog): Promise<ArmEmulator> {
  const { spec, client, knobs, ambient, armPort } = options;
  return startArmEmulator({ spec, clock: realTime, tls, violations, clients: [client], ...defined({ knobs, ambient, port: armPort }) });
}

interface JoinInput {
  readonly options: RealWorldOptions;
  readonly violations: ViolationLog;
  readonly arm: ArmEmulator;
  readonly plane: ControlPlane;
}

/** Gives the control plane its first objects and its nodes. */
async function join(input: JoinInput): Promise<RealWorld> {
  const { options, arm, plane } = input;
  const { spec } = options;
  const stops: (() => void)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops) each();
    await arm.stop();
    await plane.stop();
  };
  try {
    const version = await versionOf(plane);
    await startComponents(input, stops);
    const [name, { url, caPem, adminToken }] = [spec.clusterName, plane];
    arm.publishApiServer({ url, caPem, token: adminToken });
    const text = kubeconfig({ name, server: url, caPem, token: adminToken });
    return { spec, arm, caPem, kubernetesUrl: url, version, kubeconfig: () => text, failed: plane.failed, stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

async function versionOf({ admin }: ControlPlane): Promise<string> {
  return String((await admin.must('GET', '/version'))['gitVersion']);
}

/** Resolves when all nodes are ready. `stops` receives functions that stop what was started. */
async function startComponents({ options, arm, plane, violations }: JoinInput, stops: (() => void)[]): Promise<void> {
  const { spec } = options;
  const given: StepsOptions = { api: plane.admin, clock: realTime, onFailure: options.onFailure };
  for (const object of addedByAks(spec)) await plane.admin.apply(object);
  const kubelets = new Kubelets({ ...given, machines: arm.machines, spec });
  const maintenance = createRealNodeMaintenance(given);
  arm.publishNodes(maintenance);
  stops.push(
    checkDeletions(arm, given, violations),
    () => maintenance.stop(),
    () => kubelets.stop(),
  );
  await Promise.race([kubelets.start(), plane.failed.then((error) => Promise.reject(error))]);
}

/** Reports a client that deletes the VM of a node that was not drained. The pods are read after the delete, so some may be gone already. */
function checkDeletions(arm: ArmEmulator, given: StepsOptions, violations: ViolationLog): () => void {
  const steps = new Steps(given);
  const unsubscribe = arm.machines.subscribe((change) => {
    if (change.kind !== 'delete-accepted' || isForeignByName(change.principal)) return;
    const { principal, machine } = change;
    const subject = machine.hostName;
    const atMs = realTime.now();
    steps.run(`check of the deletion of ${subject}`, async () => {
      const pods = await podsOnRealNode(given.api, subject);
      const left = pods.filter((pod) => isEvicted(pod, subject) && pod.metadata.deletionTimestamp === undefined);
      const names = left.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).join(', ');
      const detail = `${principal} deleted the VM while it ran ${names}`;
      if (left.length > 0) violations.add({ rule: 'node-deleted-with-pods', subject, detail, atMs });
    });
  });
  return () => {
    unsubscribe();
    steps.stop();
  };
}
