/** Says in one sentence whether this replica may change anything, and why not. Pure. Must not know how leadership is decided. */
import type { LoopReport } from '../../domain/loop-report.ts';
import type { Policy } from '../../domain/policy.ts';
import { shell } from '../../lib/shown-text.ts';
import { reasonNotToAct } from '../../planning/state/cluster-health.ts';

interface DutyInput {
  readonly leads: boolean;
  /** Who leads, as far as this replica knows. */
  readonly leader: string | undefined;
  readonly namespace: string;
  readonly port: number;
  readonly dryRun: boolean;
  /** The last loop that observed the cluster. undefined: none yet. */
  readonly report: LoopReport | undefined;
  readonly policy: Policy;
}

export interface Duty {
  readonly leads: boolean;
  readonly mayAct: boolean;
  readonly sentence: string;
  /** Of a standby: the replica that leads, as far as it knows, and the command that reaches it. */
  readonly leader?: string;
  readonly command?: string;
}

export function describeDuty({ leads, leader, namespace, port, dryRun, report, policy }: DutyInput): Duty {
  const idle = (sentence: string): Duty => ({ leads, mayAct: false, sentence });
  if (!leads && leader === undefined) return idle(WAITING);
  if (!leads && leader !== undefined) {
    const command = commandFor(leader, namespace, port);
    return { ...idle(`stands by; ${leader} leads: ${command}`), leader, command };
  }
  if (report?.observation === undefined) return idle('leads; does not act yet: no loop has observed the cluster');
  const reason = reasonNotToAct(report.observation, report.state, policy);
  if (reason !== undefined) return idle(`leads; does not act: ${reason}`);
  return dryRun ? idle('leads; does not act: it is a dry run') : { leads, mayAct: true, sentence: 'leads; may act' };
}

const WAITING = 'stands by; no replica is known to lead';

/** The identity in a pod is the pod's name. */
function commandFor(leader: string, namespace: string, port: number): string {
  return shell`kubectl -n ${namespace} port-forward pod/${leader} ${port}`;
}
