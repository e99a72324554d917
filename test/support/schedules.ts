/** Rules for tests: as people write them, through the schema. */
import type { Schedules } from '../../src/domain/schedule-rules.ts';
import { configOf } from '../config/support.ts';

/** `written`: YAML of the setting `schedules`; each entry of `files` is a file by its path. */
export function schedulesOf(written: string, files: Readonly<Record<string, string>> = {}): Schedules {
  return configOf({ argv: ['--config=c'], files: { ...files, c: `schedules:\n${written.replaceAll(/^/gm, '  ')}` } }).azure.schedules;
}
