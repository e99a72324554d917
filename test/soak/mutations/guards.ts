/**
 * Every guard that stands between a wrong belief and a write. Each is removed in turn by `npm run soak -- --mutations`, and what the
 * lists name must notice. Where a guard is, its mark in the source says.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADVICE_GUARDS } from './advice-guards.ts';
import { ANSWER_GUARDS } from './answer-guards.ts';
import { AZURE_GUARDS } from './azure-guards.ts';
import { EDGE_GUARDS } from './edge-guards.ts';
import { RUN_LOOPS, type Guard, type GuardTable } from './guard.ts';
import { GANG_GUARDS } from './gang-guards.ts';
import { LOOP_GUARDS } from './loop-guards.ts';
import { markedStatements } from './marked-statements.ts';
import { MEMORY_GUARDS } from './memory-guards.ts';
import { PAUSE_GUARDS } from './pause-guards.ts';
import { PRICE_GUARDS } from './price-guards.ts';
import { REIMAGE_GUARDS } from './reimage-guards.ts';
import { REPACK_GUARDS } from './repack-guards.ts';
import { READ_GUARDS } from './read-guards.ts';
import { REMOVAL_GUARDS } from './removal-guards.ts';
import { ROOM_GUARDS } from './room-guards.ts';
import { SCHEDULE_GUARDS } from './schedule-guards.ts';
import { SHARING_GUARDS } from './sharing-guards.ts';
import { SPOT_GUARDS } from './spot-guards.ts';
import { STOP_GUARDS } from './stop-guards.ts';

/** Folders whose sources may have marks. */
const MARKED_ROOTS = ['src', 'world', 'deploy', 'test/soak'];

export const GUARDS: readonly Guard[] = [
  ADVICE_GUARDS,
  ANSWER_GUARDS,
  AZURE_GUARDS,
  EDGE_GUARDS,
  GANG_GUARDS,
  LOOP_GUARDS,
  MEMORY_GUARDS,
  PAUSE_GUARDS,
  SPOT_GUARDS,
  PRICE_GUARDS,
  REIMAGE_GUARDS,
  REPACK_GUARDS,
  READ_GUARDS,
  REMOVAL_GUARDS,
  ROOM_GUARDS,
  SCHEDULE_GUARDS,
  SHARING_GUARDS,
  STOP_GUARDS,
].flatMap((tables) => tables.flatMap(guardsOf));

/** The runs of the soak that notice the loss of a guard. */
export const GUARD_RUNS = GUARDS.flatMap(({ title, run }) => (run === undefined ? [] : [{ guard: title, ...run, loops: RUN_LOOPS }]));

function guardsOf({ guards, ...table }: GuardTable): readonly Guard[] {
  return guards.map((row) => ({ ...table, ...(typeof row === 'string' ? { title: row } : row) }));
}

/** The titles of the marks under the root of a repository, each with the files that have it, once for each mark. */
export function findMarks(root: string): ReadonlyMap<string, readonly string[]> {
  const files = MARKED_ROOTS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') || file.endsWith('.tsx'))
      .map((file) => join(folder, file)),
  );
  const marks = files.flatMap((file) => markedStatements(readFileSync(join(root, file), 'utf8')).map(({ title }) => ({ title, file })));
  const byTitle = Map.groupBy(marks, ({ title }) => title);
  return new Map([...byTitle].map(([title, found]) => [title, found.map(({ file }) => file)]));
}
