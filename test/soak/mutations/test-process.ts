/**
 * The program of a process that runs test files of one copy of the repository, for the mutation runner. Vitest and what it has read of the copy stay
 * loaded between runs, which is most of what a run of its command costs. Each run has a new worker, so it has the sources as they are then. Works
 * in the folder that it is started in, and ends when its parent does.
 */
import { createVitest, type Reporter, type TestModule, type Vitest } from 'vitest/node';

/** One run. */
export interface TestOrder {
  /** Test files, relative to the copy. */
  readonly files: readonly string[];
  /** A part of the names of the tests that are run. If absent, all of them are. */
  readonly row?: string;
  /** The source that differs from what the last run read, relative to the copy. */
  readonly changed?: string;
  /** Ends with the first test that fails. */
  readonly isShort: boolean;
}

export interface FileResult {
  /** Relative to the copy. */
  readonly file: string;
  /** Why the file could not be run. */
  readonly message?: string;
  readonly tests: readonly { readonly name: string; readonly status: string }[];
}

const ended: TestModule[] = [];
/** Vitest also remembers modules of earlier runs: only those that end in this run count. */
const REPORTER: Reporter = { onTestModuleEnd: (module) => void ended.push(module) };

/** Which source the last run has read changed. */
let before: string | undefined;

async function runOrder(vitest: Vitest, { files, row, changed }: TestOrder): Promise<readonly FileResult[]> {
  for (const file of [before, changed]) if (file !== undefined) vitest.invalidateFile(pathOf(file));
  before = changed;
  ended.length = 0;
  if (row === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(row.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const paths = new Set(files.map(pathOf));
  const specifications = await vitest.globTestSpecifications([...files]);
  await vitest.runTestSpecifications(specifications.filter(({ moduleId }) => paths.has(moduleId)));
  return ended.map(resultOf);
}

function resultOf(module: TestModule): FileResult {
  const message = module.errors()[0]?.message;
  const tests = [...module.children.allTests()].map((test) => ({
    name: test.fullName.replaceAll(' > ', ' '),
    status: test.result().state,
  }));
  return { file: module.relativeModuleId, ...(message === undefined ? {} : { message }), tests };
}

function pathOf(file: string): string {
  return `${process.cwd()}/${file}`;
}

const started = new Map<boolean, Promise<Vitest>>();

/** One for runs that end early, and one for those that do not: vitest reads this setting at its start. */
function vitestFor(isShort: boolean): Promise<Vitest> {
  const known = started.get(isShort) ?? start(isShort);
  started.set(isShort, known);
  return known;
}

async function start(isShort: boolean): Promise<Vitest> {
  // Vitest reads the sources here, not Node in each worker: it has read them all before, but for the one that changed.
  const experimental = { viteModuleRunner: true };
  const vitest = await createVitest({ watch: false, experimental, reporters: [REPORTER], ...(isShort ? { bail: 1, maxWorkers: 1 } : {}) });
  await vitest.standalone();
  return vitest;
}

process.on('message', (order: TestOrder) => {
  const answer = async (): Promise<void> => void process.send?.(await runOrder(await vitestFor(order.isShort), order));
  answer().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
});
process.once('disconnect', () => process.exit(0));
