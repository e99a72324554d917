import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** A new and empty folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder for all tests of a file. Returns the path of what is in it, by names. */
export function folderOfFile(): (...names: readonly string[]) => string {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (...names) => join(folder, ...names);
}

/** A configuration file with this text, which goes with the test. */
export function configFile(text: string): string {
  const file = join(temporaryFolder(), 'config.yaml');
  writeFileSync(file, text);
  return file;
}
