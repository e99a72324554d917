/** The decision journal on disk: one JSON file per decision that changes something. Only the newest files stay. Never throws. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResourceNames } from '../../domain/resources.ts';
import { dumpRecord } from '../../loop/replay/dump.ts';
import type { DecisionJournal, LoopRecord } from '../../domain/ports/records.ts';
import type { Log } from '../../telemetry/log.ts';

const MOST_FILES = 200;
const NAME = /^decision-.*\.json$/;

interface FileJournalDeps {
  readonly directory: string;
  readonly names: ResourceNames;
  readonly log: Log;
  /** Called with each written file. */
  readonly written?: (entry: LoopRecord, file: string) => void;
}

export const noJournal: DecisionJournal = { record: () => undefined };

/** Writes synchronously, so that a dump contains exactly the input of the decision. */
export function fileJournal({ directory, names, log, written }: FileJournalDeps): DecisionJournal {
  let serial = 0;
  let helplessBefore = '';
  return {
    record: (entry) => {
      const helpless = entry.scaleDown === undefined ? helplessPods(entry) : helplessBefore;
      const isNew = helpless !== helplessBefore && helpless !== '';
      helplessBefore = helpless;
      if (!isNew && !hasChanges(entry)) return;
      serial += 1;
      try {
        mkdirSync(directory, { recursive: true });
        const time = new Date(entry.observation.nowMs).toISOString().replace(/[:.]/g, '-');
        const name = `decision-${time}-${String(serial).padStart(5, '0')}-${entry.scaleDown === undefined ? 'up' : 'down'}.json`;
        const file = join(directory, name);
        writeFileSync(file, dumpRecord(entry, names), { mode: 0o600 });
        written?.(entry, file);
        deleteOldest(directory);
      } catch (error) {
        log.warn({ directory, error: error instanceof Error ? error.message : String(error) }, 'Decision dump failed');
      }
    },
  };
}

/**
 * Identifies the pods that no node group can help. The same pods are not dumped again: they would displace every other
 * decision from the folder.
 */
function helplessPods({ scaleUp }: LoopRecord): string {
  return scaleUp
    .flatMap((plan) => [...plan.verdicts].flatMap(([pod, { kind }]) => (kind === 'helpless' ? [pod.uid] : [])))
    .sort()
    .join(' ');
}

function hasChanges({ scaleUp, scaleDown }: LoopRecord): boolean {
  const grows = scaleUp.some((plan) => plan.increases.length > 0);
  return grows || (scaleDown !== undefined && scaleDown.removals.length + scaleDown.instanceRemovals.length > 0);
}

function deleteOldest(directory: string): void {
  const files = readdirSync(directory)
    .filter((name) => NAME.test(name))
    .sort();
  for (const name of files.slice(0, Math.max(0, files.length - MOST_FILES))) rmSync(join(directory, name));
}
